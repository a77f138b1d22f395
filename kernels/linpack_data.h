/* linpack_data.h - A x = b as closed formulas, and the kernels that make it.
 *
 * A has n rows, padded with those of the identity to whole blocks of HF_BLOCK^2 elements. A
 * rank of a P x Q grid holds the blocks (i P + p, j Q + q) as [rows, columns, HF_BLOCK,
 * HF_BLOCK], and has vectors of doubles along its rows and along its columns. A sum over a
 * row of A is that of all ranks of a row of the grid: each has a part of it.
 */
#ifndef LINPACK_DATA_H
#define LINPACK_DATA_H

#include "hf_real.h"
#include "linpack_shape.h"
#include "linpack_value.h"

#ifndef HF_BLOCK
#define HF_BLOCK 256
#endif
#if HF_BLOCK < 32 || HF_BLOCK > 1024 || HF_BLOCK % 32 != 0
#error "HF_BLOCK, the width of a block, must be a multiple of 32 and at most 1024"
#endif
#if defined(__OPENCL_VERSION__) && !defined(cl_khr_fp64)
#error "linpack: this device does not compute in double precision, as the solution does"
#endif

/** Elements of a block. */
#define LINPACK_SIZE ((ulong)HF_BLOCK * HF_BLOCK)

enum { LINPACK_WIDE = 16 }; /* elements of a row at a time */

/** Element (row, column) of A; those of the identity behind it. */
static inline HF_REAL linpack_value(uint row, uint column, uint n, uint key) {
    const HF_REAL inside = LINPACK_VALUE(HF_REAL, row, column, n, key);
    const HF_REAL padding = row == column ? (HF_REAL)1 : (HF_REAL)0;
    return row < n && column < n ? inside : padding;
}

/** Where index `at` along the rows or columns of a rank lies in A: rank `rank` of `ranks`. */
static inline uint linpack_place(ulong at, uint rank, uint ranks) {
    return ((uint)(at / HF_BLOCK) * ranks + rank) * HF_BLOCK + (uint)(at % HF_BLOCK);
}

/** A rank's blocks of A. */
HF_KERNEL(linpack_fill, HF_WRITE(HF_REAL, a), HF_VALUE(uint, n), HF_VALUE(uint, key),
          HF_VALUE(uint, p), HF_VALUE(uint, grid_p), HF_VALUE(uint, q),
          HF_VALUE(uint, grid_q), HF_VALUE(uint, rows), HF_VALUE(uint, columns)) {
    for (ulong at = HF_ITEM; at < (ulong)rows * columns * HF_BLOCK; at += HF_ITEMS) {
        const ulong block = at / HF_BLOCK, i = block / columns, j = block % columns;
        const uint row = linpack_place(i * HF_BLOCK + at % HF_BLOCK, p, grid_p);
        const uint column = linpack_place(j * HF_BLOCK, q, grid_q);
        for (uint k = 0; k < HF_BLOCK; k += LINPACK_WIDE) {
            HF_PIPELINE
            HF_UNROLL(LINPACK_WIDE)
            for (uint l = 0; l < LINPACK_WIDE; l++)
                a[at * HF_BLOCK + k + l] = linpack_value(row, column + k + l, n, key);
        }
    }
}

/** x along the columns of the ranks at `q`. */
HF_KERNEL(linpack_right, HF_WRITE(double, x), HF_VALUE(uint, n), HF_VALUE(uint, key),
          HF_VALUE(uint, q), HF_VALUE(uint, grid_q), HF_VALUE(uint, columns)) {
    for (ulong at = HF_ITEM; at < (ulong)columns * HF_BLOCK; at += HF_ITEMS) {
        HF_PIPELINE
        x[at] = linpack_solution(linpack_place(at, q, grid_q), n, key);
    }
}

/** What the columns of the ranks at `q` add to A x in a rank's rows, with A by its formula. */
HF_KERNEL(linpack_product, HF_READ(double, x), HF_WRITE(double, product),
          HF_VALUE(uint, n), HF_VALUE(uint, key), HF_VALUE(uint, p),
          HF_VALUE(uint, grid_p), HF_VALUE(uint, q), HF_VALUE(uint, grid_q),
          HF_VALUE(uint, rows), HF_VALUE(uint, columns)) {
    for (ulong at = HF_ITEM; at < (ulong)rows * HF_BLOCK; at += HF_ITEMS) {
        const uint row = linpack_place(at, p, grid_p);
        double lanes[LINPACK_WIDE], sum = 0;
        for (uint l = 0; l < LINPACK_WIDE; l++)
            lanes[l] = 0;
        for (ulong j = 0; j < (ulong)columns * HF_BLOCK; j += LINPACK_WIDE) {
            HF_PIPELINE
            const uint column = linpack_place(j, q, grid_q);
            HF_UNROLL(LINPACK_WIDE)
            for (uint l = 0; l < LINPACK_WIDE; l++)
                lanes[l] += (double)linpack_value(row, column + l, n, key) * x[j + l];
        }
        for (uint l = 0; l < LINPACK_WIDE; l++)
            sum += lanes[l];
        product[at] = sum;
    }
}

/** Kernels of this file, for HF_HOST_FILE. */
#define LINPACK_DATA_KERNELS                                     \
    HF_HOST_KERNEL(linpack_fill), HF_HOST_KERNEL(linpack_right), \
        HF_HOST_KERNEL(linpack_product)

#endif
