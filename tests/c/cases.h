/* cases.h - what the harness tries: sessions, parameters and kernels, and a run of them. */
#ifndef HF_CASES_H
#define HF_CASES_H

#include "core/param.h"
#include "plant.h"

/** What the ranks are asked to try. */
typedef struct case_request {
    const char *fault;   /**< this one alone; NULL: a choice of them */
    const char *variant; /**< NAME=VALUE of a parameter; NULL: all of them */
    const char *folder, *bench, *exchange, *device, *shape, *broken;
    const char *kind, *call; /**< of faults; NULL: all */
    const char *passes;      /**< type that devices pass for; NULL: their own */
    size_t relay; /**< 1: devices pass messages on, where a scheme can have that */
    const char *binaries; /**< a folder of program binaries; NULL: there are none */
    const char *knobs;    /**< of these: "NAME=VALUE ...", each of all that have it */
    size_t faults, share, part, workers, seed;
    size_t seconds; /**< after which no other one is tried; 0: all are */
    size_t guarded; /**< 1: a kernel that goes astray does not end the process */
    size_t seen;    /**< 1: no fault is harmless */
} case_request;

/** What is tried at the moment. */
typedef struct case_state {
    hf_session *session;
    const char *bench, *exchange, *device, *shape;
    char variant[64]; /**< a parameter that is not the default: NAME=VALUE */
    const char *type; /**< word for the device's */
    size_t scheme;    /**< number of `exchange` */
    bool compiles;    /**< the device takes programs, and knobs with them */
    char stem[64];
    unsigned char *program;
    size_t program_bytes;
    uint64_t numbers; /**< digest of the whole numbers of a result without a fault */
} case_state;

typedef struct outcome {
    hf_status status; /**< the worst of all ranks */
    bool verified;    /**< on all ranks */
    bool late;        /**< a deadline ended it */
    bool
        counted; /**< its whole numbers are those of a run without a fault, on all ranks */
    plant_report
        report; /**< of all ranks together; `sample` and `key` are of this one */
} outcome;

/** Faults that were tried, those that changed something, and how these ended. */
typedef struct score {
    size_t planted, acted, unverified, errors, harmless, misses;
} score;

extern case_request asked;
extern case_state now;
extern int rank, size;

/** Open `now.device` with `now.exchange`; `now.session` is NULL where they do not fit. */
hf_status session_open(void);
void session_close(void);
/** The parameters of a run. */
hf_args *args_make(const char *deadline);
/** The kernels of a run: compiled by rank 0, or in this library. */
hf_status program_make(const hf_args *args);
/** Run once with this fault on all ranks; a session that failed is opened anew. */
outcome run(const plant_fault *fault, const char *deadline);
/** Are there further faults to try? What is broken has shown once one is missed. */
bool goes_on(const score *s);

enum { WARMUP = 1 };

#endif
