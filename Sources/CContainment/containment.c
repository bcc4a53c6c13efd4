#include "containment.h"

// In groups: programs and processes; sockets, except pairs, with which GStreamer wakes its threads; other processes; mounts and namespaces; the kernel and the machine;
// rights and owners of files, which Landlock does not cover; objects that processes of a user share by a key.
static const int refused[] = {
    SYS_execve, SYS_execveat,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
    SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal,
    SYS_kcmp, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_process_madvise,
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_tree, SYS_move_mount,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
    SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_quotactl, SYS_acct, SYS_swapon, SYS_swapoff, SYS_reboot,
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_add_key, SYS_request_key, SYS_keyctl, SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_syslog, SYS_personality, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
    SYS_sethostname, SYS_setdomainname, SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown,
#endif
    SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
    SYS_lremovexattr, SYS_fremovexattr,
    SYS_shmget, SYS_shmat, SYS_semget, SYS_msgget, SYS_mq_open,
};

const int *containment_refused_calls(size_t *count) {
    *count = sizeof refused / sizeof refused[0];
    return refused;
}
