/* linpack_solve.h - the kernels that solve L y = b and U x = y. */
#ifndef LINPACK_SOLVE_H
#define LINPACK_SOLVE_H

#include "linpack_data.h"

#if defined(GROUP) && GROUP > 1

/** The unknowns of row block `row`, with L or U from the diagonal block at `block`: the right
 *  side is the rank's `sums` and the `parts` of others. They stand in column block `column` of
 *  `sent` and of `x`, and in row block `row` of `kept`.
 *
 *  A group has the block. It finds LINPACK_WIDE unknowns at a time, each work-item all of them: so
 *  they need not wait for each other at every one. Those of U are found from the last on: the
 *  tile on the diagonal is turned round, and is a lower triangle, too. */
HF_KERNEL(linpack_solve, HF_READ(HF_REAL, a), HF_READ(double, sums),
          HF_READ(double, parts), HF_WRITE(double, kept), HF_WRITE(double, sent),
          HF_WRITE(double, x), HF_VALUE(uint, block), HF_VALUE(uint, n_parts),
          HF_VALUE(uint, row), HF_VALUE(uint, column), HF_VALUE(uint, upper)) {
    HF_GLOBAL const HF_REAL *lu = a + block * LINPACK_SIZE;
    __local double known[HF_BLOCK], tile[LINPACK_WIDE * LINPACK_WIDE];
    const uint me = (uint)get_local_id(0), turn = upper ? LINPACK_WIDE - 1 : 0;
    for (uint i = me; i < HF_BLOCK; i += GROUP) {
        double sum = sums[row * HF_BLOCK + i];
        for (uint part = 0; part < n_parts; part++)
            sum += parts[part * HF_BLOCK + i];
        known[i] = sum;
    }
    for (uint k = 0; k < HF_BLOCK; k += LINPACK_WIDE) {
        const uint k0 = upper ? HF_BLOCK - LINPACK_WIDE - k : k;
        const uint first = upper ? 0 : k0 + LINPACK_WIDE, end = upper ? k0 : HF_BLOCK;
        double found[LINPACK_WIDE];
        for (uint at = me; at < LINPACK_WIDE * LINPACK_WIDE; at += GROUP)
            tile[at] = lu[(k0 + (at / LINPACK_WIDE ^ turn)) * HF_BLOCK + k0 +
                          (at % LINPACK_WIDE ^ turn)];
        barrier(CLK_LOCAL_MEM_FENCE);
        EACH(c, LINPACK_WIDE)
        found[c] = known[k0 + (c ^ turn)];
        EACH(c, LINPACK_WIDE) {
            if (upper)
                found[c] /= tile[c * LINPACK_WIDE + c];
            EACH(i, LINPACK_WIDE)
            if (i > c)
                found[i] -= tile[i * LINPACK_WIDE + c] * found[c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        EACH(c, LINPACK_WIDE)
        if (me == c)
            known[k0 + (c ^ turn)] = found[c];
        for (uint i = first + me; i < end; i += GROUP) {
            double sum = 0;
            EACH(c, LINPACK_WIDE)
            sum += (double)lu[i * HF_BLOCK + k0 + (c ^ turn)] * found[c];
            known[i] -= sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; i < HF_BLOCK; i += GROUP)
        kept[row * HF_BLOCK + i] = sent[column * HF_BLOCK + i] =
            x[column * HF_BLOCK + i] = known[i];
}

#else

/** As above, by one work-item. */
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

#endif

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

/** Kernels of this file, for HF_HOST_FILE. */
#define LINPACK_SOLVE_KERNELS \
    HF_HOST_KERNEL(linpack_solve), HF_HOST_KERNEL(linpack_apply)

#endif
