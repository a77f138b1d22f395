/* hf_channel.h - channels between kernels: of one device, and of different devices.
 *
 * HF_CHANNEL(name, depth)   declares a channel between two kernels of this file
 * HF_PORT_OUT(name, number) declares a port that sends to another device
 * HF_PORT_IN(name, number)  declares a port that receives
 * HF_STREAM(name, HF_ARGUMENTS(...), HF_ENDS(...))
 *                           the head of a kernel with ends of channels, in place of HF_KERNEL;
 *                           HF_OUT(name) and HF_IN(name) are the ends that it uses, and are
 *                           arguments on some targets only
 * HF_OPEN_OUT(name), HF_OPEN_IN(name)
 *                           once per end, before its first packet: it goes on where the last
 *                           kernel at this end has stopped
 * HF_SEND(name, packet), HF_RECV(name, packet)
 *                           the next packet, when there is room, or one; after an abort
 *                           they return from the kernel
 * HF_FLUSH(name)            an end that sends: no more for now, as at the end of a message;
 *                           without it the other side may learn a little later
 *
 * A packet has HF_CHANNEL_WIDTH bytes in words of eight.
 */
#ifndef HF_CHANNEL_H
#define HF_CHANNEL_H

#include "hf_kernel.h"
#include "hf_width.h"

#define HF_PACKET_WORDS (HF_CHANNEL_WIDTH / 8)

typedef struct hf_packet {
    ulong word[HF_PACKET_WORDS];
} __attribute__((aligned(HF_CHANNEL_WIDTH))) hf_packet;

#define HF_ARGUMENTS(...) (__VA_ARGS__)
#define HF_ENDS(...)      (__VA_ARGS__)
#define HF_OUT(name)      (out, hf_ring, name)
#define HF_IN(name)       (in, hf_ring, name)

#if defined(HF_INTEL)

#pragma OPENCL EXTENSION cl_intel_channels : enable
#define HF_CHANNEL(name, packets) \
    channel hf_packet name __attribute__((depth(packets)));
#ifdef HF_IO /* a folder of the emulator: ports are files in it */
#define HF_IO_OUT(number) HF_IO "/out" #number
#define HF_IO_IN(number)  HF_IO "/in" #number
#else
#define HF_IO_OUT(number) "kernel_output_ch" #number
#define HF_IO_IN(number)  "kernel_input_ch" #number
#endif
#define HF_PORT_OUT(name, number) \
    channel hf_packet name __attribute__((depth(1), io(HF_IO_OUT(number))));
#define HF_PORT_IN(name, number) \
    channel hf_packet name __attribute__((depth(1), io(HF_IO_IN(number))));
#define HF_STREAM(kernel, arguments, ends) HF_KERNEL(kernel, HF_EACH_OPEN arguments)
#define HF_OPEN_OUT(name)
#define HF_OPEN_IN(name)
#define HF_SEND(name, packet) write_channel_intel(name, packet)
#define HF_RECV(name, packet) packet = read_channel_intel(name)
#define HF_FLUSH(name)

#elif defined(HF_XILINX)

#include <hls_stream.h>

#define HF_CHANNEL(name, packets)
#define HF_PORT_OUT(name, number)
#define HF_PORT_IN(name, number)
#define HF_DECLARE_out(T, name) hls::stream<hf_packet> &name
#define HF_DECLARE_in(T, name)  hls::stream<hf_packet> &name
#define HF_STREAM(kernel, arguments, ends) \
    HF_KERNEL(kernel, HF_EACH_OPEN arguments, HF_EACH_OPEN ends)
#define HF_OPEN_OUT(name)
#define HF_OPEN_IN(name)
#define HF_SEND(name, packet) name.write(packet)
#define HF_RECV(name, packet) packet = name.read()
#define HF_FLUSH(name)

#else

#include "hf_ring.h"

#ifdef HF_HOST /* what is between devices is as long as the scheme makes it */
#define HF_CHANNEL(name, packets) enum { name##_depth = packets };
#define HF_PORT_OUT(name, number) enum { name##_depth = 0 };
#define HF_PORT_IN(name, number)  enum { name##_depth = 0 };
#else
#define HF_CHANNEL(name, packets)
#define HF_PORT_OUT(name, number)
#define HF_PORT_IN(name, number)
#endif
#define HF_DECLARE_out(T, name) HF_GLOBAL T *name
#define HF_DECLARE_in(T, name)  HF_GLOBAL T *name
#define HF_STREAM(kernel, arguments, ends) \
    HF_STREAM_DEFINE(kernel, HF_EACH_OPEN arguments, HF_EACH_OPEN ends)
#ifdef HF_HOST
#define HF_STREAM_DEFINE(kernel, ...) HF_DEFINE(kernel, 0, 1, __VA_ARGS__)
#define HF_PASS_out(i, T)             *(T **)values[i]
#define HF_PASS_in(i, T)              *(T **)values[i]
#define HF_KIND_out                   HF_ARG_OUT
#define HF_KIND_in                    HF_ARG_IN
#define HF_DEPTH_out(name)            name##_depth
#define HF_DEPTH_in(name)             name##_depth
#else /* within a kernel that tells the host, whichever way it ends */
#define HF_STREAM_DEFINE(kernel, ...)                                             \
    static inline void kernel##_body(HF_EACH(HF_DECLARE, __VA_ARGS__));           \
    __kernel void kernel(HF_EACH(HF_DECLARE, __VA_ARGS__), const ulong hf_host) { \
        kernel##_body(HF_EACH(HF_NAME, __VA_ARGS__));                             \
        hf_ring_call(hf_host, HF_RING_LEAVE, 0, 0, 0, 0);                         \
    }                                                                             \
    static inline void kernel##_body(HF_EACH(HF_DECLARE, __VA_ARGS__))
#endif
#define HF_OPEN_OUT(name) HF_OPEN_END(name, writer)
#define HF_OPEN_IN(name)  HF_OPEN_END(name, reader)
#define HF_OPEN_END(name, side)                                                  \
    HF_GLOBAL hf_packet *const name##_slots = (HF_GLOBAL hf_packet *)(name + 1); \
    const ulong name##_mask = name->mask;                                        \
    ulong name##_at = name->side.moved, name##_limit = name##_at;                \
    if (name->width != HF_CHANNEL_WIDTH) {                                       \
        HF_RING_STORE(&name->abort, HF_RING_MISFIT *HF_CHANNEL_WIDTH);           \
        return;                                                                  \
    }
#define HF_SEND(name, packet)                                                        \
    do {                                                                             \
        if (name##_at == name##_limit &&                                             \
            (name##_limit = hf_ring_room(name, name##_at)) == name##_at)             \
            return;                                                                  \
        name##_slots[name##_at & name##_mask] = packet;                              \
        HF_PREFETCH_WRITE(&name##_slots[(name##_at + HF_RING_AHEAD) & name##_mask]); \
        HF_RING_STORE(&name->writer.moved, ++name##_at);                             \
    } while (0)
#define HF_RECV(name, packet)                                            \
    do {                                                                 \
        if (name##_at == name##_limit &&                                 \
            (name##_limit = hf_ring_more(name, name##_at)) == name##_at) \
            return;                                                      \
        packet = name##_slots[name##_at & name##_mask];                  \
        HF_RING_STORE(&name->reader.moved, ++name##_at);                 \
    } while (0)
#define HF_FLUSH(name) HF_RING_STORE(&name->writer.at, name##_at)

#endif

#endif
