/* element.h - types of the elements of matrices and arrays. */
#ifndef HF_ELEMENT_H
#define HF_ELEMENT_H

#include "core/param.h"

/** What the parameter data_type chooses among. */
typedef struct hf_element {
    const char *name;
    size_t bytes, sum_bytes; /**< of an element; of what kernels sum up */
    int digits, sum_digits;  /**< of their binary significands */
    int exponent;            /**< elements are below 2^exponent */
} hf_element;

/** The entry for it in a benchmark's table of parameters. */
/* clang-format off */
#define HF_ELEMENT_PARAM                                                               \
    {"data_type", "type of the elements", "float", "float|double|half", "HF_REAL", 0,  \
     0, HF_TEXT}
/* clang-format on */

/** Length of an element of type `name` [B]; 0 where there is none. */
size_t hf_element_bytes(const char *name);
const hf_element *hf_element_of(const hf_args *args);
/** Write one number, which the type holds exactly and normalised. */
void hf_element_write(const hf_element *type, void *to, double value);
/** Read the first n elements. */
void hf_elements_read(const hf_element *type, double *to, const void *from, size_t n);

#endif
