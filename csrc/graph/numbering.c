/* numbering.c - which rank owns which vertex, and under which number. */
#include "numbering.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* A partition gives all vertices an order and each place in it an owner. */
typedef hf_status (*dealer)(uint32_t *order, uint32_t *owners, uint32_t vertices,
                            uint32_t size, const uint32_t *in, const uint32_t *ends);

static hf_status deal_cyclic(uint32_t *order, uint32_t *owners, uint32_t vertices,
                             uint32_t size, const uint32_t *in, const uint32_t *ends) {
    (void)in, (void)ends;
    for (uint32_t i = 0; i < vertices; i++) {
        order[i] = i;
        owners[i] = i % size;
    }
    return HF_OK;
}

/* By falling degree; of the same degree, in the order of the input. */
static hf_status deal_sorted(uint32_t *order, uint32_t *owners, uint32_t vertices,
                             uint32_t size, const uint32_t *in, const uint32_t *ends) {
    (void)in;
    enum { DIGIT = 1 << 11, PASSES = 3 };
    uint32_t *other = malloc((vertices + (size_t)1) * sizeof *other), *from = other,
             *to = order;
    if (!other)
        return hf_fail(HF_ENOMEM, "no memory to sort %u vertices", vertices);
    for (uint32_t i = 0; i < vertices; i++)
        from[i] = i;
    for (unsigned pass = 0, shift = 0; pass < PASSES; pass++, shift += 11) {
        uint32_t counts[DIGIT + 1] = {0};
        for (uint32_t i = 0; i < vertices; i++)
            counts[(~ends[i] >> shift) % DIGIT + 1]++;
        for (unsigned d = 0; d < DIGIT; d++)
            counts[d + 1] += counts[d];
        for (uint32_t i = 0; i < vertices; i++)
            to[counts[(~ends[from[i]] >> shift) % DIGIT]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    } /* an odd number of passes: the last one wrote `order` */
    free(other);
    for (uint32_t i = 0; i < vertices; i++)
        owners[i] = i % size;
    return HF_OK;
}

/* Ranges, each ended by the vertex with which it has its share. A vertex counts as one
 * edge more, so that many without edges are shared out, too. */
static hf_status deal_edges(uint32_t *order, uint32_t *owners, uint32_t vertices,
                            uint32_t size, const uint32_t *in, const uint32_t *ends) {
    (void)ends;
    uint64_t all = vertices, before = 0;
    for (uint32_t i = 0; i < vertices; i++)
        all += in[i];
    for (uint32_t i = 0; i < vertices; i++) {
        uint64_t middle = before + ((uint64_t)in[i] + 1) / 2;
        order[i] = i;
        owners[i] = (uint32_t)((double)middle / (double)all * size);
        owners[i] = owners[i] < size ? owners[i] : size - 1;
        before += (uint64_t)in[i] + 1;
    }
    return HF_OK;
}

static const struct {
    const char *name;
    dealer deal;
} known[] = {{"cyclic", deal_cyclic}, {"sorted", deal_sorted}, {"edges", deal_edges}};

static dealer dealer_find(const char *name) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].deal;
    return NULL;
}

/* First numbers from the vertices of each rank. */
static hf_status starts_set(numbering *n, uint32_t size) {
    uint64_t at = 0;
    for (uint32_t r = 0; r < size; r++) {
        n->starts[r] = (uint32_t)at;
        at += ((uint64_t)n->owns[r] + HF_VERTEX_GRAIN - 1) / HF_VERTEX_GRAIN *
              HF_VERTEX_GRAIN;
        if (at >= HF_NO_VERTEX)
            return hf_fail(HF_EARG,
                           "%llu vertices, rounded up on each of %u ranks, are more "
                           "than %u",
                           (unsigned long long)at, size, HF_NO_VERTEX - 1);
    }
    n->starts[size] = (uint32_t)at;
    return HF_OK;
}

static hf_status numbers_set(numbering *n, uint32_t vertices, uint32_t size,
                             const uint32_t *order, const uint32_t *owners) {
    for (uint32_t i = 0; i < vertices; i++)
        n->owns[owners[i]]++;
    HF_TRY(starts_set(n, size));
    n->names = malloc((n->starts[size] + (size_t)1) * sizeof *n->names);
    uint32_t *next = malloc(size * sizeof *next);
    if (n->names && next) {
        memset(n->names, 0xFF, n->starts[size] * sizeof *n->names);
        memcpy(next, n->starts, size * sizeof *next);
        for (uint32_t i = 0; i < vertices; i++) {
            uint32_t number = next[owners[i]]++;
            n->names[number] = order[i];
            n->numbers[order[i]] = number;
        }
    }
    free(next);
    return n->names && next ? HF_OK
                            : hf_fail(HF_ENOMEM, "no memory for %u names", vertices);
}

hf_status numbering_make(numbering *out, const char *partition, uint32_t vertices,
                         int size, const uint32_t *in, const uint32_t *ends) {
    dealer deal = dealer_find(partition);
    if (!deal)
        return hf_fail(HF_EARG, "partition: \"%s\"; known: cyclic, sorted, edges",
                       partition);
    size_t bytes = (vertices + (size_t)1) * sizeof(uint32_t);
    uint32_t *order = malloc(bytes), *owners = malloc(bytes);
    *out = (numbering){.starts = calloc((size_t)size + 1, sizeof *out->starts),
                       .owns = calloc((size_t)size, sizeof *out->owns),
                       .numbers = malloc(bytes)};
    bool made = order && owners && out->starts && out->owns && out->numbers;
    hf_status status =
        made ? deal(order, owners, vertices, (uint32_t)size, in, ends)
             : hf_fail(HF_ENOMEM, "no memory to deal out %u vertices", vertices);
    if (made && status == HF_OK)
        status = numbers_set(out, vertices, (uint32_t)size, order, owners);
    free(order);
    free(owners);
    return status;
}

void numbering_free(numbering *n) {
    free(n->starts);
    free(n->owns);
    free(n->names);
    free(n->numbers);
}
