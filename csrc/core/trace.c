/* trace.c - spans of samples: where they are kept, on which clock, told to all ranks. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/trace_state.h"

enum { ROUNDS = 12 }; /* messages of a comparison */

static const double slack = 1e-6; /* what timers of devices are rounded to [s] */

/* ---- a session ---- */

hf_status hf_trace_open(hf_trace **out, hf_device *device, hf_transport *net,
                        size_t room) {
    hf_trace *t = calloc(1, sizeof *t);
    hf_status status = t ? HF_OK : hf_fail(HF_ENOMEM, "no memory for a trace");
    if (t) {
        *t = (hf_trace){.device = device, .net = net, .room = room};
        status = device->ops->profile(device);
    }
    status = hf_agree(net, status);
    assert(status != HF_OK || t);
    if (status != HF_OK) {
        free(t);
        return status;
    }
    hf_trace_wrap_device(t);
    hf_trace_wrap_net(t);
    *out = t;
    return HF_OK;
}

void hf_trace_close(hf_trace *t) {
    if (!t)
        return;
    t->device->ops = t->device_own;
    t->net->ops = t->net_own;
    free(t);
}

/* ---- a run ---- */

static hf_span *spans_new(size_t room) {
    hf_span *spans = malloc(room * sizeof *spans);
    if (spans)
        memset(spans, 1, room * sizeof *spans); /* no page is new in a timed part */
    return spans;
}

hf_status hf_trace_start(hf_trace *t, size_t n_points) {
    if (!t)
        return HF_OK;
    t->n_points = n_points;
    t->facts = (hf_trace_facts){0};
    t->now.spans = spans_new(t->room);
    t->kept.spans = spans_new(t->room);
    t->clocks = calloc(n_points + 1, sizeof *t->clocks);
    if (!t->now.spans || !t->kept.spans || !t->clocks)
        return hf_fail(HF_ENOMEM, "no memory for a trace of %zu spans", t->room);
    return HF_OK;
}

void hf_trace_stop(hf_trace *t) {
    if (!t)
        return;
    t->armed = false;
    hf_trace_forget(t);
    free(t->now.spans);
    free(t->kept.spans);
    free(t->clocks);
    free(t->rows);
    t->now = t->kept = (hf_take){0};
    t->clocks = NULL;
    t->rows = NULL;
    t->n_rows = t->rows_room = t->n_pending = 0;
}

/* ---- clocks of ranks ---- */

/* Messages cross; each tells when it left, and when the one before came in. */
static hf_status pair_compare(hf_trace *t, int other, hf_offset *offset) {
    struct {
        double sent, came;
    } mine = {0}, theirs;
    double last = 0;
    *offset = hf_offset_any();
    for (int round = 0; round <= ROUNDS; round++) {
        mine.sent = hf_clock_now();
        HF_TRY(t->net_own->sendrecv(t->net, &mine, other, &theirs, other, sizeof mine));
        double now = hf_clock_now();
        hf_offset_narrow(offset, -INFINITY, 0, theirs.sent, now);
        if (round > 0)
            hf_offset_narrow(offset, last, theirs.came, 0, INFINITY);
        last = mine.sent;
        mine.came = now;
    }
    return HF_OK;
}

/* Ranks on the node of rank 0 have its clock. */
static hf_status ranks_compare(hf_trace *t, size_t index) {
    int rank = t->net->rank;
    hf_offset offset = {0, 0}, ours = {0, 0};
    for (int other = 1; other < t->net->size; other++) {
        if (t->net->nodes[other] == 0 || (rank != 0 && rank != other))
            continue;
        HF_TRY(pair_compare(t, rank ? 0 : other, &ours));
        if (rank > 0)
            offset = (hf_offset){-ours.high, -ours.low};
    }
    t->clocks[index] = (hf_moment){hf_clock_now(), offset};
    t->facts.rank_error = fmax(t->facts.rank_error, hf_offset_error(&offset));
    return HF_OK;
}

hf_status hf_trace_clocks(hf_trace *t, size_t index) {
    if (!t)
        return HF_OK;
    hf_status status = ranks_compare(t, index);
    if (status != HF_OK)
        t->net_own->alarm(t->net);
    return hf_agree(t->net, status);
}

/* ---- a sample ---- */

hf_status hf_trace_ready(hf_trace *t) {
    return t ? hf_trace_probe(t, &t->now.before) : HF_OK;
}

hf_status hf_trace_settle(hf_trace *t) {
    return t ? hf_trace_probe(t, &t->now.after) : HF_OK;
}

void hf_trace_begin(hf_trace *t) {
    if (!t)
        return;
    t->now.n = t->now.lost = t->n_pending = 0;
    t->armed = true;
}

hf_span *hf_trace_span(hf_trace *t, int kind, int queue) {
    if (t->now.n == t->room) {
        t->now.lost++;
        return NULL;
    }
    hf_span *span = &t->now.spans[t->now.n++];
    *span = (hf_span){.kind = kind, .queue = queue, .label = ""};
    return span;
}

hf_span *hf_trace_host(hf_trace *t, int kind, double start, const char *label) {
    if (!t->armed)
        return NULL;
    double end = hf_clock_now();
    hf_span *span = hf_trace_span(t, kind, HF_TRACE_HOST);
    if (span) {
        span->start = start;
        span->end = end;
        span->label = label;
    }
    return span;
}

void hf_trace_pend(hf_trace *t, hf_span *span, const void *what) {
    span->clock = HF_BY_NOBODY;
    if (t->n_pending == HF_TRACE_PENDING)
        return;
    t->pending[t->n_pending].what = what;
    t->pending[t->n_pending].ended = false;
    t->pending[t->n_pending++].span = span;
}

hf_span *hf_trace_take(hf_trace *t, const void *what) {
    for (size_t i = 0; i < t->n_pending; i++)
        if (t->pending[i].what == what) {
            hf_span *span = t->pending[i].span;
            if (!t->pending[i].ended)
                span->end = hf_clock_now();
            t->pending[i] = t->pending[--t->n_pending];
            return span;
        }
    return NULL;
}

void hf_trace_end(hf_trace *t, double start, double end) {
    if (!t)
        return;
    t->armed = false;
    t->now.start = start;
    t->now.end = end;
}

void hf_trace_keep(hf_trace *t) {
    if (!t)
        return;
    hf_take kept = t->now;
    t->now = t->kept;
    t->kept = kept;
}

/* ---- a point ---- */

static hf_offset offset_at(const hf_moment *before, const hf_moment *after, double at) {
    return hf_offset_at(at, before->at, before->offset, after->at, after->offset);
}

static double take_error(const hf_take *take) {
    hf_offset first = offset_at(&take->before, &take->after, take->before.at),
              last = offset_at(&take->before, &take->after, take->after.at);
    return fmax(hf_offset_error(&first), hf_offset_error(&last));
}

/* What was seen of each command narrows the bounds further: so none begins before its call
 * or ends after its end was seen. One that would leave no offset at all is left out. */
static void take_narrow(const hf_trace *t, hf_take *take) {
    hf_offset both = hf_offset_both(take->before.offset, take->after.offset);
    if (both.low > both.high)
        return; /* one clock runs faster */
    for (size_t i = 0; i < take->n; i++) {
        const hf_span *span = &take->spans[i];
        double start = hf_trace_seconds(t, span->ticks[0]),
               end = hf_trace_seconds(t, span->ticks[1]);
        hf_offset one = both;
        hf_offset_narrow(&one, span->start, start, end, span->end);
        if (span->clock == HF_BY_DEVICE && start <= end && one.low <= one.high)
            both = one;
    }
    take->before.offset = take->after.offset = both;
}

/* From the device's clock to ours, unless the two contradict each other. */
static bool span_place(const hf_trace *t, const hf_take *take, hf_span *span) {
    double ends[2], error = take_error(take) + slack;
    for (int i = 0; i < 2; i++) {
        double at = hf_trace_seconds(t, span->ticks[i]);
        hf_offset offset = offset_at(&take->before, &take->after, at);
        ends[i] = at + hf_offset_middle(&offset);
    }
    bool fits = ends[0] <= ends[1] && ends[0] >= span->start - error &&
                ends[1] <= span->end + error;
    if (fits) {
        span->start = ends[0];
        span->end = ends[1];
    }
    return fits;
}

/* From our clock to that of rank 0. */
static double time_of(const hf_trace *t, size_t index, double at) {
    hf_offset offset = offset_at(&t->clocks[index], &t->clocks[index + 1], at);
    return at + hf_offset_middle(&offset);
}

static void label_write(char *text, const hf_span *span) {
    char whole[64];
    int kind = span->kind;
    if (kind != HF_SPAN_MESSAGE || span->to == HF_TRACE_ALL)
        snprintf(whole, sizeof whole, "%s", span->label);
    else if (span->queue == HF_TRACE_SENDS)
        snprintf(whole, sizeof whole, "to %d", span->to);
    else if (span->queue == HF_TRACE_RECVS)
        snprintf(whole, sizeof whole, "from %d", span->from);
    else if (span->to == span->from)
        snprintf(whole, sizeof whole, "with %d", span->to);
    else
        snprintf(whole, sizeof whole, "to %d, from %d", span->to, span->from);
    size_t length = strlen(whole);
    memcpy(text, whole, length < HF_NAME_LETTERS ? length : HF_NAME_LETTERS);
}

static hf_status rows_grow(hf_trace *t, size_t more) {
    size_t room = t->n_rows + more;
    if (room <= t->rows_room)
        return HF_OK;
    room = room > 2 * t->rows_room ? room : 2 * t->rows_room;
    hf_trace_row *rows = realloc(t->rows, room * sizeof *rows);
    if (!rows)
        return hf_fail(HF_ENOMEM, "no memory for a trace of %zu rows", room);
    t->rows = rows;
    t->rows_room = room;
    return HF_OK;
}

static void row_add(hf_trace *t, size_t index, const hf_span *span) {
    hf_trace_row *row = &t->rows[t->n_rows++];
    *row = (hf_trace_row){.start = span->start,
                          .end = span->end,
                          .bytes = (int64_t)span->bytes,
                          .rank = t->net->rank,
                          .point = (int32_t)index,
                          .queue = span->queue,
                          .kind = span->kind};
    label_write(row->label, span);
}

hf_status hf_trace_point(hf_trace *t, size_t index) {
    if (!t)
        return HF_OK;
    hf_take *take = &t->kept;
    HF_TRY(rows_grow(t, take->n + 1));
    hf_span whole = {.start = take->start,
                     .end = take->end,
                     .kind = HF_SPAN_SAMPLE,
                     .queue = HF_TRACE_SAMPLE,
                     .label = ""};
    row_add(t, index, &whole);
    take_narrow(t, take);
    for (size_t i = 0; i < take->n; i++) {
        hf_span *span = &take->spans[i];
        if (span->clock == HF_BY_NOBODY ||
            (span->clock == HF_BY_DEVICE && !span_place(t, take, span)))
            t->facts.untimed++;
        row_add(t, index, span);
    }
    t->facts.lost += (double)take->lost;
    t->facts.device_error = fmax(t->facts.device_error, take_error(take));
    return HF_OK;
}

/* ---- all ranks ---- */

static int rows_order(const void *a, const void *b) {
    const hf_trace_row *x = a, *y = b;
    if (x->point != y->point)
        return x->point < y->point ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if ((x->kind == HF_SPAN_SAMPLE) != (y->kind == HF_SPAN_SAMPLE))
        return x->kind == HF_SPAN_SAMPLE ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Errors are the largest of all ranks, numbers their sum. */
static hf_status facts_join(hf_trace *t) {
    double errors[] = {t->facts.device_error, t->facts.rank_error},
           numbers[] = {t->facts.lost, t->facts.untimed};
    HF_TRY(t->net->ops->reduce(t->net, errors, 2, HF_MAX));
    HF_TRY(t->net->ops->reduce(t->net, numbers, 2, HF_SUM));
    t->facts = (hf_trace_facts){errors[0], errors[1], numbers[0], numbers[1]};
    return HF_OK;
}

static hf_status rows_gather(hf_trace *t, size_t *at) {
    char *all;
    for (size_t i = 0; i < t->n_rows; i++) {
        size_t index = (size_t)t->rows[i].point;
        t->rows[i].start = time_of(t, index, t->rows[i].start);
        t->rows[i].end = time_of(t, index, t->rows[i].end);
    }
    HF_TRY(hf_gather_unequal(t->net, &all, at, t->rows, t->n_rows * sizeof *t->rows));
    free(t->rows);
    t->rows = (hf_trace_row *)all;
    t->n_rows = t->rows_room = at[t->net->size] / sizeof *t->rows;
    qsort(t->rows, t->n_rows, sizeof *t->rows, rows_order);
    return HF_OK;
}

hf_status hf_trace_gather(hf_trace *t) {
    if (!t)
        return HF_OK;
    size_t ranks = (size_t)t->net->size, *at = malloc((ranks + 1) * sizeof *at);
    hf_status status = hf_agree(
        t->net, at ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %zu traces", ranks));
    assert(status != HF_OK || at);
    if (status == HF_OK)
        status = rows_gather(t, at);
    if (status == HF_OK)
        status = facts_join(t);
    free(at);
    return status;
}

const hf_trace_row *hf_trace_rows(const hf_trace *t, size_t *n, hf_trace_facts *facts) {
    *n = t->n_rows;
    *facts = t->facts;
    return t->rows;
}
