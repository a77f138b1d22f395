/* links.h - which port is wired to which: a topology as data. */
#ifndef HF_LINKS_H
#define HF_LINKS_H

#include "hf.h"

/** Ends exist; each port sends once and receives once, from where it sends to. */
hf_status hf_links_check(size_t n, const hf_link *links, int ranks, int ports);

/** The link that ends at port `in` of rank `to`, or that starts at `out` of `from`; NULL
 *  if there is none. */
const hf_link *hf_links_to(size_t n, const hf_link *links, int to, int in);
const hf_link *hf_links_from(size_t n, const hf_link *links, int from, int out);

#endif
