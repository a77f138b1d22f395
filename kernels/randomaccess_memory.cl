/* randomaccess_memory.cl - RandomAccess for FPGAs: a shift register feeds one update.
 *
 * HF_RNG_COUNT generators look for numbers whose word is in this part of the table. Each
 * enters its own into a shift register, HF_RNG_DISTANCE slots from the next one's, and
 * waits while the slot is taken; slot 0 leaves toward memory every clock cycle. So many
 * generators keep the update busy although most of their numbers are others' business.
 *
 * HF_BUFFER_SIZE numbers are read, then written together. That hides the latency of memory
 * where loads and stores cannot overlap, and loses updates of a word that is in the
 * buffer twice. Without a buffer, HF_INDEPENDENT promises the FPGA compilers that no word is
 * updated again while its last update is on the way. This is true of nearly all words: on FPGAs a
 * few updates may get lost, too, but none where loops are no pipelines.
 */
#include "hf_kernel.h"
#include "hf_numbered.h"
#include "randomaccess_sequence.h"

#ifndef HF_REPLICATIONS
#define HF_REPLICATIONS 1
#endif
#if HF_REPLICATIONS < 1 || HF_REPLICATIONS > HF_MAX_NUMBERED
#error "HF_REPLICATIONS, the kernels with a memory bank each, must be 1 to 4"
#endif
#ifndef HF_RNG_DISTANCE
#define HF_RNG_DISTANCE 5
#endif
#if HF_RNG_DISTANCE < 1
#error "HF_RNG_DISTANCE, the slots from one generator to the next, must be 1 or more"
#endif
#ifndef HF_BUFFER_SIZE_LOG
#define HF_BUFFER_SIZE_LOG 0
#endif
#if HF_BUFFER_SIZE_LOG < 0 || HF_BUFFER_SIZE_LOG > 10
#error "HF_BUFFER_SIZE_LOG, log2 of the updates done together, must be 0 to 10"
#endif
#define HF_SLOTS       ((HF_RNG_COUNT - 1) * HF_RNG_DISTANCE + 1)
#define HF_BUFFER_SIZE (1 << HF_BUFFER_SIZE_LOG)

/** Apply `steps` numbers of each generator to the `part` words from word `first` of a
 *  table of `words`. starts[i] is the first number of generator i. A slot holds a number
 *  that is to be applied, or 0, which is no number of the sequence. */
static inline void update(HF_GLOBAL ulong *HF_RESTRICT table,
                          HF_GLOBAL const ulong *HF_RESTRICT starts, ulong words,
                          ulong first, ulong part, ulong steps) {
    ulong number[HF_RNG_COUNT], left[HF_RNG_COUNT], slot[HF_SLOTS];
    const ulong numbers = steps * HF_RNG_COUNT;
    ulong over = 0; /* applied or passed over; docs/adr/0011: why not those left */
    for (uint r = 0; r < HF_RNG_COUNT; r++) {
        number[r] = starts[r];
        left[r] = steps;
    }
    for (uint s = 0; s < HF_SLOTS; s++)
        slot[s] = 0;

    HF_INDEPENDENT
    while (over < numbers) {
#if HF_BUFFER_SIZE > 1
        ulong ready[HF_BUFFER_SIZE], value[HF_BUFFER_SIZE];
        uint n = 0;
        while (over < numbers && n < HF_BUFFER_SIZE) {
#endif
            HF_PIPELINE
            HF_UNROLL(HF_SLOTS)
            for (uint s = 0; s + 1 < HF_SLOTS; s++)
                slot[s] = slot[s + 1];
            slot[HF_SLOTS - 1] = 0;
            uint done = 0;
            HF_UNROLL_SCALAR(HF_RNG_COUNT) /* a slot is read that was just written */
            for (uint r = 0; r < HF_RNG_COUNT; r++) {
                const uint at = r * HF_RNG_DISTANCE;
                const uint wanted = ((number[r] & (words - 1)) - first) < part;
                if (left[r] > 0 && !(wanted && slot[at])) {
                    slot[at] = wanted ? number[r] : slot[at];
                    done += !wanted;
                    number[r] = randomaccess_next(number[r]);
                    left[r]--;
                }
            }
            const ulong x = slot[0];
            over += done + (x != 0);
#if HF_BUFFER_SIZE > 1
            if (x) {
                ready[n] = x;
                n++;
            }
        }
        for (uint i = 0; i < n; i++) {
            HF_PIPELINE
            value[i] = table[(ready[i] & (words - 1)) - first];
        }
        HF_INDEPENDENT
        for (uint i = 0; i < n; i++) {
            HF_PIPELINE
            table[(ready[i] & (words - 1)) - first] = value[i] ^ ready[i];
        }
#else
        if (x)
            table[(x & (words - 1)) - first] ^= x;
#endif
    }
}

/* One kernel for each replication: they run side by side, each with its memory bank. */
#define RANDOMACCESS_UPDATE(replication)                                               \
    HF_KERNEL(randomaccess_update_##replication, HF_WRITE(ulong, table),               \
              HF_SHARED(ulong, starts), HF_VALUE(ulong, words),                        \
              HF_VALUE(ulong, first), HF_VALUE(ulong, part), HF_VALUE(ulong, steps)) { \
        update(table, starts, words, first, part, steps);                              \
    }

RANDOMACCESS_UPDATE(0)
#if HF_REPLICATIONS > 1
RANDOMACCESS_UPDATE(1)
#endif
#if HF_REPLICATIONS > 2
RANDOMACCESS_UPDATE(2)
#endif
#if HF_REPLICATIONS > 3
RANDOMACCESS_UPDATE(3)
#endif

HF_HOST_FILE(randomaccess_memory, HF_HOST_KERNEL(randomaccess_update_0))
