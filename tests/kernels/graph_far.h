/* graph_far.h - shortest paths whose updates fill a packet of a ring of devices. */
enum { FAR_MORE = HF_CHANNEL_WIDTH / 4 - 3 };
typedef struct {
    uint far, more[FAR_MORE];
} hf_update;
typedef uint hf_message;
HF_VERTEX(uint far;)
#define HF_NOTHING HF_NOBODY
#define HF_SOURCE
#define HF_WEIGHTED
#define HF_WHEN(told) ((told).far)
#define HF_WINDOW     4

static inline void far_tell(hf_update *told, uint far) {
    told->far = far;
    for (uint i = 0; i < FAR_MORE; i++)
        told->more[i] = far + i;
}
HF_START(v, at, told) {
    v->far = at.id == at.source ? 0 : HF_NOBODY;
    far_tell(told, 0);
    return at.id == at.source;
}
HF_SCATTER(told, edge) {
    for (uint i = 0; i < FAR_MORE; i++)
        if (told.more[i] != told.far + i)
            return 0;
    return told.far + edge.weight;
}
HF_GATHER(a, b) {
    return a < b ? a : b;
}
HF_APPLY(v, got, at, told) {
    if (got >= v->far)
        return 0;
    far_tell(told, v->far = got);
    return 1;
}
