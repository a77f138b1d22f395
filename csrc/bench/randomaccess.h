/* randomaccess.h - the sequence of updates, and the hosts' own run of it. */
#ifndef HF_RANDOMACCESS_H
#define HF_RANDOMACCESS_H

#include "bench.h"

/** A rank's part of the table; a plain value. Sizes are powers of two. */
typedef struct randomaccess_part {
    uint64_t *tables[HF_MAX_NUMBERED]; /**< one after the other, of equal size */
    size_t n_tables;
    uint64_t words; /**< of the whole table, over all ranks */
    uint64_t first; /**< the whole table's number of tables[0][0] */
    uint64_t count; /**< words in all `tables` together */
} randomaccess_part;

/** Number `k` of the sequence, which starts with 1 at 0, in O(64 log k). */
uint64_t randomaccess_number(uint64_t k);

/** What the hosts need to run the updates again. */
typedef struct randomaccess_check randomaccess_check;

/** For parts of up to `count` words. */
hf_status randomaccess_check_new(randomaccess_check **out, uint64_t count);
void randomaccess_check_free(randomaccess_check *check);
/** Apply numbers 1 .. HF_RANDOMACCESS_UPDATES `words` of the sequence to the part, in place,
 *  and return how many words are not what `randomaccess_fill` wrote: those that lost an update,
 *  or have one too many. */
uint64_t randomaccess_check_run(randomaccess_check *check,
                                const randomaccess_part *part, uint64_t stamp);
/** Word i of the whole table becomes i ^ stamp. */
void randomaccess_fill(const randomaccess_part *part, uint64_t stamp);

#endif
