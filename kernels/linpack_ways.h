/* linpack_ways.h - where the networks of linpack_stream.cl take packets from, and where they
 * send them; for the host, too. */
#ifndef LINPACK_WAYS_H
#define LINPACK_WAYS_H

enum {
    LINPACK_MADE_HERE = 1, /* a kernel of this device makes them */

    /* the network of the diagonal block */
    LINPACK_FROM_LEFT = 2,
    LINPACK_FROM_ABOVE = 4,
    LINPACK_TO_RIGHT = 8,
    LINPACK_TO_BELOW = 16,
    LINPACK_TO_TOP = 32,
    LINPACK_TO_LEFT = 64,

    /* the networks in one direction */
    LINPACK_FROM_BEFORE = 2,
    LINPACK_FROM_MEMORY = 4,
    LINPACK_TO_NEXT = 8,
    LINPACK_TO_MEMORY = 16,
};

#endif
