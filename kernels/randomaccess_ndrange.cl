/* randomaccess_ndrange.cl - RandomAccess for CPUs and GPUs: many updates on the way.
 *
 * randomaccess_update_0, for CPUs: work-items share the table's words out among
 * themselves, so that no update is lost, and each goes through the whole sequence. It runs
 * HF_RNG_COUNT generators side by side, in vectors, keeps the numbers that are its own,
 * asks memory for their words at once and updates HF_BATCH words when twice as many wait.
 *
 * randomaccess_shared, for GPUs: each work-item is one generator and updates any word, as
 * one operation of the memory: thousands of them are on the way at any time.
 */
#include "hf_kernel.h"
#include "randomaccess_sequence.h"

#ifndef HF_BATCH
#define HF_BATCH 256
#endif
#define HELD 1024 /* the most updates that HPC Challenge lets wait */
#if 2 * HF_BATCH + HF_RNG_COUNT > HELD || HELD % HF_BATCH != 0
#error "HF_BATCH, the updates done together, must divide 1024 and be at most 256"
#endif

/** Apply `steps` numbers of each of HF_RNG_COUNT generators to the `part` words from word
 *  `first` of a table of `words`. starts[i] is the first number of generator i. */
HF_KERNEL(randomaccess_update_0, HF_WRITE(ulong, table), HF_SHARED(ulong, starts),
          HF_VALUE(ulong, words), HF_VALUE(ulong, first), HF_VALUE(ulong, part),
          HF_VALUE(ulong, steps)) {
    const ulong low = part * HF_ITEM / HF_ITEMS, high = part * (HF_ITEM + 1) / HF_ITEMS;
    ulong number[HF_RNG_COUNT], held[HELD];
    uint n = 0, done = 0; /* numbers kept and applied; `held` is a ring */
    for (uint r = 0; r < HF_RNG_COUNT; r++)
        number[r] = starts[r];
    for (ulong step = 0; step < steps; step++) {
        for (uint r = 0; r < HF_RNG_COUNT; r++) {
            const ulong at = (number[r] & (words - 1)) - first - low;
            const uint mine = at < high - low;
            held[n % HELD] = number[r];
            HF_PREFETCH_WRITE(table + low + (mine ? at : 0));
            n += mine;
        }
        for (uint r = 0; r < HF_RNG_COUNT; r++)
            number[r] = randomaccess_next(number[r]);
        while (n - done >= 2 * HF_BATCH) {
            for (uint i = 0; i < HF_BATCH; i++) {
                const ulong x = held[done % HELD + i];
                table[(x & (words - 1)) - first] ^= x;
            }
            done += HF_BATCH;
        }
    }
    for (; done != n; done++) {
        const ulong x = held[done % HELD];
        table[(x & (words - 1)) - first] ^= x;
    }
}

/** The same with one generator for each work-item. */
HF_KERNEL(randomaccess_shared, HF_WRITE(ulong, table), HF_SHARED(ulong, starts),
          HF_VALUE(ulong, words), HF_VALUE(ulong, first), HF_VALUE(ulong, part),
          HF_VALUE(ulong, steps)) {
    ulong number = starts[HF_ITEM];
    for (ulong step = 0; step < steps; step++) {
        const ulong at = (number & (words - 1)) - first;
        if (at < part)
            HF_XOR(table + at, number);
        number = randomaccess_next(number);
    }
}

HF_HOST_FILE(randomaccess_ndrange, HF_HOST_KERNEL(randomaccess_update_0),
             HF_HOST_KERNEL(randomaccess_shared))
