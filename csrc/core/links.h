/* links.h - which port is wired to which: a topology as data. */
#ifndef HF_LINKS_H
#define HF_LINKS_H

#include "core/status.h"

enum { HF_MAX_PORTS = 16 }; /* of a rank */

/** Port `out` of rank `from` sends to port `in` of rank `to`; a plain value. A cable is
 *  two links, one for each direction. */
typedef struct hf_link {
    int from, out;
    int to, in;
} hf_link;

/** The links of a topology, [ranks, ports] of who sends, checked: each port sends to one port
 *  and receives from the same. *links is malloc'ed, the caller's. `topology` is
 *    published     pairs of ports, two by two: of a board to those of the next board
 *    ring          even ports to the odd ones of the next rank
 *    pairs         each port to the same one of ranks 0 and 1, 2 and 3, ...
 *    torus:PxQ     of four ports, two along rows of Q ranks, two along columns of P
 *    0:0-1:2,...   cables, RANK:PORT to RANK:PORT; with `>` for `-`, one direction
 *  What finds no partner is wired to itself. */
hf_status hf_links_make(hf_link **links, const char *topology, int ranks, int ports);

#endif
