/* trace.h - what device and transport did in the timed part of samples, and when.
 *
 * A trace is a pair of tables around those of a session's device and transport. Their callers
 * know nothing of it, and a session without a trace pays nothing. Functions with a NULL trace do
 * nothing.
 */
#ifndef HF_TRACE_H
#define HF_TRACE_H

#include "core/result.h"
#include "device.h"
#include "transport.h"

typedef struct hf_trace hf_trace;

/** Queues of a row that are none of a device's. */
enum { HF_TRACE_RECVS = -4, HF_TRACE_SENDS, HF_TRACE_SAMPLE, HF_TRACE_HOST };

/** What a row is of: names as of an hf_quantity's choices, in this order. */
#define HF_TRACE_KINDS "sample|write|read|copy|kernel|message|map|unmap|wait"
enum {
    HF_SPAN_SAMPLE,
    HF_SPAN_WRITE,
    HF_SPAN_READ,
    HF_SPAN_COPY,
    HF_SPAN_KERNEL,
    HF_SPAN_MESSAGE,
    HF_SPAN_MAP,
    HF_SPAN_UNMAP,
    HF_SPAN_WAIT
};

/** A span of time, as ranks tell it to each other; a plain value. */
typedef struct hf_trace_row {
    double start, end; /**< on the clock of rank 0 [s] */
    int64_t bytes;     /**< of what was moved; 0 where nothing was [B] */
    int32_t rank, point, queue, kind;
    char label[HF_NAME_LETTERS]; /**< ended by zeros where it is shorter */
} hf_trace_row;

/** What all ranks found; a plain value. Errors are the largest. */
typedef struct hf_trace_facts {
    double device_error; /**< of a device's clock beside its host's [s] */
    double rank_error;   /**< of a host's clock beside that of rank 0 [s] */
    double lost;         /**< spans that found no room */
    double
        untimed; /**< commands shown by the host's clock, from call to end: the device's
                         times are missing or contradict it */
} hf_trace_facts;

/** Take the place of both tables, with room for `room` spans of a sample. Collective. */
hf_status hf_trace_open(hf_trace **out, hf_device *device, hf_transport *net,
                        size_t room);
/** Put the tables back. */
void hf_trace_close(hf_trace *trace);

/** Take memory for a run of `n_points`; `stop` gives it back. */
hf_status hf_trace_start(hf_trace *trace, size_t n_points);
void hf_trace_stop(hf_trace *trace);
/** Compare the ranks' clocks: before each point and, as `index` n_points, after the last.
 *  Collective. */
hf_status hf_trace_clocks(hf_trace *trace, size_t index);

/** Compare the device's clock before and after a sample's timed part. */
hf_status hf_trace_ready(hf_trace *trace);
hf_status hf_trace_settle(hf_trace *trace);
/** Forget what was recorded; record from now on. */
void hf_trace_begin(hf_trace *trace);
/** The timed part was from `start` to `end` [s]; record no more. */
void hf_trace_end(hf_trace *trace, double start, double end);
/** The last sample is the one to keep of its point, in place of any before. */
void hf_trace_keep(hf_trace *trace);
/** Point `index` is done: add its kept sample to the rows. */
hf_status hf_trace_point(hf_trace *trace, size_t index);

/** Give every rank the rows of all, by point and rank, the sample before its parts, which
 *  are by start. Collective. */
hf_status hf_trace_gather(hf_trace *trace);
/** After `gather`, until `stop`. */
const hf_trace_row *hf_trace_rows(const hf_trace *trace, size_t *n,
                                  hf_trace_facts *facts);

enum { HF_TRACE_COLUMNS = 8, HF_TRACE_SUMMARY = 2 };

/** Columns of a trace, without data; none where it is NULL. */
size_t hf_trace_columns(const hf_trace *trace, hf_column *columns);
/** Fill them in a result, and its summary from entry `summary` on. */
void hf_trace_fill(const hf_trace *trace, hf_result *result, size_t summary);

#endif
