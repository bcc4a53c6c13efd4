// Counts the heap allocations of a program that links this target.
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/// Number of blocks that `malloc` and its kin have handed out so far, in all threads. Growing a block counts too.
long allocations_so_far(void);

#endif
