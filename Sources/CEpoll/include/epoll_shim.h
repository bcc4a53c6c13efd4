#ifndef EPOLL_SHIM_H
#define EPOLL_SHIM_H

#include <stdint.h>

// epoll(7), which Swift's Glibc module does not have.

/// What has happened to a descriptor.
struct epoll_shim_event {
    /// What the descriptor was registered with.
    uint64_t tag;
    /// Events as poll() names them, whose numbers are epoll's.
    uint32_t events;
};

/// Most events that one wait returns.
enum { EPOLL_SHIM_EVENTS = 64 };

/// Returns a descriptor, or -1 and errno.
int epoll_shim_create(void);

/// Awaits `events` of a descriptor from now on, whether it is registered already or not. Returns 0, or -1 and errno.
int epoll_shim_set(int epoll, int descriptor, uint32_t events, uint64_t tag);

/// Forgets a descriptor. Does nothing if it is not registered.
void epoll_shim_remove(int epoll, int descriptor);

/// Waits for events, at most `timeout` ms; -1 means for ever. Returns their number, at most EPOLL_SHIM_EVENTS, or -1 and errno.
int epoll_shim_wait(int epoll, struct epoll_shim_event *events, int timeout);

#endif
