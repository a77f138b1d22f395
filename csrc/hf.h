/* hf.h - public header: status, devices, sessions, components.
 *
 * Units are SI everywhere: B, s, B/s, FLOP/s, Hz. Arrays are in C order.
 */
#ifndef HF_H
#define HF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_STATUS_MAP(XX)                            \
    XX(EARG, "invalid argument")                     \
    XX(ENOMEM, "out of memory")                      \
    XX(ENOENT, "no such component")                  \
    XX(ENOTSUP, "not supported by this combination") \
    XX(EDEVICE, "device error")                      \
    XX(ECOMM, "communication error")                 \
    XX(ECANCELED, "canceled")

typedef enum hf_status {
    HF_OK,
#define HF_STATUS_ENTRY(name, text) HF_##name,
    HF_STATUS_MAP(HF_STATUS_ENTRY)
#undef HF_STATUS_ENTRY
} hf_status;

/** What the last failing call of this thread said; one line, never NULL. */
const char *hf_error(void);

/* ---- devices ---- */

typedef enum hf_device_type { HF_CPU, HF_GPU, HF_ACCELERATOR } hf_device_type;

/** A device as its runtime describes it; a plain value. */
typedef struct hf_device_info {
    char runtime[16], platform[128], name[128], version[128], driver[64];
    int index;           /**< position among the runtime's devices */
    hf_device_type type; /**< CPU, GPU or accelerator */
    bool emulated;       /**< a CPU that stands in for an accelerator */
    size_t memory;       /**< global memory [B] */
    size_t max_alloc;    /**< largest buffer [B] */
    bool half, fp64;     /**< computes in half, in double precision */
    size_t items;   /**< work-items that fill the device; 1 where loops are pipelines */
    size_t workers; /**< kernels that can run at the same time */
} hf_device_info;

/** Device number `index` over all runtimes; *found is false past the end. A runtime that
 *  finds none is passed over. */
hf_status hf_device_list(hf_device_info *out, size_t index, bool *found);

/* ---- sessions: a device, an exchange scheme and a transport, held open ---- */

typedef struct hf_session hf_session;
typedef struct hf_args hf_args;     /* core/param.h */
typedef struct hf_result hf_result; /* core/result.h */

/** All-zero is a valid default: the scheme's own device, one rank, no MPI. */
typedef struct hf_options {
    const char *device;   /**< "host", "opencl", "opencl:SELECTOR" or SELECTOR */
    const char *exchange; /**< scheme; "" means pcie */
    const char *library;  /**< MPI library of the communicator's maker */
    int comm;             /**< communicator as a Fortran handle */
    bool has_comm;        /**< false: one rank, no MPI call is made */
} hf_options;

/** Where a rank runs. */
typedef struct hf_place {
    char host[64];    /**< host name */
    char device[160]; /**< "opencl:1 NVIDIA H200" */
    bool emulated;    /**< its device is a CPU that stands in for an accelerator */
} hf_place;

/** What a session shows; borrowed until it is closed. */
typedef struct hf_facts {
    int rank, size, local_rank;
    const char *exchange;
    bool kernel_routed, emulated;
    const char *prelude;    /**< to put in front of kernels that are built here */
    const hf_place *places; /**< [size] */
    const hf_device_info *device;
} hf_facts;

typedef enum hf_dtype { HF_F64, HF_I64, HF_BOOL, HF_NAME } hf_dtype;

/** A named quantity; a table of them ends with name == NULL. */
typedef struct hf_quantity {
    const char *name, *unit;
    hf_dtype dtype;
    const char *choices; /**< HF_NAME: "a|b|c", of which a value is the index */
} hf_quantity;

enum { HF_NAME_LETTERS = 16 };

/** Choice number `index` of an HF_NAME, cut to HF_NAME_LETTERS; its length. */
size_t hf_quantity_choice(const hf_quantity *quantity, size_t index, const char **text);

/** The parameter that says how much work a run is. */
typedef struct hf_problem {
    const char *param; /**< name of an HF_INT or HF_INTS; NULL: there is none */
    int power;         /**< the work grows with this power of it */
    bool shared;       /**< it counts for all ranks together, not for each */
} hf_problem;

/** What a benchmark tells of a point and of all; NULL tables are empty. */
typedef struct hf_quantities {
    const hf_quantity *labels, *metrics, *parts, *figures;
    hf_problem problem;
} hf_quantities;

hf_status hf_bench_quantities(hf_quantities *out, const char *bench);

/** Sent after each point, and without a row between samples. */
typedef struct hf_progress {
    size_t point, n_points, n_values;
    const hf_quantity *quantities; /**< [n_values] */
    const double *values;
} hf_progress;

typedef struct hf_run {
    const char *bench;
    const hf_args *args;
    const char *kernel;          /**< stem of the kernel file; NULL: no kernels */
    const unsigned char *binary; /**< program binary, NULL on devices without */
    size_t binary_bytes;
    /** Asked between samples; anything but HF_OK ends the run on every rank. */
    hf_status (*tick)(void *context, const hf_progress *row);
    void *context;
} hf_run;

/** Collective over the communicator. */
hf_status hf_session_open(hf_session **out, const hf_options *options);
void hf_session_close(hf_session *session);
hf_facts hf_session_facts(const hf_session *session);
/** Stem of the kernel file that `bench` needs here, e.g. "b_eff_memory"; "" if none.
 *  `shape` is "pipeline", "ndrange", or "auto": what suits the device. */
hf_status hf_session_kernel(const hf_session *session, const char *bench,
                            const char *shape, char *stem, size_t room);
/** Compile OpenCL C for the session's device; *binary is malloc'ed. Not collective. */
hf_status hf_session_build(hf_session *session, const char *source, const char *options,
                           unsigned char **binary, size_t *bytes);
/** Every rank gets the worst status of any rank and its message. Collective. */
hf_status hf_session_agree(hf_session *session, hf_status status);
/** Run a benchmark; every rank gets the whole result. Collective. */
hf_status hf_session_run(hf_session *session, hf_result **out, const hf_run *run);

/* ---- components ---- */

/** Kinds of the registry: "bench", "exchange", "device", "transport", "model". */
bool hf_component(const char *kind, size_t index, const char **name,
                  const char **summary);
/** Version of the MPI library that the library was linked with, as it says itself. */
void hf_mpi_library(char *text, size_t room);

#endif
