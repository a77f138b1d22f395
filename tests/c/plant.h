/* plant.h - faults planted in the tables of device and transport of an open session.
 *
 * A fault is told by where it happens, not by a number of a call: so all ranks plant the same
 * one, and each finds its own calls. The program must be linked with --wrap=hf_session_path, so
 * that the benchmark's functions tell in which phase of a run a call comes; and with those of
 * MPI_Irecv and MPI_Test, whose data is proven by what all ranks do together.
 */
#ifndef HF_PLANT_H
#define HF_PLANT_H

#include "core/session.h"

enum {
    PLANT_STEP, /* the benchmark's own, as PLANT_VERIFY */
    PLANT_VERIFY,
    PLANT_LAUNCH,
    PLANT_STREAM, /* of the scheme: kernels that run side by side */
    PLANT_WRITE,
    PLANT_READ,
    PLANT_MAP,
    PLANT_UNMAP,
    PLANT_FINISH,
    PLANT_WAIT,
    PLANT_MARK,
    PLANT_COPY,
    PLANT_SENDRECV,
    PLANT_START,
    PLANT_GATHER,
    PLANT_BROADCAST,
    PLANT_REDUCE,
    PLANT_ANY,
    PLANT_BARRIER,
    PLANT_GROUP,
    PLANT_CALLS
};

enum {
    PLANT_DROP,
    PLANT_REPEAT,
    PLANT_SHORTEN,
    PLANT_FLIP,
    PLANT_ZERO,
    PLANT_STALE,
    PLANT_KINDS
};

/* Of the first sample of a point that is not a warm-up on, the phases have no WARM. */
enum {
    PLANT_SETUP, /* and all that lies between samples */
    PLANT_WARM_INPUT,
    PLANT_WARM_STEPS,
    PLANT_WARM_CHECK,
    PLANT_INPUT,
    PLANT_STEPS,
    PLANT_CHECK,
    PLANT_PHASES
};

enum { PLANT_FIRST, PLANT_MIDDLE, PLANT_LAST, PLANT_PLACES };

extern const char *const plant_calls[PLANT_CALLS],
    *const plant_kinds[PLANT_KINDS], *const plant_phases[PLANT_PHASES],
                                         *const plant_places[PLANT_PLACES];

/** Can a fault of this kind change anything in such a call? */
bool plant_can(int call, int kind);
/** Do ranks exchange something in it? */
bool plant_tells(int call);

/** Do kernels of the last run that go astray end in an error? On a device whose memory is not
 *  the host's they may end the process. */
bool plant_guards(void);

enum { PLANT_ALL_RANKS = -1 };

/** A fault; a plain value. `period` 0: `count` calls of the phase in a row, at its first,
 *  middle or last ones; else every period-th call. */
typedef struct plant_fault {
    int call, kind, phase, place, rank;
    size_t count, period;
    size_t spot; /**< which byte is flipped, or which number of a launch is halved */
} plant_fault;

/** What a fault did on this rank. */
typedef struct plant_report {
    size_t reached; /**< calls that it was planted in */
    size_t acted;   /**< of these, what it changed */
    bool spared;    /**< if it reached this rank, it spared such a call in the phase */
    size_t changed; /**< bytes that came out other than they should */
    size_t spoiled; /**< bytes that plant_spoil changed */
    size_t
        streams;  /**< most kernels in one launch of kernels that wait for each other */
    uint64_t key; /**< of the run's seals */
    double error; /**< the largest that a check found */
    bool other;   /**< a check found other numbers than without the fault */
    size_t sample; /**< the last that it reached, from 1; one before it in set-up */
    bool right;    /**< after each sample's steps device memory was as without it */
    bool checked;  /**< after each check it was */
    bool
        given; /**< after each sample's steps all buffers that the check is given were */
    bool
        told; /**< after each check the records that a result hands out and the work were */
    bool tells; /**< there are such records */
    bool busy;  /**< a command outlasted the steps of a sample */
    bool
        alone; /**< what differed then was no more than the buffers that were damaged */
    bool fixed; /**< or than buffers that hold the same from the first steps on */
    bool
        made; /**< after each sample's steps, or than what these and its input left alone */
    bool idler;  /**< if it acted, this rank has no commands or messages in the phase */
    bool apart;  /**< what was damaged came from no buffer that the check is given */
    bool clears; /**< what was to be written was nothing but zeros */
} plant_report;

/** Take the place of the tables of a session until `plant_close`. */
void plant_open(hf_session *session);
void plant_close(void);

/** The next two runs have no fault and are the reference: from the second on new buffers
 *  hold what they held at the end of the first, the worst that memory can come with. */
void plant_learn(void);

/** The next run, of `warmup` samples before the timed ones of a point, has this fault; NULL:
 *  none. */
void plant_start(const plant_fault *fault, size_t warmup);
plant_report plant_end(void);

/** Calls of a kind in a phase of the reference. */
size_t plant_total(int call, int phase);

enum {
    PLANT_SOUND,
    PLANT_LOST,
    PLANT_WRONG_FIRST,
    PLANT_WRONG_MIDDLE,
    PLANT_WRONG_LAST,
    PLANT_SPOILS
};

/** Results of the next run are wrong in a sample, from 1: its steps leave memory as it was
 *  before them, or the first, a middle or the last byte that they changed in each buffer is
 *  another; what they read does not come, or with such a byte. */
void plant_spoil(int how, size_t sample);

/** The next run has its fault in the input of the first timed sample, not in that of a warm-up
 *  (PLANT_INPUT), or in the steps of the other one of two timed samples (PLANT_STEPS). */
void plant_later(int phase);

/** Faults of components: `verify` finds every result right; the scheme swaps neighbours. */
void plant_blind(bool is);
void plant_swap(bool is);
/** Messages and links that a swap has sent elsewhere since. */
size_t plant_swapped(void);

#endif
