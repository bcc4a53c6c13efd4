#ifndef FORKSERVER_H
#define FORKSERVER_H

#include <stddef.h>
#include <sys/types.h>

// What Swift cannot call: fork(), ancillary data of sockets (macros), and system calls with variable arguments.

/// Most descriptors in one message.
enum { FORKSERVER_DESCRIPTORS = 4 };

/// fork(). Call it only in a process with one thread.
pid_t forkserver_fork(void);

/// Sends one message with `count` descriptors. Returns the bytes sent, or -1 and errno.
ssize_t forkserver_send(int socket, const void *bytes, size_t size, const int *descriptors, size_t count);

/// Receives one message. `count` is the room in `descriptors`, and becomes the number of those received, which are
/// close-on-exec and belong to the caller; those beyond the room are closed. Returns the bytes received, 0 at the end, or
/// -1 and errno; EMSGSIZE if the message was longer than `size`.
ssize_t forkserver_receive(int socket, void *bytes, size_t size, int *descriptors, size_t *count);

/// A descriptor of a child of this process, readable once it has ended; -1 and errno.
int forkserver_open_process(pid_t process);

/// Sends a signal to the process of a descriptor, never to a successor of its number. Returns 0, or -1 and errno.
int forkserver_signal(int process, int signal);

/// User and process at the other end of a Unix socket. Returns 0, or -1 and errno.
int forkserver_peer(int socket, uid_t *user, pid_t *process);

/// Overwrites the command line that `ps` shows with `size` bytes of words that end in 0 each, cut to the room there is.
/// `arguments` are those of main(), whose strings lie one behind the other (System V ABI).
void forkserver_set_title(char *const *arguments, const char *words, size_t size);

#endif
