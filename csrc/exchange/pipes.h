/* pipes.h - external channels of Intel's FPGA emulator: a named pipe for each link. */
#ifndef HF_PIPES_H
#define HF_PIPES_H

#include <stdbool.h>

#include "links.h"
#include "report.h"
#include "transport.h"

typedef struct hf_pipes hf_pipes;

/** A folder of pipes for this rank, empty yet; removes what ended processes left. */
hf_status hf_pipes_open(hf_pipes **out);
/** Accepts NULL. */
void hf_pipes_close(hf_pipes *pipes);

/** What goes in front of the kernels' source: HF_IO, the folder in which they find their
 *  ports, the files in<PORT> and out<PORT>. */
void hf_pipes_prelude(const hf_pipes *pipes, char *text, size_t room);

/** Wire the ports of all ranks; at most `bytes` wait in a pipe. Collective. */
hf_status hf_pipes_connect(hf_pipes *pipes, hf_transport *net, size_t n,
                           const hf_link *links, int ports, size_t bytes);

/** Throw away what waits in the pipes to this rank. */
void hf_pipes_drain(hf_pipes *pipes);

/** Add `port` if a kernel waits there: its pipe is full (no page is free), with how many
 *  packets of `width` bytes, or empty. Nobody counts what went through. */
void hf_pipes_report(hf_report *report, const hf_pipes *pipes, int port, bool sends,
                     size_t width);

/** Let kernels that wait at our ports go on: give some zeros, or make room, by turns.
 *  Some time must pass between: what is taken away at once no kernel gets. */
void hf_pipes_pump(hf_pipes *pipes);

#endif
