/* numbering.c - which rank owns which vertex, and under which number. */
#include "numbering.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"
#include "graph_text.h"

enum { SHOWN = 24 }; /* letters of a line that is wrong, and a zero */

/* What a partition knows. */
typedef struct deal {
    const char *name;
    uint32_t size;
    const vertex_edges *edges;
} deal;

/* It gives all vertices an order and each place in it an owner. */
typedef hf_status (*dealer)(const deal *d, uint32_t *order, uint32_t *owners);

static void order_keep(const deal *d, uint32_t *order) {
    for (uint32_t i = 0; i < d->edges->vertices; i++)
        order[i] = i;
}

static void owners_in_turn(const deal *d, uint32_t *owners) {
    for (uint32_t i = 0; i < d->edges->vertices; i++)
        owners[i] = i % d->size;
}

static hf_status deal_cyclic(const deal *d, uint32_t *order, uint32_t *owners) {
    order_keep(d, order);
    owners_in_turn(d, owners);
    return HF_OK;
}

/* By falling degree; of the same degree, in the order of the input. */
static hf_status deal_sorted(const deal *d, uint32_t *order, uint32_t *owners) {
    enum { DIGIT = 1 << 11, PASSES = 3 };
    uint32_t *other = malloc((d->edges->vertices + (size_t)1) * sizeof *other);
    uint32_t *from = other, *to = order;
    if (!other)
        return hf_fail(HF_ENOMEM, "no memory to sort %u vertices", d->edges->vertices);
    order_keep(d, from);
    for (unsigned pass = 0, shift = 0; pass < PASSES; pass++, shift += 11) {
        uint32_t counts[DIGIT + 1] = {0};
        for (uint32_t i = 0; i < d->edges->vertices; i++)
            counts[(~d->edges->ends[i] >> shift) % DIGIT + 1]++;
        for (unsigned digit = 0; digit < DIGIT; digit++)
            counts[digit + 1] += counts[digit];
        for (uint32_t i = 0; i < d->edges->vertices; i++)
            to[counts[(~d->edges->ends[from[i]] >> shift) % DIGIT]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    } /* an odd number of passes: the last one wrote `order` */
    free(other);
    owners_in_turn(d, owners);
    return HF_OK;
}

/* Ranges of vertices with equal shares of in-edges. A vertex counts as one edge more, so that
 * vertices without edges are shared out, too. */
static hf_status deal_edges(const deal *d, uint32_t *order, uint32_t *owners) {
    uint64_t all = d->edges->vertices, before = 0;
    for (uint32_t i = 0; i < d->edges->vertices; i++)
        all += d->edges->in[i];
    order_keep(d, order);
    for (uint32_t i = 0; i < d->edges->vertices; i++) {
        uint64_t middle = before + ((uint64_t)d->edges->in[i] + 1) / 2;
        owners[i] = (uint32_t)((double)middle / (double)all * d->size);
        owners[i] = owners[i] < d->size ? owners[i] : d->size - 1;
        before += (uint64_t)d->edges->in[i] + 1;
    }
    return HF_OK;
}

/* Ranks in the whole lines of `text`, from vertex `*v` on; what is left of it. */
static hf_status lines_deal(const deal *d, const char **text, const char *end,
                            uint32_t *v, uint32_t *owners) {
    char shown[SHOWN];
    uint64_t rank;
    for (const char *line = *text; line < end; line = *text, (*v)++) {
        const char *after = digits_read(blanks_skip(line), &rank);
        if (!after || *blanks_skip(after) != '\n' || rank >= d->size) {
            hf_text_copy(shown, sizeof shown, line, (size_t)(line_end(line) - line));
            return hf_fail(HF_EARG,
                           "partition %s: line %u: \"%s\" is none of the ranks 0 to %u",
                           d->name, *v + 1, shown, d->size - 1);
        }
        if (*v == d->edges->vertices)
            return hf_fail(HF_EARG, "partition %s has more than %u lines", d->name, *v);
        owners[*v] = (uint32_t)rank;
        *text = line_end(after) + 1;
    }
    return HF_OK;
}

/* A rank in each line, one line for each vertex. */
static hf_status owners_read(const deal *d, const graph_file *file, uint32_t *owners) {
    enum { WINDOW = 1 << 16 };
    char window[WINDOW + 1];
    uint32_t v = 0;
    for (uint64_t at = 0; at < file->bytes;) {
        uint64_t left = file->bytes - at;
        size_t n = left < WINDOW ? (size_t)left : WINDOW;
        HF_TRY(graph_file_read(file, window, at, n));
        size_t whole = n; /* lines; the last one of the file may have no end */
        while (n < left && whole > 0 && window[whole - 1] != '\n')
            whole--;
        if (whole == 0)
            return hf_fail(HF_EARG, "partition %s: line %u is no number", d->name,
                           v + 1);
        window[n] = '\n';
        const char *text = window;
        HF_TRY(lines_deal(d, &text, window + whole, &v, owners));
        at += whole;
    }
    return v == d->edges->vertices
               ? HF_OK
               : hf_fail(HF_EARG, "partition %s has %u lines, the graph %u vertices",
                         d->name, v, d->edges->vertices);
}

static hf_status deal_file(const deal *d, uint32_t *order, uint32_t *owners) {
    graph_file file;
    if (access(d->name, F_OK) != 0)
        return hf_fail(
            HF_EARG,
            "partition: \"%s\" is no file and none of cyclic, sorted, edges, metis",
            d->name);
    HF_TRY(graph_file_open(&file, "partition", d->name));
    order_keep(d, order);
    hf_status status = owners_read(d, &file, owners);
    graph_file_close(&file);
    return status;
}

static const struct {
    const char *name;
    dealer deal;
} known[] = {{"cyclic", deal_cyclic}, {"sorted", deal_sorted}, {"edges", deal_edges}};

static dealer dealer_find(const char *name) {
    if (!name)
        return deal_cyclic;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].deal;
    return deal_file;
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

/* Does anybody hear vertex `v`? Of all such vertices of a rank the updates lie together, so that
 * messages and caches hold no others. */
static bool is_heard(const deal *d, uint32_t v) {
    return !d->name || d->edges->out[v] > 0;
}

/* On each rank those who are heard come first, else all keep their order. */
static hf_status numbers_set(numbering *n, const deal *d, const uint32_t *order,
                             const uint32_t *owners) {
    for (uint32_t i = 0; i < d->edges->vertices; i++) {
        n->owns[owners[i]]++;
        n->heard[owners[i]] += is_heard(d, order[i]);
    }
    HF_TRY(starts_set(n, d->size));
    n->names = malloc((n->starts[d->size] + (size_t)1) * sizeof *n->names);
    uint32_t(*next)[2] = malloc(d->size * sizeof *next);
    if (n->names && next) {
        memset(n->names, 0xFF, n->starts[d->size] * sizeof *n->names);
        for (uint32_t r = 0; r < d->size; r++) {
            next[r][true] = n->starts[r];
            next[r][false] = n->starts[r] + n->heard[r];
        }
        for (uint32_t i = 0; i < d->edges->vertices; i++) {
            uint32_t number = next[owners[i]][is_heard(d, order[i])]++;
            n->names[number] = order[i];
            n->numbers[order[i]] = number;
        }
    }
    free(next);
    return n->names && next
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for %u names", d->edges->vertices);
}

hf_status numbering_make(numbering *out, const char *partition, int size,
                         const vertex_edges *edges) {
    deal d = {partition, (uint32_t)size, edges};
    size_t bytes = (edges->vertices + (size_t)1) * sizeof(uint32_t);
    uint32_t *order = malloc(bytes), *owners = malloc(bytes);
    *out = (numbering){.starts = calloc((size_t)size + 1, sizeof *out->starts),
                       .owns = calloc((size_t)size, sizeof *out->owns),
                       .heard = calloc((size_t)size, sizeof *out->heard),
                       .numbers = malloc(bytes)};
    bool made =
        order && owners && out->starts && out->owns && out->heard && out->numbers;
    hf_status status =
        made ? dealer_find(partition)(&d, order, owners)
             : hf_fail(HF_ENOMEM, "no memory to deal out %u vertices", edges->vertices);
    if (made && status == HF_OK)
        status = numbers_set(out, &d, order, owners);
    free(order);
    free(owners);
    return status;
}

void numbering_free(numbering *n) {
    free(n->starts);
    free(n->owns);
    free(n->heard);
    free(n->names);
    free(n->numbers);
}
