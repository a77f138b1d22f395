/* hf_slide.h - how far copies of a message slide from step to step.
 *
 * Steps that repeat a copy slide, so that each of them leaves bytes that no other one does.
 */
#ifndef HF_SLIDE_H
#define HF_SLIDE_H

/** Logarithm of the distance on a device [B]: copies stay aligned to a word of its memory. */
#define HF_SLIDE_LOG 6
#define HF_SLIDE     (1 << HF_SLIDE_LOG)

#endif
