/* graph_messages.h - architecture gravf: a message along each edge. */
#ifndef HF_GRAPH_MESSAGES_H
#define HF_GRAPH_MESSAGES_H

#include "graph_state.h"

hf_status graph_messages_new(graph_state *s);
void graph_messages_free(graph_state *s);
/** Which edges leave, and the plan. Collective. */
hf_status graph_messages_connect(graph_state *s);
/** Most bytes of records that a superstep makes, those for own vertices included; 0 in
 *  architecture gravf-m. */
size_t graph_messages_sent(const graph_state *s);
/** Most bytes of records that come from other ranks; in architecture gravf alone. */
size_t graph_messages_came(const graph_state *s);
/** The updates of this superstep become records of messages. */
hf_status graph_scatter_launch(graph_state *s);
/** Records go to their ranks, and to the edges that they are for. Collective. */
hf_status graph_deliver_launch(graph_state *s);
/** Messages are gathered and applied. */
hf_status graph_collect_launch(graph_state *s);
/** Did each rank make a message for each edge, and were those `before` gathered? */
hf_status graph_made_check(const graph_state *s, const graph_totals *before);

#endif
