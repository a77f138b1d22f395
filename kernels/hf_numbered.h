/* hf_numbered.h - how many kernels numbers in their names tell apart; for the host, too. */
#ifndef HF_NUMBERED_H
#define HF_NUMBERED_H

#define HF_MAX_NUMBERED 4

#endif
