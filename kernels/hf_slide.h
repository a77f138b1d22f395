/* hf_slide.h - how far the window of a step lies behind that of the step before.
 *
 * Steps that repeat a copy slide, so that each of them leaves bytes that no other one does.
 */
#ifndef HF_SLIDE_H
#define HF_SLIDE_H

/** Logarithm of the distance on a device [B]: copies stay aligned to a word of its memory. */
#define HF_SLIDE_LOG 6
#define HF_SLIDE     (1 << HF_SLIDE_LOG)

#endif
