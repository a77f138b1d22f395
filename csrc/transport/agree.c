/* agree.c - the worst status of any rank, known to all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

hf_status hf_agree(hf_transport *net, hf_status status) {
    if (net->size == 1)
        return status;
    verdict mine = {.status = (int)status};
    if (status != HF_OK)
        snprintf(mine.text, sizeof mine.text, "%s", hf_error());
    verdict *all = malloc((size_t)net->size * sizeof *all);
    if (!all)
        return hf_fail(HF_ENOMEM, "no memory for %d answers", net->size);
    hf_status agreed = net->ops->gather(net, all, &mine, sizeof mine);
    if (agreed != HF_OK && status != HF_OK) /* what we know ourselves tells more */
        agreed = hf_fail(status, "%s", mine.text);
    int cause = agreed == HF_OK ? cause_find(all, net->size) : -1;
    if (cause >= 0) {
        const verdict *worst = &all[cause];
        bool same = true; /* what all ranks say needs no rank's name */
        for (int rank = 0; rank < net->size; rank++)
            same = same && strcmp(all[rank].text, worst->text) == 0;
        agreed =
            same ? hf_fail((hf_status)worst->status, "%s", worst->text)
                 : hf_fail((hf_status)worst->status, "rank %d: %s", cause, worst->text);
    }
    free(all);
    return agreed;
}
