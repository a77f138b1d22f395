/* plant_state.h - what the files of plant.h share. */
#ifndef HF_PLANT_STATE_H
#define HF_PLANT_STATE_H

#include "plant.h"

enum {
    PLANT_BUFFERS = 96, /* of a run, at most */
    PLANT_PARTS = 24,   /* of a buffer: its thirds and eighths are some */
    PLANT_PIECES = PLANT_BUFFERS * PLANT_PARTS,
    PLANT_ARGS = 20,  /* of a kernel */
    PLANT_WORDS = 64, /* of a value among them */
};

typedef struct plant_state {
    hf_session *session;
    const plant_fault *fault; /* NULL: none */
    plant_report report;
    int spoiling;        /* how the results of steps are made wrong at the moment */
    int phase, learning; /* learning: runs left that are the reference */
} plant_state;

extern plant_state plant;

/** The program ends where what the harness itself needs fails. */
void plant_must(bool holds);
/** Zeroed memory. */
unsigned char *plant_room(size_t bytes);
/** Is this call, which counts, one that the fault hits? */
bool plant_hit(int call);
/** Leave of the right bytes `is` what the fault does, where `was` was. */
void plant_damage(unsigned char *is, const unsigned char *was, size_t bytes);
/** Keep what a right call brings, for a stale one after it. */
void plant_keep(int call, const void *data, size_t bytes);

void plant_device_wrap(hf_device_ops *ops, const hf_device_ops *own);
void plant_device_start(void);
void plant_device_forget(void);
/** Note whether commands outlast the steps; what looks at memory now would wait for them. */
void plant_device_steps_end(void);
/** Number of a buffer, PLANT_BUFFERS if it was not allocated in this run: a ring. */
size_t plant_number(const hf_buffer *buffer);
/** Numbers that differ when the contents of the parts of all buffers do; 0: there is none. */
void plant_digest(uint64_t digests[PLANT_PIECES]);
/** Is a check given the buffer, by a launch or a copy? Did the fault damage what came from it or
 *  to it? */
bool plant_given(size_t buffer);
bool plant_damaged(size_t buffer);

/** Keep what the buffers hold; then damage what was changed since: bytes that differ now. */
void plant_memory_keep(void);
size_t plant_memory_spoil(int how);

/** Forget the launches of the run before; keep this one. */
void plant_launch_start(void);
void plant_launch_keep(const hf_launch *launch);
/** Give the launch the numbers and buffers of the one before, or half of one number; false where
 *  that changes nothing. `args` and `values` are memory for it. */
bool plant_launch_age(hf_launch *launch, hf_arg *args,
                      uint64_t values[PLANT_ARGS][PLANT_WORDS]);
bool plant_launch_shorten(hf_launch *launch, hf_arg *args,
                          uint64_t values[PLANT_ARGS][PLANT_WORDS]);

void plant_net_wrap(hf_transport_ops *ops, const hf_transport_ops *own);
/** Forget the messages of the run before. */
void plant_net_start(void);

/** Memory for a device buffer, page aligned. */
void *plant_memory_new(size_t bytes);
void plant_memory_free(void *memory, size_t bytes);
/** Has a kernel reached outside of it since the last call? */
hf_status plant_memory_check(void);

#endif
