/* b_eff_memory.cl - b_eff for host-routed schemes: fill a message, check a message.
 *
 * Work-items take turns at words of HF_CHANNEL_WIDTH bytes; on an FPGA one word is
 * written or read per clock cycle.
 */
#include "b_eff_payload.h"
#include "hf_kernel.h"
#include "hf_width.h"

/** Write `bytes` bytes of payload. */
HF_KERNEL b_eff_fill(HF_GLOBAL uchar *HF_RESTRICT message, ulong bytes, uint key,
                     ulong stamp) {
    const ulong words = bytes / HF_CHANNEL_WIDTH;
    for (ulong word = HF_ITEM; word < words; word += HF_ITEMS) {
        HF_PIPELINE
        const ulong at = word * HF_CHANNEL_WIDTH;
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            message[at + i] = b_eff_payload((uint)at + i, key, stamp);
    }
    for (ulong i = words * HF_CHANNEL_WIDTH + HF_ITEM; i < bytes; i += HF_ITEMS)
        message[i] = b_eff_payload((uint)i, key, stamp);
}
HF_HOST_CALL(b_eff_fill, HF_BUFFER(0), HF_VALUE(1, ulong), HF_VALUE(2, uint),
             HF_VALUE(3, ulong))

/** wrong[item] = number of bytes seen by this work-item that are not the payload. */
HF_KERNEL b_eff_check(HF_GLOBAL const uchar *HF_RESTRICT message, ulong bytes, uint key,
                      ulong stamp, HF_GLOBAL ulong *HF_RESTRICT wrong) {
    const ulong words = bytes / HF_CHANNEL_WIDTH;
    ulong count = 0;
    for (ulong word = HF_ITEM; word < words; word += HF_ITEMS) {
        HF_PIPELINE
        const ulong at = word * HF_CHANNEL_WIDTH;
        uchar differs[HF_CHANNEL_WIDTH];
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            differs[i] = message[at + i] != b_eff_payload((uint)at + i, key, stamp);
        uint n = 0;
        HF_UNROLL(HF_CHANNEL_WIDTH)
        for (uint i = 0; i < HF_CHANNEL_WIDTH; i++)
            n += differs[i];
        count += n;
    }
    for (ulong i = words * HF_CHANNEL_WIDTH + HF_ITEM; i < bytes; i += HF_ITEMS)
        count += message[i] != b_eff_payload((uint)i, key, stamp);
    wrong[HF_ITEM] = count;
}
HF_HOST_CALL(b_eff_check, HF_BUFFER(0), HF_VALUE(1, ulong), HF_VALUE(2, uint),
             HF_VALUE(3, ulong), HF_BUFFER(4))

HF_HOST_FILE(b_eff_memory, HF_HOST_KERNEL(b_eff_fill), HF_HOST_KERNEL(b_eff_check))
