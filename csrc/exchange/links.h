/* links.h - which port is wired to which: a topology as data. */
#ifndef HF_LINKS_H
#define HF_LINKS_H

#include "hf.h"

enum { HF_MAX_PORTS = 16 }; /* of a rank */

/** The link that ends at port `in` of rank `to`, or that starts at `out` of `from`; NULL
 *  if there is none. */
const hf_link *hf_links_to(size_t n, const hf_link *links, int to, int in);
const hf_link *hf_links_from(size_t n, const hf_link *links, int from, int out);

#endif
