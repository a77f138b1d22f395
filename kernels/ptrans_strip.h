/* ptrans_strip.h - rows of a block that a work-group writes, for kernels and for the host. */
#ifndef PTRANS_STRIP_H
#define PTRANS_STRIP_H

#define PTRANS_STRIP 32

#endif
