/* hf_slide.h - how far the window of a step lies behind that of the step before.
 *
 * Steps that repeat a copy slide, so that each of them leaves bytes that no other one does.
 * It is a word of every board's memory, so that copies stay aligned.
 */
#ifndef HF_SLIDE_H
#define HF_SLIDE_H

/** Distance of two windows [B]. */
#define HF_SLIDE 64

#endif
