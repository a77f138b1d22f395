/* plans_session.h - the session of plans.c: what its ranks share memory for, and two buffers. */
#ifndef HF_PLANS_SESSION_H
#define HF_PLANS_SESSION_H

#include <string.h>

#include "check.h"
#include "core/error.h"
#include "core/session.h"

enum { ROOM = 1 << 20, BLOCK = 3000 };

extern const char *mode; /**< of plans.c */
extern hf_session *session;
extern hf_exchange *exchange;
extern hf_device *device;
extern int rank, size;
extern hf_buffer *send_buffer, *recv_buffer; /**< ROOM bytes each */

void open_session(const char *scheme);
void close_session(void);
void mode_begin(void);

/** What the result of a run would say of the mode. */
void mode_check(void);

/** Byte i of what a rank sends. */
unsigned char byte_of(int of, size_t i);
unsigned char *memory_of(hf_buffer *buffer);
void buffers_fill(void);

/** Bytes of a block from a rank's `from` on that are not at `at`. */
size_t wrong_bytes(int of, size_t from, size_t at, size_t bytes);
size_t touched_bytes(size_t at, size_t bytes);

/** Go on with a plan until it is done or fails. */
hf_status plan_end(hf_plan *made, bool wait);

/** Chunks of so many bytes, and so many at a time, where the scheme has them; 0: its own. */
void chunks_take(size_t bytes, size_t depth);

/* ---- plans_follow.c ---- */

void follow_test(void);

/* ---- plans_order.c ---- */

void after_test(bool same_queue);
void run_test(void);
void early_test(void);
void change_test(void);
void silent_test(void);
void endless_test(void);
void hung_test(void);

#endif
