/* status.h - how a function went. */
#ifndef HF_STATUS_H
#define HF_STATUS_H

#define HF_STATUS_MAP(XX)                            \
    XX(EARG, "invalid argument")                     \
    XX(ENOMEM, "out of memory")                      \
    XX(ENOENT, "no such component")                  \
    XX(ENOTSUP, "not supported by this combination") \
    XX(EDEVICE, "device error")                      \
    XX(ECOMM, "communication error")                 \
    XX(ECANCELED, "canceled")

typedef enum hf_status {
    HF_OK,
#define HF_STATUS_ENTRY(name, text) HF_##name,
    HF_STATUS_MAP(HF_STATUS_ENTRY)
#undef HF_STATUS_ENTRY
} hf_status;

/** What the last failing call of this thread said; one line, never NULL. */
const char *hf_error(void);

#endif
