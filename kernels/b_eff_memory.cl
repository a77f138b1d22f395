/* b_eff_memory.cl - b_eff for host-routed schemes: fill a chain, check a chain.
 *
 * Work-items take turns at words of HF_CHANNEL_WIDTH bytes; on an FPGA one word is
 * written or read per clock cycle.
 */
#include "b_eff_payload.h"
#include "hf_finding.h"
#include "hf_kernel.h"
#include "hf_slide.h"
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

/** The byte at `at` of chain `which` after `steps` steps, which go to one neighbour and back. `own`
 *  is the stamp of the same chain of this rank, `from` that of the neighbours' other chain that is
 *  sent to this one. Windows lie 1 << slide bytes apart, two hops. */
static inline uchar b_eff_right(ulong at, ulong message, ulong steps, uint slide,
                                uint which, uint key, ulong own, ulong from) {
    const ulong moves = hf_slide_moves(at, message, steps, slide - 1, which);
    return b_eff_payload((uint)(at - (moves << (slide - 1))), slide, key,
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
