/* b_eff_memory.cl - b_eff for host-routed schemes: fill a chain, check a chain.
 *
 * Work-items take turns at words of HF_CHANNEL_WIDTH bytes; on an FPGA one word is
 * written or read per clock cycle.
 */
#include "b_eff_payload.h"
#include "hf_finding.h"
#include "hf_kernel.h"
#include "hf_width.h"

/** Write `bytes` bytes of payload. */
HF_KERNEL b_eff_fill(HF_GLOBAL uchar *HF_RESTRICT chain, ulong bytes, uint key,
                     ulong stamp) {
    const ulong words = bytes / HF_CHANNEL_WIDTH;
    for (ulong word = HF_ITEM; word < words; word += HF_ITEMS) {
        HF_PIPELINE
        const ulong at = word * HF_CHANNEL_WIDTH;
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            chain[at + i] = b_eff_payload((uint)at + i, key, stamp);
    }
    for (ulong i = words * HF_CHANNEL_WIDTH + HF_ITEM; i < bytes; i += HF_ITEMS)
        chain[i] = b_eff_payload((uint)i, key, stamp);
}
HF_HOST_CALL(b_eff_fill, HF_BUFFER(0), HF_VALUE(1, ulong), HF_VALUE(2, uint),
             HF_VALUE(3, ulong))

/** Stamp of the byte at `at` of chain `which` after `steps` steps: own[q] of bytes that began
 *  in chain q of this rank, from[q] of those that began in chain q of a neighbour.
 *
 *  Step k reads the window of `message` bytes that begins at (k + 1) HF_SLIDE from chain k % 2
 *  and writes the neighbour's into the other chain. So a byte keeps its position: step `first`
 *  is the first one that moves it, step `end` - 1 the last one, and each step brings it to the
 *  other chain, to a neighbour or back. */
static inline ulong b_eff_stamp_at(ulong at, ulong message, ulong steps, uint which,
                                   ulong own_0, ulong own_1, ulong from_0,
                                   ulong from_1) {
    const ulong first = at < message + HF_SLIDE ? 0 : (at - message) / HF_SLIDE;
    const ulong begun = at / HF_SLIDE, end = begun < steps ? begun : steps;
    const ulong moves = end <= first ? 0 : end - ((end ^ which) & 1) - first;
    const uint chain = moves ? (uint)first & 1 : which;
    const ulong own = chain ? own_1 : own_0, from = chain ? from_1 : from_0;
    return moves & 1 ? from : own;
}

/** Count the bytes of chain `which` that are not what `steps` steps leave there. */
HF_KERNEL b_eff_check(HF_GLOBAL const uchar *HF_RESTRICT chain, ulong bytes,
                      ulong message, ulong steps, uint which, uint key, ulong own_0,
                      ulong own_1, ulong from_0, ulong from_1,
                      HF_GLOBAL hf_finding *HF_RESTRICT findings, uint seal) {
    const ulong words = bytes / HF_CHANNEL_WIDTH;
    ulong wrong = 0, seen = 0;
    for (ulong word = HF_ITEM; word < words; word += HF_ITEMS) {
        HF_PIPELINE
        const ulong at = word * HF_CHANNEL_WIDTH;
        uchar differs[HF_CHANNEL_WIDTH];
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            differs[i] = chain[at + i] !=
                         b_eff_payload((uint)at + i, key,
                                       b_eff_stamp_at(at + i, message, steps, which,
                                                      own_0, own_1, from_0, from_1));
        uint n = 0;
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            n += differs[i];
        wrong += n;
        seen += HF_CHANNEL_WIDTH;
    }
    for (ulong i = words * HF_CHANNEL_WIDTH + HF_ITEM; i < bytes; i += HF_ITEMS) {
        wrong +=
            chain[i] != b_eff_payload((uint)i, key,
                                      b_eff_stamp_at(i, message, steps, which, own_0,
                                                     own_1, from_0, from_1));
        seen++;
    }
    const uint bits = wrong < 0xFFFFFFFF ? (uint)wrong : 0xFFFFFFFF;
    findings[HF_ITEM] = hf_finding_make(bits, seen, seal);
}
HF_HOST_CALL(b_eff_check, HF_BUFFER(0), HF_VALUE(1, ulong), HF_VALUE(2, ulong),
             HF_VALUE(3, ulong), HF_VALUE(4, uint), HF_VALUE(5, uint),
             HF_VALUE(6, ulong), HF_VALUE(7, ulong), HF_VALUE(8, ulong),
             HF_VALUE(9, ulong), HF_BUFFER(10), HF_VALUE(11, uint))

HF_HOST_FILE(b_eff_memory, HF_HOST_KERNEL(b_eff_fill), HF_HOST_KERNEL(b_eff_check))
