/* session.h - an open session, as its two files share it. */
#ifndef HF_SESSION_H
#define HF_SESSION_H

#include "core/param.h"
#include "exchange.h"

struct hf_session {
    hf_transport *net;
    hf_device *device;
    hf_exchange *exchange;
    hf_place *places; /* [size] */
};

/** Parameters that every benchmark has. */
extern const hf_param hf_session_params[];

#endif
