/* xrt_card.h - a card of the stand-in for XRT, its kernels, and buffers that tests look at. */
#ifndef HF_XRT_CARD_H
#define HF_XRT_CARD_H

#include <stdint.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "device.h"

extern const hf_device_ops hf_device_xrt;
static const hf_device_ops *const ops = &hf_device_xrt;

/** While it is 0, the kernel `gate` does not end. */
__attribute__((visibility("default"))) extern volatile int gate_is_open;

enum { WORDS = 1024, BYTES = WORDS * sizeof(uint32_t), PASSED = 1, VALUE = 7 };

extern hf_device *device;
extern hf_kernel *gate, *echo[3]; /**< of unit 1, of unit 2, of any */
extern hf_buffer *words;
extern unsigned char *binary;
extern size_t binary_bytes;

/** What `echo` takes and hands out. */
typedef struct values {
    float single;
    double twice;
    uint32_t number;
    uint64_t large;
} values;

void binary_take(const char *path);
void device_open(void);
void device_close(void);
void said(hf_status status, hf_status wanted, const char *text);
void words_write(uint32_t value);
uint32_t word_read(size_t i, const hf_order *order);
hf_status gate_launch(uint32_t value, const hf_order *order, hf_event **done);
hf_status echo_launch(hf_kernel *kernel, hf_buffer *buffer, const values *v,
                      const hf_order *order, hf_event **done);
bool has_ended(hf_event *event, double seconds);

/** A thread that opens the gate after 50 ms. */
void *gate_open_later(void *unused);

/* ---- xrt_late.c ---- */

void deadline_test(void);
void late_test(void);
void given_up_test(void);
void copies_test(bool has_signal);

#endif
