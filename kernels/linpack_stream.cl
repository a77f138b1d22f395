/* linpack_stream.cl - linpack for kernel-routed schemes: blocks go from device to device.
 *
 * Devices are a torus, and what travels has a direction of its own:
 *   right  L of the diagonal block      left  blocks of L below it
 *   down   U of the diagonal block      up    blocks of U beside it
 * An iteration is a launch of six kernels, of which a device starts those that have something to
 * do. Packets go through them in one order, without a cycle:
 *
 *   linpack_lu -> linpack_network -> linpack_left -> linpack_network_left
 *                                 -> linpack_top  -> linpack_network_top
 *
 * and a network passes them on to the same one of the next device, as far as one that
 * needs them. So a kernel waits for those before it in this list or on this way only. */
#include "hf_channel.h"
#include "linpack_blocks.h"
#include "linpack_solve.h"
#include "linpack_vectors.h"
#include "linpack_ways.h"

#if HF_CHANNEL_WIDTH > 128
#error "HF_CHANNEL_WIDTH, the bytes per clock cycle, must be a power of two, 8 to 128"
#endif

enum {
    LINPACK_LANES = HF_CHANNEL_WIDTH / sizeof(HF_REAL), /* elements per clock cycle */
    LINPACK_CHUNKS = HF_BLOCK / LINPACK_LANES,          /* packets of a block's row */
};

typedef union linpack_packet {
    hf_packet packet;
    HF_REAL lanes[LINPACK_LANES];
    double sums[HF_PACKET_WORDS];
} linpack_packet;

/* Ports of a torus: a cable leads from 0 to 1 of the next device of a row, from 2 to 3 of the
 * next one of a column. */
HF_PORT_OUT(right_out, 0)
HF_PORT_IN(right_in, 1)
HF_PORT_OUT(left_out, 1)
HF_PORT_IN(left_in, 0)
HF_PORT_OUT(down_out, 2)
HF_PORT_IN(down_in, 3)
HF_PORT_OUT(up_out, 3)
HF_PORT_IN(up_in, 2)

HF_CHANNEL(factored, 16)
HF_CHANNEL(lower, 16)
HF_CHANNEL(upper, 16)
HF_CHANNEL(lefts, 16)
HF_CHANNEL(tops, 16)

/** See linpack_shape.h; packed diagonal blocks are none. */
HF_KERNEL(linpack_shape, HF_WRITE(uint, shape)) {
    for (uint i = 0; i < LINPACK_N_SHAPE; i++)
        shape[i] = 1;
    shape[LINPACK_LEFT_SIZE] = shape[LINPACK_TOP_SIZE] = HF_BLOCK * HF_BLOCK;
    shape[LINPACK_LOWER_SIZE] = shape[LINPACK_UPPER_SIZE] = 0;
}

/** L and U of block `block`, in place and as packets, row by row. What is sent has the
 *  reciprocals of the diagonal of U. */
HF_STREAM(linpack_lu, HF_ARGUMENTS(HF_WRITE(HF_REAL, a), HF_VALUE(uint, block)),
          HF_ENDS(HF_OUT(factored))) {
    HF_OPEN_OUT(factored)
    HF_REAL lu[HF_BLOCK][HF_BLOCK], inverses[HF_BLOCK];
    const ulong at = block * LINPACK_SIZE;
    block_load(lu, a + at);
    block_factor(lu, inverses);
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint chunk = 0; chunk < LINPACK_CHUNKS; chunk++) {
            HF_PIPELINE
            linpack_packet sent;
            HF_UNROLL(LINPACK_LANES)
            for (uint l = 0; l < LINPACK_LANES; l++) {
                const uint j = chunk * LINPACK_LANES + l;
                a[at + i * HF_BLOCK + j] = lu[i][j];
                sent.lanes[l] = i == j ? inverses[i] : lu[i][j];
            }
            HF_SEND(factored, sent.packet);
        }
    HF_FLUSH(factored);
}

/** L of the diagonal block along its row of devices, and U along its column. `ways` says where
 *  packets come from and go to. Those on the diagonal belong to both. */
HF_STREAM(linpack_network, HF_ARGUMENTS(HF_VALUE(uint, ways)),
          HF_ENDS(HF_IN(factored), HF_IN(right_in), HF_IN(down_in), HF_OUT(right_out),
                  HF_OUT(down_out), HF_OUT(lower), HF_OUT(upper))) {
    HF_OPEN_IN(factored)
    HF_OPEN_IN(right_in)
    HF_OPEN_IN(down_in)
    HF_OPEN_OUT(right_out)
    HF_OPEN_OUT(down_out)
    HF_OPEN_OUT(lower)
    HF_OPEN_OUT(upper)
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint chunk = 0; chunk < LINPACK_CHUNKS; chunk++) {
            HF_PIPELINE
            const uint of_l = chunk <= i / LINPACK_LANES;
            const uint of_u = chunk >= i / LINPACK_LANES;
            hf_packet packet = {{0}};
            if (ways & LINPACK_MADE_HERE)
                HF_RECV(factored, packet);
            if ((ways & LINPACK_FROM_LEFT) && of_l)
                HF_RECV(right_in, packet);
            if ((ways & LINPACK_FROM_ABOVE) && of_u)
                HF_RECV(down_in, packet);
            if ((ways & LINPACK_TO_RIGHT) && of_l)
                HF_SEND(right_out, packet);
            if ((ways & LINPACK_TO_BELOW) && of_u)
                HF_SEND(down_out, packet);
            if ((ways & LINPACK_TO_TOP) && of_l)
                HF_SEND(lower, packet);
            if ((ways & LINPACK_TO_LEFT) && of_u)
                HF_SEND(upper, packet);
        }
    HF_FLUSH(right_out);
    HF_FLUSH(down_out);
    HF_FLUSH(lower);
    HF_FLUSH(upper);
}

/** A block in place in the matrix, and to a channel: an end belongs to the kernel's own text. */
#define BLOCK_SEND(from, to, name)                                   \
    for (uint i = 0; i < HF_BLOCK; i++)                              \
        for (uint chunk = 0; chunk < LINPACK_CHUNKS; chunk++) {      \
            HF_PIPELINE                                              \
            linpack_packet sent;                                     \
            HF_UNROLL(LINPACK_LANES)                                 \
            for (uint l = 0; l < LINPACK_LANES; l++) {               \
                const uint j = chunk * LINPACK_LANES + l;            \
                (to)[i * HF_BLOCK + j] = sent.lanes[l] = from[i][j]; \
            }                                                        \
            HF_SEND(name, sent.packet);                              \
        }                                                            \
    HF_FLUSH(name);

/** Blocks of L in column block `column`, row blocks `first` to `end` - 1: X U = A. */
HF_STREAM(linpack_left,
          HF_ARGUMENTS(HF_WRITE(HF_REAL, a), HF_VALUE(uint, first), HF_VALUE(uint, end),
                       HF_VALUE(uint, column), HF_VALUE(uint, columns)),
          HF_ENDS(HF_IN(upper), HF_OUT(lefts))) {
    HF_OPEN_IN(upper)
    HF_OPEN_OUT(lefts)
    HF_REAL u_block[HF_BLOCK][HF_BLOCK];
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint chunk = 0; chunk < LINPACK_CHUNKS; chunk++) {
            HF_PIPELINE
            linpack_packet got = {{{0}}};
            if (chunk >= i / LINPACK_LANES)
                HF_RECV(upper, got.packet);
            HF_UNROLL(LINPACK_LANES)
            for (uint l = 0; l < LINPACK_LANES; l++) {
                const uint j = chunk * LINPACK_LANES + l;
                u_block[i][j] = j < i ? (HF_REAL)0 : got.lanes[l];
            }
        }
    for (uint block = first; block < end; block++) {
        HF_REAL x[HF_BLOCK][HF_BLOCK];
        const ulong at = ((ulong)block * columns + column) * LINPACK_SIZE;
        block_load(x, a + at);
        block_left(x, u_block);
        BLOCK_SEND(x, a + at, lefts)
    }
}

/** Blocks of U in row block `row`, column blocks `first` to `end` - 1: L X = A. */
HF_STREAM(linpack_top,
          HF_ARGUMENTS(HF_WRITE(HF_REAL, a), HF_VALUE(uint, first), HF_VALUE(uint, end),
                       HF_VALUE(uint, row), HF_VALUE(uint, columns)),
          HF_ENDS(HF_IN(lower), HF_OUT(tops))) {
    HF_OPEN_IN(lower)
    HF_OPEN_OUT(tops)
    HF_REAL l_block[HF_BLOCK][HF_BLOCK];
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint chunk = 0; chunk <= i / LINPACK_LANES; chunk++) {
            HF_PIPELINE
            linpack_packet got;
            HF_RECV(lower, got.packet);
            HF_UNROLL(LINPACK_LANES)
            for (uint l = 0; l < LINPACK_LANES; l++)
                l_block[i][chunk * LINPACK_LANES + l] = got.lanes[l];
        }
    for (uint block = first; block < end; block++) {
        HF_REAL x[HF_BLOCK][HF_BLOCK];
        const ulong at = ((ulong)row * columns + block) * LINPACK_SIZE;
        block_load(x, a + at);
        block_top(x, l_block);
        BLOCK_SEND(x, a + at, tops)
    }
}

/** The network in one direction: `packets` packets from this device's kernel or from the device
 *  before, kept in memory, passed on to the next. Those of the solution are doubles from
 *  memory, alone or added to what comes. Places in memory count packets. */
#define LINPACK_NETWORK(network, made, in, out)                                \
    HF_STREAM(network,                                                         \
              HF_ARGUMENTS(HF_WRITE(hf_packet, kept), HF_READ(hf_packet, own), \
                           HF_VALUE(ulong, kept_at), HF_VALUE(ulong, own_at),  \
                           HF_VALUE(ulong, packets), HF_VALUE(uint, ways)),    \
              HF_ENDS(HF_IN(made), HF_IN(in), HF_OUT(out))) {                  \
        HF_OPEN_IN(made)                                                       \
        HF_OPEN_IN(in)                                                         \
        HF_OPEN_OUT(out)                                                       \
        for (ulong n = 0; n < packets; n++) {                                  \
            HF_PIPELINE                                                        \
            linpack_packet passed = {{{0}}};                                   \
            if (ways & LINPACK_MADE_HERE)                                      \
                HF_RECV(made, passed.packet);                                  \
            if (ways & LINPACK_FROM_BEFORE)                                    \
                HF_RECV(in, passed.packet);                                    \
            if (ways & LINPACK_FROM_MEMORY) {                                  \
                linpack_packet mine;                                           \
                mine.packet = own[own_at + n];                                 \
                HF_UNROLL(HF_PACKET_WORDS)                                     \
                for (uint l = 0; l < HF_PACKET_WORDS; l++)                     \
                    passed.sums[l] += mine.sums[l];                            \
            }                                                                  \
            if (ways & LINPACK_TO_NEXT)                                        \
                HF_SEND(out, passed.packet);                                   \
            if (ways & LINPACK_TO_MEMORY)                                      \
                kept[kept_at + n] = passed.packet;                             \
        }                                                                      \
        HF_FLUSH(out);                                                         \
    }

LINPACK_NETWORK(linpack_network_left, lefts, left_in, left_out)
LINPACK_NETWORK(linpack_network_top, tops, up_in, up_out)

HF_HOST_FILE(linpack_stream, HF_HOST_KERNEL(linpack_shape), HF_HOST_KERNEL(linpack_lu),
             HF_HOST_KERNEL(linpack_network), HF_HOST_KERNEL(linpack_left),
             HF_HOST_KERNEL(linpack_top), HF_HOST_KERNEL(linpack_network_left),
             HF_HOST_KERNEL(linpack_network_top), HF_HOST_KERNEL(linpack_inner),
             LINPACK_DATA_KERNELS, LINPACK_SOLVE_KERNELS, LINPACK_VECTORS_KERNELS)
