/* hf.h - public header: status, parameters, results, sessions.
 *
 * Units are SI everywhere: B, s, B/s, FLOP/s, Hz. Arrays are in C order.
 */
#ifndef HF_H
#define HF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_STATUS_MAP(XX)                                                              \
    XX(EARG, "invalid argument")                                                       \
    XX(ENOMEM, "out of memory")                                                        \
    XX(ENOENT, "no such component")                                                    \
    XX(ENOTSUP, "not supported by this combination")                                   \
    XX(EDEVICE, "device error")                                                        \
    XX(ECOMM, "communication error")                                                   \
    XX(ECANCELED, "canceled")

typedef enum hf_status {
    HF_OK,
#define HF_STATUS_ENTRY(name, text) HF_##name,
    HF_STATUS_MAP(HF_STATUS_ENTRY)
#undef HF_STATUS_ENTRY
} hf_status;

/** What the last failing call of this thread said; one line, never NULL. */
const char *hf_error(void);

/* ---- parameters: described by tables, refused by one function ---- */

typedef enum hf_kind { HF_INT, HF_REAL, HF_TEXT, HF_INTS } hf_kind;

/** One parameter; a table of them ends with name == NULL. */
typedef struct hf_param {
    const char *name;
    const char *summary;  /**< one sentence, unit in brackets */
    const char *fallback; /**< the default, as text */
    const char *choices;  /**< HF_TEXT: "a|b|c"; NULL allows any text */
    const char *macro;    /**< kernel knob: the build option; NULL for a host parameter */
    double low, high;     /**< inclusive bounds of every number */
    hf_kind kind;
} hf_param;

/** Values of a benchmark's and the session's parameters. */
typedef struct hf_args hf_args;

/** Defaults for benchmark `bench`; free with hf_args_free. */
hf_status hf_args_new(hf_args **out, const char *bench);
void hf_args_free(hf_args *args);
/** Set one parameter from numbers (n >= 1) or from text; refuses unknown names, wrong
 *  kinds and values out of bounds with the known choices in the message. */
hf_status hf_args_set(hf_args *args, const char *name, size_t n, const double *numbers,
                      const char *text);
/** Entry `index` of the table, NULL past the end. */
const hf_param *hf_args_param(const hf_args *args, size_t index);
size_t hf_args_count(const hf_args *args, size_t index);
/** The values of a numeric parameter; NULL for text. */
const double *hf_args_numbers(const hf_args *args, size_t index);
const char *hf_args_text(const hf_args *args, size_t index);

/* ---- results ---- */

typedef enum hf_dtype { HF_F64, HF_I64, HF_BOOL } hf_dtype;

typedef struct hf_column {
    char name[32];
    const char *unit;
    void *data; /**< C order; owned by the result */
    size_t shape[3];
    int n_dims;
    hf_dtype dtype;
} hf_column;

typedef struct hf_result hf_result;

const hf_column *hf_result_column(const hf_result *result, size_t index);
/** Entry `index` of the summary: false past the end. NaN stands for "no value". */
bool hf_result_summary(const hf_result *result, size_t index, const char **name,
                       const char **unit, double *value);
/** Entry `index` of the remarks about the run, NULL past the end. */
const char *hf_result_note(const hf_result *result, size_t index);
bool hf_result_verified(const hf_result *result);
void hf_result_free(hf_result *result);

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
    size_t items;        /**< work-items that fill the device; 1 where loops are pipelines */
    size_t workers;      /**< kernels that can run at the same time */
} hf_device_info;

/** Device number `index` over all runtimes; *found is false past the end. A runtime that
 *  finds none is passed over. */
hf_status hf_device_list(hf_device_info *out, size_t index, bool *found);

/* ---- sessions: a device, an exchange scheme and a transport, held open ---- */

typedef struct hf_session hf_session;

/** All-zero is a valid default: the scheme's own device, one rank, no MPI. */
typedef struct hf_options {
    const char *device;   /**< "host", "opencl", "opencl:SELECTOR" or SELECTOR */
    const char *exchange; /**< scheme; "" means pcie */
    const char *library;  /**< MPI library of the communicator's maker */
    int comm;             /**< communicator as a Fortran handle */
    bool has_comm;        /**< false: one rank, no MPI call is made */
} hf_options;

/** What a session shows; borrowed until it is closed. */
typedef struct hf_facts {
    int rank, size, local_rank;
    const char *exchange;
    bool kernel_routed, emulated;
    const char *hosts; /**< [size, HF_HOST_NAME] */
    const hf_device_info *device;
} hf_facts;

enum { HF_HOST_NAME = 64 };

/** Sent after each point, and without a row between samples. */
typedef struct hf_progress {
    size_t point, n_points, n_values;
    const char *const *names;
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
/** Stem of the kernel file that `bench` needs here, e.g. "b_eff_memory"; "" if none. */
hf_status hf_session_kernel(const hf_session *session, const char *bench, char *stem,
                            size_t room);
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
