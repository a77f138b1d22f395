/* hls_stream.h - the least that kernels need of Xilinx's streams, for compilers without. */
#ifndef HLS_STREAM_H
#define HLS_STREAM_H

#include <queue>

namespace hls {
template <typename T> class stream {
    std::queue<T> packets;

  public:
    void write(const T &packet) {
        packets.push(packet);
    }
    T read() {
        T packet = packets.front();
        packets.pop();
        return packet;
    }
};
} // namespace hls

#endif
