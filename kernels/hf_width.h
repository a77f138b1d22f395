/* hf_width.h - HF_CHANNEL_WIDTH, what a channel or a memory port takes per cycle [B]. */
#ifndef HF_WIDTH_H
#define HF_WIDTH_H

#ifndef HF_CHANNEL_WIDTH
#define HF_CHANNEL_WIDTH 32
#endif
#if HF_CHANNEL_WIDTH < 8
#error "HF_CHANNEL_WIDTH, the bytes per clock cycle, must be at least 8"
#endif
#if (HF_CHANNEL_WIDTH & (HF_CHANNEL_WIDTH - 1)) != 0
#error "HF_CHANNEL_WIDTH, the bytes per clock cycle, must be a power of two"
#endif

#endif
