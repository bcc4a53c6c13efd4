// System calls with which a process gives up rights, which glibc does not wrap or Swift does not import.
//
// All of them return 0, or a number that the call documents, or the negative error number.
#ifndef CCONTAINMENT_CONTAINMENT_H
#define CCONTAINMENT_CONTAINMENT_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CONTAINMENT_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONTAINMENT_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filter of system calls knows x86_64 and aarch64"
#endif

/// The architecture whose numbers of system calls this program has, as seccomp(2) names it.
static inline uint32_t containment_architecture(void) { return CONTAINMENT_ARCHITECTURE; }

/// Gives up the capability of this number for the calling thread and its successors; all of them if it is negative.
static inline int containment_drop_capabilities(int number) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    if (syscall(SYS_capget, &header, data) != 0) return -errno;
    // Where there is nothing to give up, the call may be refused itself.
    if ((data[0].permitted | data[1].permitted) == 0) return 0;
    if (number < 0) {
        data[0] = data[1] = (struct __user_cap_data_struct){0};
    } else {
        uint32_t mask = ~(1u << (number % 32));
        data[number / 32].effective &= mask;
        data[number / 32].permitted &= mask;
        data[number / 32].inheritable &= mask;
    }
    return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

static inline int containment_refuse_new_privileges(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : -errno;
}

/// Moves the calling thread into an empty network namespace; with `user` not 0, in a user namespace of its own, which
/// needs no privilege.
static inline int containment_leave_network(int user) {
    const long network = 0x40000000, own_user = 0x10000000;
    return syscall(SYS_unshare, network | (user ? own_user : 0)) == 0 ? 0 : -errno;
}

/// Installs a filter for all threads of the process, see seccomp(2).
static inline int containment_filter(const struct sock_filter *_Nonnull program, uint16_t count) {
    struct sock_fprog filter = {count, (struct sock_filter *)program};
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    return result == 0 ? 0 : result > 0 ? -ESRCH : -errno;
}

/// Reads limit 0 (processor time) of another process.
static inline int containment_read_limit(int process) {
    uint64_t limit[2];
    return syscall(SYS_prlimit64, process, 0, NULL, limit) == 0 ? 0 : -1;
}

/// Opens a file or directory for nothing but naming it; -1 and `errno` if it is not there.
static inline int containment_open_path(const char *_Nonnull path) { return open(path, 010000000 /* O_PATH */ | O_CLOEXEC); }

// Landlock, see landlock(7). The numbers are the same on all architectures; older headers lack the newer fields.
struct containment_rules {
    uint64_t files, network, scopes;
};

/// Returns the version of the kernel's Landlock, 1 or more.
static inline int containment_landlock_version(void) {
    long version = syscall(444, NULL, 0, 1);
    return version < 0 ? -errno : (int)version;
}

/// Returns a descriptor of rules that refuse what `rules` names; the first `size` bytes of it are known to the kernel.
static inline int containment_landlock_create(const struct containment_rules *_Nonnull rules, size_t size) {
    long descriptor = syscall(444, rules, size, 0);
    return descriptor < 0 ? -errno : (int)descriptor;
}

/// Allows `access` below an open directory, or to an open file.
static inline int containment_landlock_allow(int rules, uint64_t access, int file) {
    struct __attribute__((packed)) {
        uint64_t access;
        int32_t file;
    } rule = {access, file};
    return syscall(445, rules, 1, &rule, 0) == 0 ? 0 : -errno;
}

/// Applies rules to the calling thread and to those that it creates from now on.
static inline int containment_landlock_apply(int rules) { return syscall(446, rules, 0) == 0 ? 0 : -errno; }

/// Returns the numbers of the system calls that a contained process never needs; `count` is how many they are.
const int *_Nonnull containment_refused_calls(size_t *_Nonnull count);
// Whether a refused call makes, connects or accepts sockets.
static inline int containment_is_socket_call(int call) {
    return call == SYS_socket || call == SYS_connect || call == SYS_bind || call == SYS_listen || call == SYS_accept ||
        call == SYS_accept4;
}

// Calls that are refused by their arguments. The imported macros are not constants for Swift on all architectures.
static inline int containment_call_clone(void) { return SYS_clone; }
static inline int containment_call_clone3(void) { return SYS_clone3; }
static inline int containment_call_kill(void) { return SYS_kill; }
static inline int containment_call_tgkill(void) { return SYS_tgkill; }
static inline int containment_call_prlimit(void) { return SYS_prlimit64; }

#endif
