/* relay_session.h - the session of relay.c: PoCL passes for an accelerator. */
#ifndef HF_RELAY_SESSION_H
#define HF_RELAY_SESSION_H

#include <string.h>

#include "check.h"
#include "chunks.h"
#include "core/error.h"
#include "core/session.h"
#include "relay_layout.h"

enum { ROOM = RELAY_LONGEST + (1 << 16), STEPS = 2 * RELAY_SLOTS + 3 };

extern hf_session *session;
extern hf_device *device;
extern hf_exchange *exchange;
extern int rank, size;
extern hf_buffer *buffers[2]; /**< ROOM bytes each */
extern unsigned char *memory; /**< ROOM bytes, of the host */

extern const hf_device_ops *own; /**< the device's, behind */
extern hf_device_ops counting;   /**< those that it has */

/** Launches of the relay, those of them without an event, and those of a run of linpack before its
 *  last factorisation of a block; linpack's kernels, NULL when it does not run. */
extern size_t n_launches, n_without, n_factored;
extern const hf_kernel *fill, *factor;

void open_all(void);
void close_all(void);

/** Bytes that tell of their rank and place into the first buffer, others into the second. */
void buffers_fill(void);

/** Bytes of a block from a rank's `from` on that are not at `at` of a buffer. */
size_t wrong_bytes(int buffer, int of, size_t from, size_t at, size_t bytes);

/** A plan that sends so many bytes to the right. */
hf_plan *ring_plan(size_t bytes);

/* ---- relay_late.c ---- */

void mixed_test(void);
void settled_test(void);

/** The transport is of no use after these. */
void late_test(void);
void front_test(void);
void full_test(void);
void hung_test(void);

#endif
