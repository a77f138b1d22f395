/* hf_slide.h - how far copies of a message slide from step to step.
 *
 * Steps that repeat a copy slide, so that each of them leaves bytes that no other one does.
 */
#ifndef HF_SLIDE_H
#define HF_SLIDE_H

/** Logarithm of the distance on a device [B]: copies stay aligned to a word of its memory. */
#define HF_SLIDE_LOG 6
#define HF_SLIDE     (1 << HF_SLIDE_LOG)

/** Where the window of step `step` begins in chain `step` % 2 of a rank [B]. The step writes it a
 *  hop further into the other chain, 1, of another rank: so a byte moves on by a hop with each
 *  step until the windows, two hops apart, have passed it. */
static inline unsigned long hf_slide_from(unsigned long step, unsigned hop_log) {
    return (step + 1) << (hop_log + 1);
}

/** Length of such a chain behind `message` bytes, for `steps` steps [B]. */
static inline unsigned long hf_slide_room(unsigned long steps, unsigned hop_log) {
    return (2 * steps + 1) << hop_log;
}

/** Number of `steps` steps that moved the byte that lies at `at` of chain `which`, 0 or 1. At
 *  first it lay as many hops lower, in this chain if the number is even, else in the other. Step
 *  `last` - 1 wrote it last. Earlier steps moved it, too, back to the first whose window had it. */
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
