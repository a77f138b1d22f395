/* agree.c - what all ranks must know: the worst status of any, and what they do not share. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/error.h"
#include "transport.h"

typedef struct verdict {
    int status;
    char text[HF_MESSAGE_ROOM];
} verdict;

/* The cause of a failure, not its echo: other ranks see ECOMM when one stops. */
static int cause_find(const verdict *all, int size) {
    int cause = -1;
    for (int rank = 0; rank < size; rank++)
        if (all[rank].status != HF_OK && (cause < 0 || (all[cause].status == HF_ECOMM &&
                                                        all[rank].status != HF_ECOMM)))
            cause = rank;
    return cause;
}

/* The cause and its message, told by every rank that failed. */
static hf_status cause_tell(hf_transport *net, const verdict *mine) {
    verdict *all = malloc((size_t)net->size * sizeof *all);
    if (!all)
        return hf_fail(HF_ENOMEM, "no memory for %d answers", net->size);
    hf_status status = net->ops->gather(net, all, mine, sizeof *mine);
    int cause = status == HF_OK ? cause_find(all, net->size) : -1;
    if (cause >= 0) {
        const verdict *worst = &all[cause];
        bool same = true; /* what all ranks say needs no rank's name */
        for (int rank = 0; rank < net->size; rank++)
            same = same && strcmp(all[rank].text, worst->text) == 0;
        status =
            same ? hf_fail((hf_status)worst->status, "%s", worst->text)
                 : hf_fail((hf_status)worst->status, "rank %d: %s", cause, worst->text);
    }
    free(all);
    return status;
}

hf_status hf_agree(hf_transport *net, hf_status status) {
    if (net->size == 1)
        return status;
    verdict mine = {.status = (int)status};
    if (status != HF_OK)
        snprintf(mine.text, sizeof mine.text, "%s", hf_error());
    bool failed = status != HF_OK;
    hf_status agreed = net->ops->any(net, &failed);
    if (agreed == HF_OK && failed)
        agreed = cause_tell(net, &mine);
    if (agreed == HF_ECOMM && status != HF_OK) /* what we know ourselves tells more */
        agreed = hf_fail(status, "%s", mine.text);
    return agreed;
}

/* A text of any length, and how it begins. */
typedef struct stated {
    uint64_t digest;
    char text[120];
} stated;

hf_status hf_same(hf_transport *net, const char *what, const char *text) {
    stated mine = {.digest = hf_digest(HF_DIGEST_START, text, strlen(text))};
    snprintf(mine.text, sizeof mine.text, "%s", text);
    stated *all = malloc((size_t)net->size * sizeof *all);
    hf_status status =
        all ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %d ranks", net->size);
    status = hf_agree(net, status);
    assert(status != HF_OK || all);
    if (status == HF_OK)
        status = net->ops->gather(net, all, &mine, sizeof mine);
    for (int rank = 1; status == HF_OK && rank < net->size; rank++)
        if (all[rank].digest != all[0].digest)
            status =
                hf_fail(HF_EARG,
                        "%s differs between ranks: \"%s\" on rank 0, \"%s\" on rank "
                        "%d",
                        what, all[0].text, all[rank].text, rank);
    free(all);
    return status;
}
