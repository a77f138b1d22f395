/* agree.c - what all ranks must know: the worst status of any, and what they do not share. */
#include "agree.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/number.h"

typedef struct verdict {
    int status;
    char text[HF_MESSAGE_ROOM];
} verdict;

/* Of two ranks the one with more of it is the cause: not an echo, as other ranks see ECOMM
 * when one stops; else the lower rank. 0: it did not fail. */
static double blame_of(const hf_transport *net, const verdict *mine) {
    int blame = net->size - net->rank;
    return mine->status == HF_OK      ? 0
           : mine->status == HF_ECOMM ? blame
                                      : blame + net->size;
}

/* The cause and its message. Nothing is allocated: memory may be what lacks. */
static hf_status cause_tell(hf_transport *net, const verdict *mine) {
    verdict cause = *mine;
    double blame = blame_of(net, mine);
    HF_TRY(net->ops->reduce(net, &blame, 1, HF_MAX));
    if (blame < 1)
        return HF_OK;
    int rank = net->size - 1 - ((int)blame - 1) % net->size;
    HF_TRY(net->ops->broadcast(net, &cause, sizeof cause, rank));
    bool differs =
        strcmp(cause.text, mine->text) != 0; /* else it needs no rank's name */
    HF_TRY(net->ops->any(net, &differs));
    return differs ? hf_fail((hf_status)cause.status, "rank %d: %s", rank, cause.text)
                   : hf_fail((hf_status)cause.status, "%s", cause.text);
}

hf_status hf_agree(hf_transport *net, hf_status status) {
    if (net->size == 1)
        return status;
    verdict mine = {.status = (int)status};
    if (status != HF_OK)
        snprintf(mine.text, sizeof mine.text, "%s", hf_error());
    bool failed = status != HF_OK;
    /* Another rank is the cause where this one heard of it (HF_ECOMM), or waited in vain. */
    if (failed && status != HF_ECOMM && net->since == 0)
        net->why = mine.text;
    hf_status agreed = net->ops->any(net, &failed);
    if (agreed == HF_OK && failed)
        agreed = cause_tell(net, &mine);
    net->why = NULL;
    if (agreed == HF_ECOMM && status != HF_OK) /* what we know ourselves tells more */
        agreed = hf_fail(status, "%s", mine.text);
    return agreed;
}

hf_status hf_send(hf_transport *net, hf_transfer *out, const void *memory, size_t bytes,
                  int to) {
    *out = (hf_transfer){
        .sends = true, .peer = to, .memory = (char *)memory, .bytes = bytes};
    return net->ops->start(net, out);
}

hf_status hf_recv(hf_transport *net, hf_transfer *out, void *memory, size_t bytes,
                  int from) {
    *out = (hf_transfer){.peer = from, .memory = memory, .bytes = bytes};
    return net->ops->start(net, out);
}

hf_status hf_gather_unequal(hf_transport *net, char **out, size_t *at, const void *mine,
                            size_t bytes) {
    size_t size = (size_t)net->size, longest = 1;
    HF_TRY(net->ops->gather(net, at, &bytes, sizeof bytes));
    for (size_t rank = 0; rank < size; rank++)
        longest = at[rank] > longest ? at[rank] : longest;
    char *own = calloc(1, longest), *all = malloc(size * longest);
    hf_status status =
        own && all ? HF_OK
                   : hf_fail(HF_ENOMEM, "no memory for %zu B of each rank", longest);
    status = hf_agree(net, status);
    assert(status != HF_OK || (own && all));
    if (status == HF_OK) {
        memcpy(own, mine, bytes);
        status = net->ops->gather(net, all, own, longest);
    }
    free(own);
    if (status != HF_OK) {
        free(all);
        return status;
    }
    size_t end = 0;
    for (size_t rank = 0; rank < size; rank++) { /* no block moves up */
        size_t length = at[rank];
        memmove(all + end, all + rank * longest, length);
        at[rank] = end;
        end += length;
    }
    at[size] = end;
    *out = all;
    return HF_OK;
}

/* At the end of the text, in front of the zero that ends it. */
static void text_add(hf_statement *f, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = hf_number_vprint(NULL, 0, format, again);
    va_end(again);
    size_t needed = f->bytes + (size_t)(length > 0 ? length : 0) + 2;
    if (needed > f->room) {
        char *text = realloc(f->text, 2 * needed);
        f->failed = f->failed || !text || length < 0;
        f->text = text ? text : f->text;
        f->room = text ? 2 * needed : f->room;
    }
    if (f->failed)
        return;
    hf_number_vprint(f->text + f->bytes, f->room - f->bytes, format, args);
    f->bytes += (size_t)length;
}

void hf_fact_add(hf_statement *facts, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add(facts, format, args);
    va_end(args);
}

void hf_fact(hf_statement *facts, const char *what) {
    facts->bytes += facts->bytes > 0; /* behind the value before */
    hf_fact_add(facts, "%s", what);
    if (!facts->failed)
        facts->text[++facts->bytes] = '\0';
}

/* The first fact of a rank that is not as on rank 0. Facts before it are the same. */
static hf_status facts_compare(const char *ours, const char *ours_end,
                               const char *theirs, const char *theirs_end, int rank) {
    while (ours < ours_end && theirs < theirs_end) {
        const char *what = ours, *value = ours + strlen(ours) + 1,
                   *other = theirs + strlen(theirs) + 1;
        if (strcmp(value, other) != 0)
            return hf_fail(HF_EARG,
                           "%s differs between ranks: \"%.120s\" on rank 0, \"%.120s\" "
                           "on rank %d",
                           what, value, other, rank);
        ours = value + strlen(value) + 1;
        theirs = other + strlen(other) + 1;
    }
    return HF_OK;
}

/* Which fact is it that differs? */
static hf_status difference_find(hf_transport *net, const char *facts, size_t bytes) {
    size_t *at = malloc(((size_t)net->size + 1) * sizeof *at);
    char *all = NULL;
    hf_status status = hf_agree(
        net, at ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %d ranks", net->size));
    assert(status != HF_OK || at);
    if (status == HF_OK)
        status = hf_gather_unequal(net, &all, at, facts, bytes);
    for (int rank = 1; status == HF_OK && rank < net->size; rank++)
        status =
            facts_compare(all, all + at[1], all + at[rank], all + at[rank + 1], rank);
    free(all);
    free(at);
    return status;
}

hf_status hf_same(hf_transport *net, hf_statement *facts) {
    size_t bytes = facts->bytes + 1;
    uint64_t *all = malloc((size_t)net->size * sizeof *all);
    bool same = true;
    hf_status status = hf_agree(
        net, all && !facts->failed ? HF_OK : hf_fail(HF_ENOMEM, "no memory for facts"));
    assert(status != HF_OK || (all && facts->text));
    if (status == HF_OK) {
        uint64_t mine = hf_digest(HF_DIGEST_START, facts->text, bytes);
        status = net->ops->gather(net, all, &mine, sizeof mine);
    }
    for (int rank = 1; status == HF_OK && rank < net->size; rank++)
        same = same && all[rank] == all[0];
    free(all);
    if (status == HF_OK && !same)
        status = difference_find(net, facts->text, bytes);
    free(facts->text);
    *facts = (hf_statement){0};
    return status;
}
