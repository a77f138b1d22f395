/* links.h - which port is wired to which: a topology as data. */
#ifndef HF_LINKS_H
#define HF_LINKS_H

#include <stddef.h>

#include "core/status.h"

enum { HF_MAX_PORTS = 16 }; /* of a rank */

/** Port `out` of rank `from` sends to port `in` of rank `to`; a plain value. A cable is
 *  two links, one for each direction. */
typedef struct hf_link {
    int from, out;
    int to, in;
} hf_link;

/** The links of a topology, checked; *links is malloc'ed, the caller's. `topology` is
 *    published     pairs of ports, two by two: of a board to those of the next board
 *    ring          even ports to the odd ones of the next rank
 *    pairs         each port to the same one of ranks 0 and 1, 2 and 3, ...
 *    torus:PxQ     of four ports, two along rows of Q ranks, two along columns of P
 *    0:0-1:2,...   cables, RANK:PORT to RANK:PORT; with `>` for `-`, one direction
 *  What finds no partner is wired to itself. */
hf_status hf_links_make(hf_link **links, size_t *n, const char *topology, int ranks,
                        int ports);

/** The link that ends at port `in` of rank `to`, or that starts at `out` of `from`; NULL
 *  if there is none. */
const hf_link *hf_links_to(size_t n, const hf_link *links, int to, int in);
const hf_link *hf_links_from(size_t n, const hf_link *links, int from, int out);

#endif
