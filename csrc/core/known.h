/* known.h - the names that a message lists, and the one that was meant. */
#ifndef HF_KNOWN_H
#define HF_KNOWN_H

#include <stddef.h>

/** All-zero but for `wanted`, then one `add` for each known name. */
typedef struct hf_known {
    const char *wanted; /**< the word that is none of them */
    char names[384];    /**< "a, b, c"; what finds no room is cut */
    char nearest[64];   /**< the known name nearest to `wanted` */
    size_t distance;    /**< letters between the two */
    char text[512];     /**< of `hf_known_text` */
} hf_known;

void hf_known_add(hf_known *known, const char *name);

/** The known name that is nearly the wanted one, or NULL. */
const char *hf_known_near(const hf_known *known);

/** "known: a, b, c", with "did you mean" in front where a name is nearly the wanted one. */
const char *hf_known_text(hf_known *known);

#endif
