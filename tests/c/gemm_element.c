/* gemm_element.c - one wrong element of a product in half is seen, though it is a small one. */
#include <math.h>
#include <stdlib.h>

#include "core/element.h"
#include "runs.h"

enum { N = 512, ROW = 300 };

/* An element that rounding explains up to 0.26, four of its bounds. */
static const double SMALL = 0.3, LARGE = 1.5;

/* The device's table with a product that is harmed before it is looked at. */
static hf_status (*device_map)(hf_device *, hf_buffer *, void **);
static void (*harm)(const hf_element *type, uint16_t *element);

static hf_status map(hf_device *device, hf_buffer *buffer, void **address) {
    hf_status status = device_map(device, buffer, address);
    const hf_element half = {"half", 2, 4, 11, 24, 16};
    uint16_t *row = status == HF_OK ? (uint16_t *)*address + ROW * N : NULL;
    for (size_t j = 0; row && harm && j < N; j++) {
        double is;
        hf_elements_read(&half, &is, row + j, 1);
        if (fabs(is) < SMALL || fabs(is) > LARGE)
            continue;
        harm(&half, row + j);
        break;
    }
    return status;
}

/* As if it had not been written. */
static void element_clear(const hf_element *type, uint16_t *element) {
    hf_element_write(type, element, 0);
}

static void element_shift(const hf_element *type, uint16_t *element) {
    double is;
    hf_elements_read(type, &is, element, 1);
    hf_element_write(type, element, is + copysign(SMALL, -is));
}

static void element_spoil(const hf_element *type, uint16_t *element) {
    (void)type;
    *element = 0x7E00; /* NaN */
}

static bool verified(hf_session *session) {
    static const char *const params[] = {"reps", "1",         "warmup", "1", "sizes",
                                         "512",  "data_type", "half",   NULL};
    return run_verified(session, "gemm", "gemm_memory_half", params);
}

int main(void) {
    hf_session *session;
    CHECK(hf_session_open(&session, &(hf_options){.device = "host"}) == HF_OK);
    hf_device_ops ops = *session->device->ops;
    device_map = ops.map;
    ops.map = map;
    session->device->ops = &ops;
    CHECK(verified(session));
    harm = element_clear;
    CHECK(!verified(session));
    harm = element_shift;
    CHECK(!verified(session));
    harm = element_spoil;
    CHECK(!verified(session));
    hf_session_close(session);
    return check_failures != 0;
}
