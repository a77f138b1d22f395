/* linpack_solve.h - the kernels that solve L y = b and U x = y, and check x. */
#ifndef LINPACK_SOLVE_H
#define LINPACK_SOLVE_H

#include "hf_finding.h"
#include "linpack_data.h"

/** The unknowns of row block `row`, with L or U from the diagonal block at `block`: the right
 *  side is the rank's `sums` and the `parts` of others. They stand in column block `column` of
 *  `sent` and of `x`, and in row block `row` of `kept`. */
HF_KERNEL(linpack_solve, HF_READ(HF_REAL, a), HF_READ(double, sums),
          HF_READ(double, parts), HF_WRITE(double, kept), HF_WRITE(double, sent),
          HF_WRITE(double, x), HF_VALUE(uint, block), HF_VALUE(uint, n_parts),
          HF_VALUE(uint, row), HF_VALUE(uint, column), HF_VALUE(uint, upper)) {
    HF_GLOBAL const HF_REAL *lu = a + block * LINPACK_SIZE;
    double known[HF_BLOCK];
    for (uint k = 0; k < HF_BLOCK; k++) {
        const uint i = upper ? HF_BLOCK - 1 - k : k;
        const uint first = upper ? i + 1 : 0, end = upper ? HF_BLOCK : i;
        double lanes[LINPACK_WIDE], sum = sums[row * HF_BLOCK + i];
        for (uint part = 0; part < n_parts; part++)
            sum += parts[part * HF_BLOCK + i];
        for (uint l = 0; l < LINPACK_WIDE; l++)
            lanes[l] = 0;
        for (uint j = first / LINPACK_WIDE * LINPACK_WIDE; j < end; j += LINPACK_WIDE) {
            HF_UNROLL(LINPACK_WIDE)
            for (uint l = 0; l < LINPACK_WIDE; l++)
                if (j + l >= first && j + l < end)
                    lanes[l] += (double)lu[i * HF_BLOCK + j + l] * known[j + l];
        }
        for (uint l = 0; l < LINPACK_WIDE; l++)
            sum -= lanes[l];
        known[i] = upper ? sum / (double)lu[i * HF_BLOCK + i] : sum;
    }
    for (uint i = 0; i < HF_BLOCK; i++) {
        HF_PIPELINE
        kept[row * HF_BLOCK + i] = known[i];
        sent[column * HF_BLOCK + i] = known[i];
        x[column * HF_BLOCK + i] = known[i];
    }
}

/** Take column block `column` of x from the sums of row blocks `first` to `end` - 1. */
HF_KERNEL(linpack_apply, HF_READ(HF_REAL, a), HF_READ(double, x),
          HF_WRITE(double, sums), HF_VALUE(uint, first), HF_VALUE(uint, end),
          HF_VALUE(uint, column), HF_VALUE(uint, columns)) {
    for (ulong at = (ulong)first * HF_BLOCK + HF_ITEM; at < (ulong)end * HF_BLOCK;
         at += HF_ITEMS) {
        HF_GLOBAL const HF_REAL *row =
            a + (at / HF_BLOCK * columns + column) * LINPACK_SIZE +
            at % HF_BLOCK * HF_BLOCK;
        double lanes[LINPACK_WIDE], sum = 0;
        for (uint l = 0; l < LINPACK_WIDE; l++)
            lanes[l] = 0;
        for (uint j = 0; j < HF_BLOCK; j += LINPACK_WIDE) {
            HF_PIPELINE
            HF_UNROLL(LINPACK_WIDE)
            for (uint l = 0; l < LINPACK_WIDE; l++)
                lanes[l] += (double)row[j + l] * x[column * HF_BLOCK + j + l];
        }
        for (uint l = 0; l < LINPACK_WIDE; l++)
            sum += lanes[l];
        sums[at] -= sum;
    }
}

/** A rank's part of the residual b - A x. */
HF_KERNEL(linpack_residual, HF_READ(double, b), HF_READ(double, product),
          HF_WRITE(double, residual), HF_VALUE(uint, rows)) {
    for (ulong at = HF_ITEM; at < (ulong)rows * HF_BLOCK; at += HF_ITEMS) {
        HF_PIPELINE
        residual[at] = b[at] - product[at];
    }
}

/** Add a correction to x along a rank's columns. */
HF_KERNEL(linpack_correct, HF_READ(double, change), HF_WRITE(double, x),
          HF_VALUE(uint, columns)) {
    for (ulong at = HF_ITEM; at < (ulong)columns * HF_BLOCK; at += HF_ITEMS) {
        HF_PIPELINE
        x[at] += change[at];
    }
}

/** The larger of two magnitudes; a NaN stays. */
#define LINPACK_WORSE(worst, value) \
    ((value) > (worst) || (value) != (value) ? (value) : (worst))

/** The largest of |x - right x| / x_unit along a rank's columns, and of |residual| / unit along
 *  its rows, which are of all `n_parts` others and its own. */
HF_KERNEL(linpack_check, HF_READ(double, x), HF_READ(double, residual),
          HF_READ(double, parts), HF_VALUE(uint, n), HF_VALUE(uint, key),
          HF_VALUE(uint, q), HF_VALUE(uint, grid_q), HF_VALUE(uint, columns),
          HF_VALUE(uint, rows), HF_VALUE(uint, n_parts), HF_VALUE(double, x_unit),
          HF_VALUE(double, unit), HF_WRITE(hf_finding, findings),
          HF_VALUE(uint, seal)) {
    double worst = 0;
    ulong seen = 0;
    for (ulong at = HF_ITEM; at < (ulong)columns * HF_BLOCK; at += HF_ITEMS) {
        HF_PIPELINE
        const double off =
            (x[at] - linpack_solution(linpack_place(at, q, grid_q), n, key)) / x_unit;
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
#define LINPACK_SOLVE_KERNELS                                              \
    HF_HOST_KERNEL(linpack_solve), HF_HOST_KERNEL(linpack_apply),          \
        HF_HOST_KERNEL(linpack_residual), HF_HOST_KERNEL(linpack_correct), \
        HF_HOST_KERNEL(linpack_check)

#endif
