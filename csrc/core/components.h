/* components.h - what there is, and what it says of itself. */
#ifndef HF_COMPONENTS_H
#define HF_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/device_info.h"
#include "core/figure.h"
#include "core/links.h"
#include "core/status.h"

/** Component number `index` of a kind of the registry, which are "bench", "exchange",
 *  "device", "transport" and "model"; false past the last. The texts are static. */
bool hf_component(const char *kind, size_t index, const char **name,
                  const char **summary);
/** Version of the MPI library that this one was linked with, as it says itself; "" if
 *  there is none. What finds no room is cut. */
void hf_mpi_library(char *text, size_t room);

/* ---- benchmarks ---- */

typedef enum hf_dtype { HF_F64, HF_I64, HF_BOOL, HF_NAME } hf_dtype;

/** A named quantity; a table of them ends with name == NULL. */
typedef struct hf_quantity {
    const char *name, *unit;
    hf_dtype dtype;
    const char *choices; /**< HF_NAME: "a|b|c", of which a value is the index */
} hf_quantity;

enum { HF_NAME_LETTERS = 32 };

/** Choice number `index` of an HF_NAME, cut to HF_NAME_LETTERS; its length. */
size_t hf_quantity_choice(const hf_quantity *quantity, size_t index, const char **text);

/** The parameter that says how much work a run is. */
typedef struct hf_problem {
    const char
        *param;  /**< name of an HF_INT, HF_INTS or, with a binary logarithm behind
                            a colon as in kron:16, HF_TEXT; NULL: there is none */
    int power;   /**< the work grows with this power of it */
    bool shared; /**< it counts for all ranks together, not for each */
} hf_problem;

/** What a benchmark tells of a point and of all; NULL tables are empty. */
typedef struct hf_quantities {
    const hf_quantity *labels, *metrics, *findings, *parts, *stages;
    const hf_figure *figures;
    hf_problem problem;
    bool banked, computes;
    size_t side_by_side; /**< kernels that wait for each other, for each replication */
    const char *error;   /**< name of the column of what verification found */
} hf_quantities;

hf_status hf_bench_quantities(hf_quantities *out, const char *bench);

/* ---- device runtimes ---- */

/** Which programs runtime `runtime` loads: "binary", "xclbin" or "none"; HF_ENOENT lists the
 *  known runtimes. */
hf_status hf_device_programs(const char **out, const char *runtime);

/* ---- exchange schemes ---- */

/** What a scheme says of itself; a plain value. */
typedef struct hf_scheme {
    bool kernel_routed; /**< kernels send and receive; the host only launches them */
    bool host_memory;   /**< it moves host memory only */
    bool chunks;        /**< it takes chunk_size and chunk_depth */
    const char
        *kernels; /**< kind of its kernel files, but for those of many work-items */
} hf_scheme;

/** Scheme `name`; on HF_ENOENT the message lists the known ones. */
hf_status hf_exchange_scheme(hf_scheme *out, const char *name);

#endif
