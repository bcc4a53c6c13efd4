#define _GNU_SOURCE
#include "forkserver.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t forkserver_fork(void) { return fork(); }

union control {
    char bytes[CMSG_SPACE(sizeof(int) * FORKSERVER_DESCRIPTORS)];
    struct cmsghdr alignment;
};

ssize_t forkserver_send(int socket, const void *bytes, size_t size, const int *descriptors, size_t count) {
    if (count > FORKSERVER_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union control control;
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
    }
    ssize_t result;
    do {
        result = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (result < 0 && errno == EINTR);
    return result;
}

ssize_t forkserver_receive(int socket, void *bytes, size_t size, int *descriptors, size_t *count) {
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    union control control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t result;
    do {
        result = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (result < 0 && errno == EINTR);
    size_t room = *count;
    *count = 0;
    if (result < 0) return result;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t number = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < number; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + i * sizeof descriptor, sizeof descriptor);
            if (*count < room) {
                descriptors[(*count)++] = descriptor;
            } else {
                close(descriptor);
            }
        }
    }
    if (message.msg_flags & MSG_TRUNC) {
        while (*count > 0) close(descriptors[--*count]);
        errno = EMSGSIZE;
        return -1;
    }
    return result;
}

int forkserver_open_process(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int forkserver_signal(int process, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, process, signal, NULL, 0);
}

int forkserver_peer(int socket, uid_t *user, pid_t *process) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -1;
    *user = peer.uid;
    *process = peer.pid;
    return 0;
}

void forkserver_set_title(char *const *arguments, const char *words, size_t size) {
    if (!arguments || !arguments[0]) return;
    char *start = arguments[0];
    char *end = start;
    for (size_t i = 0; arguments[i] && arguments[i] == end; i++) end += strlen(end) + 1;
    size_t room = (size_t)(end - start);
    if (room == 0) return;
    if (size > room) size = room;
    memcpy(start, words, size);
    // A command line whose last byte is not 0 counts as one word.
    memset(start + size, 0, room - size);
    start[room - 1] = 0;
}
