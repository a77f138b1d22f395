/* trace_state.h - what the files of a trace share. */
#ifndef HF_TRACE_STATE_H
#define HF_TRACE_STATE_H

#include "agree.h"
#include "core/offset.h"
#include "core/trace.h"

enum { HF_TRACE_PENDING = 256, HF_TRACE_ALL = -1 };

/** What was recorded; a plain value. */
typedef struct hf_span {
    double start,
        end; /**< on the host's clock: the call, and when its end was seen [s] */
    uint64_t ticks[2]; /**< start and end by the device's clock [ns] */
    const char *label; /**< lives as long as the run */
    size_t bytes;
    int kind, queue;
    int to, from; /**< of a message; HF_TRACE_ALL: it has a label */
    enum { HF_BY_HOST, HF_BY_DEVICE, HF_BY_NOBODY } clock; /**< whose times count */
} hf_span;

/** How far another clock was ahead, at a moment of one; a plain value. */
typedef struct hf_moment {
    double at; /**< [s] */
    hf_offset offset;
} hf_moment;

/** One sample. */
typedef struct hf_take {
    hf_span *spans; /**< [room] */
    size_t n, lost;
    double start, end;       /**< of the timed part, by the host's clock [s] */
    hf_moment before, after; /**< the host's clock beyond the device's */
} hf_take;

/** A kernel and the name that it was opened by. */
typedef struct hf_named {
    struct hf_named *next;
    const hf_kernel *kernel;
    char name[HF_NAME_LETTERS + 1];
} hf_named;

struct hf_trace {
    hf_device_ops device_ops; /**< the tables that record */
    hf_transport_ops net_ops;
    const hf_device_ops *device_own; /**< those that they call and stand for */
    const hf_transport_ops *net_own;
    hf_device *device;
    hf_transport *net;

    size_t room; /**< of a sample [spans] */
    hf_take now, kept;
    bool armed;    /**< the timed part runs */
    uint64_t base; /**< where seconds of the device begin: a double holds them [ns] */
    struct {
        const void *what; /**< an hf_event, or an hf_transfer */
        hf_span *span;
        bool ended;              /**< and it was seen */
    } pending[HF_TRACE_PENDING]; /**< commands not waited for, messages on their way */
    size_t n_pending;
    hf_named *kernels;
    hf_buffer *probe; /**< what is written to compare clocks */

    size_t n_points;
    hf_moment *clocks;  /**< [n_points + 1]: that of rank 0 beyond ours */
    hf_trace_row *rows; /**< of this rank; after `gather`, of all */
    size_t n_rows, rows_room;
    hf_trace_facts facts;
};

/** A reading of the device's clock [s]. */
static inline double hf_trace_seconds(const hf_trace *trace, uint64_t ticks) {
    return 1e-9 * (double)(int64_t)(ticks - trace->base);
}

/** A new span of the timed part; NULL, and counted, where there is no room. */
hf_span *hf_trace_span(hf_trace *trace, int kind, int queue);
/** What the host did from `start` to now; NULL also outside of the timed part. */
hf_span *hf_trace_host(hf_trace *trace, int kind, double start, const char *label);

/** The span of what ends later; untimed unless that is seen. */
void hf_trace_pend(hf_trace *trace, hf_span *span, const void *what);
/** Take the span of what has ended; NULL if it has none. */
hf_span *hf_trace_take(hf_trace *trace, const void *what);

void hf_trace_wrap_device(hf_trace *trace);
void hf_trace_wrap_net(hf_trace *trace);
/** Forget the names of kernels and the probe. */
void hf_trace_forget(hf_trace *trace);
/** Compare the device's clock with ours, now. */
hf_status hf_trace_probe(hf_trace *trace, hf_moment *out);

#endif
