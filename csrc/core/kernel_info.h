/* kernel_info.h - the kernels that are compiled into this library as C, and what they take.
 *
 * The macros of kernels/hf_kernel.h fill these tables from the kernels' definitions.
 */
#ifndef HF_KERNEL_INFO_H
#define HF_KERNEL_INFO_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hf_arg_kind {
    HF_ARG_READ,   /**< a buffer that the kernel reads */
    HF_ARG_SHARED, /**< the same, and all replications read the same one */
    HF_ARG_WRITE,  /**< a buffer that the kernel writes; it may read it, too */
    HF_ARG_VALUE,
    HF_ARG_IN,  /**< the end of a channel from which it receives */
    HF_ARG_OUT, /**< the end of a channel to which it sends */
} hf_arg_kind;

/** An argument; all are static. */
typedef struct hf_arg_info {
    const char *name;
    hf_arg_kind kind;
    size_t bytes; /**< of a value; of one element of a buffer */
    size_t depth; /**< of an end: packets that its channel holds; 0: it is a port */
} hf_arg_info;

/** A kernel. `call` runs all its work-items; values[i] points at the value of argument i,
 *  for a buffer at its address. */
typedef struct hf_kernel_info {
    const char *name;
    const hf_arg_info *args; /**< [n_args] */
    size_t n_args;
    bool replicated; /**< FPGAs have as many of it as there are replications */
    bool streams;    /**< it has ends of channels; one more argument follows on CPUs */
    void (*call)(void *const *values, size_t items);
} hf_kernel_info;

/** The kernels of the file kernels/<stem>.cl, ended by name == NULL; NULL if there is none.
 *  A file that is compiled once for each data type is found by `stem`, which gives any of
 *  them, and by `stem`_<type>. */
const hf_kernel_info *hf_kernels_of(const char *stem);
/** The name of argument `i` of a kernel among `kernels`, which may be NULL; "?" if it is not
 *  known. */
const char *hf_arg_name(const hf_kernel_info *kernels, const char *kernel, size_t i);
/** Whether any file is compiled for a data type. */
bool hf_kernels_typed(const char *type);

#endif
