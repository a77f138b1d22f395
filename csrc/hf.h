/* hf.h - public header: sessions and runs, and by inclusion what there is to run.
 *
 * Units are SI everywhere: B, s, B/s, FLOP/s, Hz. Arrays are in C order.
 */
#ifndef HF_H
#define HF_H

#include "core/components.h"

/* ---- sessions: a device, an exchange scheme and a transport, held open ---- */

typedef struct hf_session hf_session;
/* Values of parameters: core/param.h; core/result.h; a run in several calls: core/turns.h. */
typedef struct hf_args hf_args;
typedef struct hf_result hf_result;
typedef struct hf_turns hf_turns;

/** All-zero is a valid default: the scheme's own device, one rank, no MPI. */
typedef struct hf_options {
    const char *device;      /**< "host", "opencl", "opencl:SELECTOR" or SELECTOR */
    const char *exchange;    /**< scheme; NULL means HF_SCHEME */
    const char *mpi_library; /**< MPI library of the communicator's maker */
    const char *version;     /**< of hpccfpga, the same on every rank; NULL: not told */
    const char *folder; /**< for pipes of emulated channels; NULL or "": HF_FOLDER */
    double deadline;    /**< longest wait for a rank or a device [s]; 0: HF_DEADLINE */
    size_t trace;       /**< spans of a sample that each rank records; 0: no trace */
    int comm;           /**< communicator as a Fortran handle */
    bool has_comm;      /**< false: one rank, no MPI call is made */
    hf_vendors vendors;
} hf_options;

/** Where a rank runs. */
typedef struct hf_place {
    char host[64];    /**< host name */
    char device[160]; /**< "opencl:1 NVIDIA H200" */
    bool emulated;    /**< its device is a CPU that stands in for an accelerator */
    bool again;       /**< a rank with a lower number has the same device */
} hf_place;

/** What a session shows; borrowed until it is closed. */
typedef struct hf_facts {
    int rank, size;
    const char *exchange;
    bool kernel_routed;
    bool emulated;          /**< the device of any rank is */
    const char *prelude;    /**< to put in front of kernels that are built here */
    const hf_place *places; /**< [size] */
    const hf_device_info *device;
} hf_facts;

/** What `tick` of a run gets after each point. Between samples it gets NULL. */
typedef struct hf_progress {
    size_t point, n_points, n_values; /* point 0 .. n_points - 1 of this call */
    const hf_quantity *quantities;    /**< [n_values] */
    const double *values;
} hf_progress;

#define HF_FOLDER   "/tmp" /**< for temporary files, unless told otherwise */
#define HF_HEARING  0.1    /**< between two looks for Ctrl-C [s] */
#define HF_SCHEME   "pcie" /**< exchange scheme, unless told otherwise */
#define HF_AUTO     "auto" /**< in place of one: that which is expected to be the fastest */
#define HF_EQUAL    0.03 /**< schemes whose times differ by a smaller share are as fast */
#define HF_DEADLINE 60   /**< longest wait, unless told otherwise [s] */

/** What steps over exchange schemes are expected to take, by the length of messages. */
typedef struct hf_expected {
    size_t n, n_schemes;
    const double *sizes;        /**< [n] rising, above 0 [B] */
    const char *const *schemes; /**< [n_schemes] that move blocks of devices */
    const double *times;        /**< [n_schemes, n] above 0 [s] */
} hf_expected;

/** Which of `n` schemes HF_AUTO takes, by their times: the last of those as fast as the fastest. */
size_t hf_fastest(const double *times, size_t n);

typedef struct hf_run {
    const char *bench;
    const hf_args *args;
    const char *kernel;          /**< stem of the kernel file; NULL: no kernels */
    const char *kernel_hash;     /**< of what it was made of; NULL: not told */
    const unsigned char *binary; /**< program binary, NULL on devices without */
    size_t binary_bytes;
    /** Asked between samples, and in those that last longer than HF_HEARING; anything
     *  but HF_OK ends the run on every rank. */
    hf_status (*tick)(void *context, const hf_progress *row);
    void *context;
    hf_turns *turns; /**< of which the next one is taken; NULL: all in one call */
} hf_run;

/** Open a device on every rank of the communicator; what fails on one fails on all, as another
 *  version, exchange scheme or kind of device does. Collective. */
hf_status hf_session_open(hf_session **out, const hf_options *options);
/** Release all, if any; it never fails. Collective, but without effect in a child process. */
void hf_session_close(hf_session *session);
/** What `open` found; not collective. */
hf_facts hf_session_facts(const hf_session *session);
/** Stem of the kernel file that `bench` needs here, e.g. "b_eff_memory"; "" if none.
 *  `shape` is "pipeline", "ndrange", or "auto": what suits the device. */
hf_status hf_session_kernel(const hf_session *session, const char *bench,
                            const char *shape, char *stem, size_t room);
/** Compile OpenCL C for the session's device; *binary is malloc'ed. Not collective. */
hf_status hf_session_build(hf_session *session, const char *source, const char *options,
                           unsigned char **binary, size_t *bytes);
/** Does the session lack the kernels of relay_ndrange.cl, which its device may have use for? */
bool hf_session_wants_relay(const hf_session *session);
/** Take their program binary; without effect where the device cannot use them. Not collective. */
hf_status hf_session_relay(hf_session *session, const unsigned char *binary,
                           size_t bytes);
/** Every rank gets the worst status of any rank and its message. Collective. */
hf_status hf_session_agree(hf_session *session, hf_status status);
/** HF_EARG on every rank where a value is not the same on all. Collective. */
hf_status hf_session_same(hf_session *session, const char *what, const char *value);
/** Go on over another exchange scheme, on the same device; HF_AUTO takes that of each plan from
 *  `expected`, NULL for all others. After an error it is that of before. Collective. */
hf_status hf_session_exchange(hf_session *session, const char *name,
                              const hf_expected *expected);
/** Run a benchmark; every rank gets the whole result, NULL if turns are left. Collective. */
hf_status hf_session_run(hf_session *session, hf_result **out, const hf_run *run);

#endif
