#include "epoll_shim.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP,
               "epoll's events have the numbers of poll's");

int epoll_shim_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int epoll_shim_set(int epoll, int descriptor, uint32_t events, uint64_t tag) {
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0) return 0;
    if (errno != ENOENT) return -1;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

void epoll_shim_remove(int epoll, int descriptor) {
    struct epoll_event unused = {0};
    (void)epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &unused);
}

int epoll_shim_wait(int epoll, struct epoll_shim_event *events, int timeout) {
    struct epoll_event ready[EPOLL_SHIM_EVENTS];
    int count = epoll_wait(epoll, ready, EPOLL_SHIM_EVENTS, timeout);
    for (int i = 0; i < count; i++) {
        events[i].tag = ready[i].data.u64;
        events[i].events = ready[i].events;
    }
    return count;
}
