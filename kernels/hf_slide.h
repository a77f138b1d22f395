/* hf_slide.h - how far copies of a message slide from step to step.
 *
 * Steps that repeat a copy slide, so that each of them leaves bytes that no other one does.
 */
#ifndef HF_SLIDE_H
#define HF_SLIDE_H

/** Logarithm of the distance on a device [B]: copies stay aligned to a word of its memory. */
#define HF_SLIDE_LOG 6
#define HF_SLIDE     (1 << HF_SLIDE_LOG)

/** How many of `steps` steps have moved the byte that lies at `at` of chain `which`, 0 or 1. So
 *  many hops further back it lay at first, in this chain if they are even, else in the other one.
 *
 *  Step k reads the window of `message` bytes that begins 2 (k + 1) hops of 1 << hop_log bytes
 *  into chain k % 2 of a rank, and writes it a hop further into the other chain of another rank. So
 *  a byte moves on with each step until the windows have passed it: step `last` - 1 brought what
 *  is here, and those before it moved that, as far back as their windows had it. */
static inline unsigned long hf_slide_moves(unsigned long at, unsigned long message,
                                           unsigned long steps, unsigned hop_log,
                                           unsigned which) {
    const unsigned long hops = at >> hop_log, begun = hops ? (hops - 1) / 2 : 0,
                        end = begun < steps ? begun : steps,
                        last = end && end % 2 != which ? end - 1 : end,
                        left = at < message ? 0 : (at - message) >> hop_log,
                        behind = left ? left - 1 : 0,
                        most = 2 * last < behind ? 0 : 2 * last - behind;
    return most < last ? most : last;
}

#endif
