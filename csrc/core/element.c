/* element.c - types of the elements of matrices and arrays. */
#include "core/element.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const hf_element types[] = {
    {"float", 4, 4, 24, 24, FLT_MAX_EXP},
    {"double", 8, 8, 53, 53, DBL_MAX_EXP},
    {"half", 2, 4, 11, 24, 16},
};

size_t hf_element_bytes(const char *name) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].bytes;
    return 0;
}

const hf_element *hf_element_of(const hf_args *args) {
    const hf_element *type = types;
    while (!hf_args_chosen(args, "data_type", type->name))
        type++;
    return type;
}

static uint16_t half_bits(double value) {
    int exponent;
    unsigned sign = value < 0 ? 0x8000 : 0;
    double fraction = frexp(fabs(value), &exponent);
    if (fraction == 0)
        return (uint16_t)sign;
    unsigned digits = (unsigned)(fraction * 2048) & 0x3FF;
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | digits);
}

static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, digits = bits & 0x3FF;
    double value = exponent == 31 ? (digits ? NAN : INFINITY)
                   : exponent > 0 ? ldexp(1024 + digits, exponent - 25)
                                  : ldexp(digits, -24);
    return bits & 0x8000 ? -value : value;
}

void hf_element_write(const hf_element *type, void *to, double value) {
    float single = (float)value;
    uint16_t half = type->bytes == sizeof half ? half_bits(value) : 0;
    const void *from[] = {&half, &single, &value};
    memcpy(to, from[type->bytes / 4], type->bytes);
}

void hf_elements_read(const hf_element *type, double *to, const void *from, size_t n) {
    if (type->bytes == sizeof(double)) {
        memcpy(to, from, n * sizeof *to);
    } else if (type->bytes == sizeof(float)) {
        const float *single = from;
        for (size_t i = 0; i < n; i++)
            to[i] = (double)single[i];
    } else {
        const uint16_t *half = from;
        for (size_t i = 0; i < n; i++)
            to[i] = half_value(half[i]);
    }
}
