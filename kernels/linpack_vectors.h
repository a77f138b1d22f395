/* linpack_vectors.h - kernels of linpack for vectors: residuals, sums, products, and the check. */
#ifndef LINPACK_VECTORS_H
#define LINPACK_VECTORS_H

#include "hf_finding.h"
#include "linpack_data.h"

/** A rank's part of the residual b - A x. */
HF_KERNEL(linpack_residual, HF_READ(double, b), HF_READ(double, product),
          HF_WRITE(double, residual), HF_VALUE(uint, rows)) {
    for (ulong at = HF_ITEM; at < (ulong)rows * HF_BLOCK; at += HF_ITEMS) {
        HF_PIPELINE
        residual[at] = b[at] - product[at];
    }
}

/** to = scale to + factor from along a rank's columns; scale 0: whatever `to` was. */
HF_KERNEL(linpack_add, HF_READ(double, from), HF_WRITE(double, to),
          HF_VALUE(double, scale), HF_VALUE(double, factor), HF_VALUE(uint, columns)) {
    for (ulong at = HF_ITEM; at < (ulong)columns * HF_BLOCK; at += HF_ITEMS) {
        HF_PIPELINE
        to[at] = (scale == 0 ? 0 : scale * to[at]) + factor * from[at];
    }
}

/** Products of two vectors along a rank's columns: each work-item's sum of its own. */
HF_KERNEL(linpack_dot, HF_READ(double, one), HF_READ(double, other),
          HF_WRITE(double, dots), HF_VALUE(uint, columns)) {
    double lanes[LINPACK_WIDE], sum = 0;
    for (uint l = 0; l < LINPACK_WIDE; l++)
        lanes[l] = 0;
    for (ulong at = HF_ITEM * LINPACK_WIDE; at < (ulong)columns * HF_BLOCK;
         at += HF_ITEMS * LINPACK_WIDE) {
        HF_PIPELINE
        HF_UNROLL(LINPACK_WIDE)
        for (uint l = 0; l < LINPACK_WIDE; l++)
            lanes[l] += one[at + l] * other[at + l];
    }
    for (uint l = 0; l < LINPACK_WIDE; l++)
        sum += lanes[l];
    dots[HF_ITEM] = sum;
}

/** The larger of two magnitudes; a NaN stays. */
#define LINPACK_WORSE(worst, value) \
    ((value) > (worst) || (value) != (value) ? (value) : (worst))

/** The largest of two figures: |x - right x| along a rank's columns, over `x_unit`, or over
 *  `small_unit` where x is small; and |residual| / unit along its rows, where a residual is the sum
 *  of the rank's own and of those of `n_parts` others. */
HF_KERNEL(linpack_check, HF_READ(double, x), HF_READ(double, residual),
          HF_READ(double, parts), HF_VALUE(uint, n), HF_VALUE(uint, key),
          HF_VALUE(uint, q), HF_VALUE(uint, grid_q), HF_VALUE(uint, columns),
          HF_VALUE(uint, rows), HF_VALUE(uint, n_parts), HF_VALUE(double, x_unit),
          HF_VALUE(double, small_unit), HF_VALUE(double, unit),
          HF_WRITE(hf_finding, findings), HF_VALUE(uint, seal)) {
    double worst = 0;
    ulong seen = 0;
    for (ulong at = HF_ITEM; at < (ulong)columns * HF_BLOCK; at += HF_ITEMS) {
        HF_PIPELINE
        const uint column = linpack_place(at, q, grid_q);
        const double off = (x[at] - linpack_solution(column, n, key)) /
                           (linpack_small(column, key) ? small_unit : x_unit);
        const double size = off < 0 ? -off : off;
        worst = LINPACK_WORSE(worst, size);
        seen++;
    }
    for (ulong at = HF_ITEM; at < (ulong)rows * HF_BLOCK; at += HF_ITEMS) {
        double sum = residual[at];
        for (uint part = 0; part < n_parts; part++) {
            HF_PIPELINE
            sum += parts[(ulong)part * rows * HF_BLOCK + at];
        }
        const double size = (sum < 0 ? -sum : sum) / unit;
        worst = LINPACK_WORSE(worst, size);
        seen++;
    }
    findings[HF_ITEM] = hf_finding_make(hf_magnitude((float)worst), seen, seal);
}

/** Kernels of this file, for HF_HOST_FILE. */
#define LINPACK_VECTORS_KERNELS                                    \
    HF_HOST_KERNEL(linpack_residual), HF_HOST_KERNEL(linpack_add), \
        HF_HOST_KERNEL(linpack_dot), HF_HOST_KERNEL(linpack_check)

#endif
