/* graph_fill.c - a buffer is filled to its end: what a run before has left is no result. */
#include <string.h>

#include "bench/graph_engine.h"
#include "check.h"
#include "core/error.h"

extern const hf_device_ops hf_device_host;

enum { LEFT = 0x77 /* what was there before */ };

/* Each byte before `begin` is as it was, each from there on that of the words, in turn. */
static bool is_filled(const hf_buffer *buffer, size_t begin, const char *words,
                      size_t bytes) {
    const char *found = buffer->host;
    for (size_t i = 0; i < buffer->bytes; i++)
        if (found[i] != (i < begin ? LEFT : words[(i - begin) % bytes]))
            return false;
    return true;
}

int main(void) {
    static uint64_t words[GRAPH_FILL_WORDS];
    const size_t begins[] = {0, 4, 4096 + 12}, sizes[] = {8, sizeof words, 31, 32};
    graph_state s = {.fill = words};
    OK(hf_device_host.open(&s.env.device, "", 0, NULL));
    for (size_t i = 0; i < GRAPH_FILL_WORDS; i++)
        words[i] = i * 0x9E3779B97F4A7C15u + 1;
    for (size_t more = 0; more < 4; more++)
        for (size_t k = 0; k < sizeof begins / sizeof *begins; k++) {
            hf_buffer *buffer;
            size_t bytes = begins[k] + more * sizeof words + sizes[more];
            OK(hf_device_host.alloc(&buffer, s.env.device, bytes, NULL));
            memset(buffer->host, LEFT, bytes);
            OK(graph_fill(&s, buffer, begins[k]));
            CHECK(is_filled(buffer, begins[k], (const char *)words, sizeof words),
                  "%zu B from %zu on", bytes, begins[k]);
            hf_device_host.free(buffer);
        }
    hf_device_host.close(s.env.device);
    return check_failures > 0;
}
