/* session.h - an open session, as the files of session and run share it. */
#ifndef HF_SESSION_H
#define HF_SESSION_H

#include "bench.h"
#include "core/param.h"
#include "core/trace.h"

struct hf_session {
    hf_transport *net;
    hf_device *device;
    hf_exchange *exchange;
    hf_trace *trace;  /* NULL: none */
    hf_place *places; /* [size] */
    long process;     /* that opened it */
    uint64_t number;  /* of the run before: no other run of this machine has it */
    bool alone;       /* no other rank has this rank's device */
    bool relay_tried; /* hf_session_relay was called */
};

/** Parameters that every benchmark has. */
extern const hf_param hf_session_params[];

/** A benchmark's path over the session's scheme, if it has one. */
hf_status hf_session_path(const hf_bench_path **out, const hf_session *session,
                          const hf_bench *bench);

/** Are the kernels those for many work-items, if a benchmark is run in this shape? */
bool hf_session_ndrange(const hf_session *session, const hf_bench *bench,
                        const char *shape);

/** Give the session's scheme its parameters of a run, whose longest message at any point is
 *  `longest` [B], 0: not known; HF_EARG for what it cannot do. */
hf_status hf_session_take(hf_session *session, const hf_args *args, size_t longest);

/** HF_EARG where a session is of no use: in a child of its process, or after MPI's end. */
hf_status hf_session_check(const hf_session *session);

#endif
