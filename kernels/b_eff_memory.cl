/* b_eff_memory.cl - b_eff for host-routed schemes: fill a chain, check a chain.
 *
 * Work-items take turns at words of HF_CHANNEL_WIDTH bytes; on an FPGA one word is
 * written or read per clock cycle.
 */
#include "b_eff_payload.h"
#include "hf_finding.h"
#include "hf_kernel.h"
#include "hf_width.h"

/** Write `bytes` bytes of payload, whose windows begin 1 << slide bytes apart. */
HF_KERNEL(b_eff_fill, HF_WRITE(uchar, chain), HF_VALUE(ulong, bytes),
          HF_VALUE(uint, slide), HF_VALUE(uint, key), HF_VALUE(ulong, stamp)) {
    const ulong words = bytes / HF_CHANNEL_WIDTH;
    for (ulong word = HF_ITEM; word < words; word += HF_ITEMS) {
        HF_PIPELINE
        const ulong at = word * HF_CHANNEL_WIDTH;
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            chain[at + i] = b_eff_payload((uint)at + i, slide, key, stamp);
    }
    for (ulong i = words * HF_CHANNEL_WIDTH + HF_ITEM; i < bytes; i += HF_ITEMS)
        chain[i] = b_eff_payload((uint)i, slide, key, stamp);
}

/** The byte at `at` of chain `which` after `steps` steps. `own` is the stamp of the same chain
 *  of this rank, `from` that of the neighbours' other chain that is sent to this one.
 *
 *  Step k reads the window of `message` bytes that begins at (k + 1) << slide from chain k % 2
 *  and writes the neighbour's into the other chain, half the distance of two windows further. So a
 *  byte moves on with each step, to a neighbour or back, until the windows have passed it: step
 *  `last` - 1 is the one that brought what is here, and the ones before it moved that, too. */
static inline uchar b_eff_right(ulong at, ulong message, ulong steps, uint slide,
                                uint which, uint key, ulong own, ulong from) {
    const uint hop = slide - 1;
    const ulong begun = at >> hop ? ((at >> hop) - 1) >> 1 : 0;
    const ulong end = begun < steps ? begun : steps;
    const ulong last = end && ((end ^ which) & 1) ? end - 1 : end;
    const ulong left = at < message ? 0 : (at - message) >> hop;
    const ulong behind = left ? left - 1 : 0;
    const ulong most = 2 * last < behind ? 0 : 2 * last - behind;
    const ulong moves = (last ^ which) & 1 ? 0 : most < last ? most : last;
    return b_eff_payload((uint)(at - (moves << hop)), slide, key,
                         moves & 1 ? from : own);
}

/** Count the bytes of chain `which` that are not what `steps` steps leave there. */
HF_KERNEL(b_eff_check, HF_READ(uchar, chain), HF_VALUE(ulong, bytes),
          HF_VALUE(ulong, message), HF_VALUE(ulong, steps), HF_VALUE(uint, slide),
          HF_VALUE(uint, which), HF_VALUE(uint, key), HF_VALUE(ulong, own),
          HF_VALUE(ulong, from), HF_WRITE(hf_finding, findings), HF_VALUE(uint, seal)) {
    const ulong words = bytes / HF_CHANNEL_WIDTH;
    ulong wrong = 0, seen = 0;
    for (ulong word = HF_ITEM; word < words; word += HF_ITEMS) {
        HF_PIPELINE
        const ulong at = word * HF_CHANNEL_WIDTH;
        uchar differs[HF_CHANNEL_WIDTH];
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            differs[i] = chain[at + i] != b_eff_right(at + i, message, steps, slide,
                                                      which, key, own, from);
        uint n = 0;
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            n += differs[i];
        wrong += n;
        seen += HF_CHANNEL_WIDTH;
    }
    for (ulong i = words * HF_CHANNEL_WIDTH + HF_ITEM; i < bytes; i += HF_ITEMS) {
        wrong +=
            chain[i] != b_eff_right(i, message, steps, slide, which, key, own, from);
        seen++;
    }
    const uint bits = wrong < 0xFFFFFFFF ? (uint)wrong : 0xFFFFFFFF;
    findings[HF_ITEM] = hf_finding_make(bits, seen, seal);
}

HF_HOST_FILE(b_eff_memory, HF_HOST_KERNEL(b_eff_fill), HF_HOST_KERNEL(b_eff_check))
