/* harmless.c - faults that a run may survive verified, each with the reason.
 *
 * Rules tell calls, kinds and phases, never benchmarks. A rule needs that some things hold, which
 * can be measured. The whole numbers of the result, the records that it hands out and the work
 * that rates are made of are always those of a run without a fault, and no command outlasts steps.
 */
#include "harmless.h"

#define ONE(x) (1U << (x))

/* Device memory is byte for byte that of a run without a fault after each sample's steps (RIGHT),
 * after each check (CHECKED). Nobody got other bytes (NOTHING); what did not come was nothing but
 * zeros (ZEROS). All buffers that the check is given are right, and those of the damaged bytes are
 * none of them (APART). In a run with this fault and another one, steps that got lost are seen,
 * and so are the first, a middle and the last of their bytes where one is wrong (SEEN). The result
 * is another one, and the check found other numbers than without the fault (OTHER). On each rank
 * that was hit at least one call of the same function in the phase was not (SPARED). The fault
 * changed nothing in any call that it was planted in (IDLE): what does not ask for that asks that
 * it did. There are records that the result hands out, as `graph` does: they are right to the last
 * byte after each check (TOLD). No other buffers differ than those that the fault damaged (ALONE).
 * The same fault in the input of the first timed sample, or of a timed sample's steps in those of
 * the other one of two, is seen (LATER). All buffers that hold
 * something else after later steps or checks are right (FIXED). After each sample's steps all
 * memory is right but for pieces that its input and steps leave as the check before them did, as
 * they do without the fault (MADE). A rank that was hit has neither commands nor messages in the
 * phase (IDLER). */
enum {
    RIGHT = ONE(0),
    CHECKED = ONE(1),
    SAME = RIGHT | CHECKED,
    NOTHING = ONE(2),
    ZEROS = ONE(3),
    APART = ONE(4),
    SEEN = ONE(5),
    OTHER = ONE(6),
    IDLE = ONE(7),
    TOLD = ONE(8),
    LATER = ONE(9),
    ALONE = ONE(10),
    FIXED = ONE(11),
    MADE = ONE(12),
    IDLER = ONE(13),
    SPARED = ONE(14)
};

#define ANY    (~0U)
#define STEPS  (ONE(PLANT_WARM_STEPS) | ONE(PLANT_STEPS))
#define CHECKS (ONE(PLANT_WARM_CHECK) | ONE(PLANT_CHECK))
#define DAMAGE (ONE(PLANT_FLIP) | ONE(PLANT_ZERO) | ONE(PLANT_STALE))

static const struct {
    unsigned calls, kinds, phases, proofs;
    const char *reason;
} rules[] = {
    {ANY, ONE(PLANT_ZERO), ANY, IDLE | SAME, "what was to be zeroed was zeros"},
    {ANY, ONE(PLANT_STALE), ANY, IDLE | SAME,
     "no call before it was of this kind, or it was the same"},
    {ONE(PLANT_LAUNCH), ONE(PLANT_FLIP), ANY, IDLE | SAME,
     "the launch left memory as it was: none of its bytes could be flipped"},
    {ONE(PLANT_LAUNCH), ONE(PLANT_SHORTEN), ANY, IDLE | SAME,
     "the launch has no number that could be halved"},
    {ONE(PLANT_LAUNCH), ONE(PLANT_REPEAT), ANY, IDLE | SAME,
     "kernels that meet others in their launch are not taken twice: the scheme is"},
    {ONE(PLANT_FINISH) | ONE(PLANT_WAIT) | ONE(PLANT_MARK), ONE(PLANT_DROP), ANY, SAME,
     "what a wait would have waited for had ended, or nobody needed it yet"},
    {ANY, ONE(PLANT_REPEAT), ANY, SAME,
     "work done twice leaves what it leaves once; the rate is lower, not higher"},
    {ONE(PLANT_WRITE) | ONE(PLANT_MAP) | ONE(PLANT_UNMAP), ANY, ~STEPS, SAME,
     "what was to prepare memory left it as it should be, or it was written again"},
    {ONE(PLANT_WRITE) | ONE(PLANT_UNMAP), ANY, ~STEPS, CHECKED | ALONE | SEEN,
     "memory that was damaged had been written again before it was checked, and no "
     "other memory differs"},
    {ONE(PLANT_WRITE), ANY, ONE(PLANT_WARM_INPUT), LATER | SEEN,
     "a warm-up takes one step: what only later steps would read is not used"},
    {ONE(PLANT_WRITE), ANY, ONE(PLANT_SETUP), ALONE | SEEN,
     "memory without a right answer got another wrong one: no result stands in it"},
    {ONE(PLANT_WRITE) | ONE(PLANT_LAUNCH), ANY, ONE(PLANT_SETUP), FIXED | SEEN,
     "a table has another value where nobody reads it: all that steps make is right"},
    {ONE(PLANT_WRITE), ANY, CHECKS, MADE | SEEN,
     "the results are right, and the check means the same by the numbers it was told"},
    {ONE(PLANT_COPY), ANY, CHECKS, MADE | SEEN,
     "the results are right: the check writes anew what was to be prepared for it"},
    {ONE(PLANT_WRITE), ANY, CHECKS, ALONE | SEEN,
     "memory for the check got another content, which no result of a later sample "
     "took"},
    {ONE(PLANT_LAUNCH), ONE(PLANT_SHORTEN), CHECKS, MADE | SEEN,
     "the results are right, and the check means the same by half of one number"},
    {ONE(PLANT_LAUNCH), ANY, ~(STEPS | CHECKS), SAME,
     "a launch that was to prepare memory left it as it should be"},
    {ONE(PLANT_WRITE) | ONE(PLANT_LAUNCH), ONE(PLANT_FLIP), STEPS, SAME,
     "the byte that was damaged was overwritten, or damaged back, before steps ended"},
    {ONE(PLANT_READ) | ONE(PLANT_WRITE), ONE(PLANT_SHORTEN), ONE(PLANT_STEPS),
     SAME | LATER,
     "other copies wrote over what was cut; in another sample, where they go the other "
     "way, it is seen"},
    {ONE(PLANT_WRITE), ANY, STEPS, SAME | ZEROS,
     "zeros, which are no result, were overwritten before anybody read them"},
    {ONE(PLANT_READ) | ONE(PLANT_WRITE), ONE(PLANT_FLIP), STEPS, APART | SEEN,
     "what the check is given is right to the last byte: padding was damaged, of "
     "blocks that only steps use"},
    {ONE(PLANT_SENDRECV) | ONE(PLANT_START), ONE(PLANT_FLIP), STEPS, APART | SEEN,
     "what the check is given is right to the last byte: padding of a message was "
     "damaged"},
    {ONE(PLANT_LAUNCH), ONE(PLANT_STALE), STEPS, SAME,
     "launches that do not depend on each other changed places: none is missing"},
    {ONE(PLANT_LAUNCH), ONE(PLANT_SHORTEN), STEPS, SAME,
     "the number that was halved is multiplied by zero: the work is the same"},
    {ONE(PLANT_LAUNCH), DAMAGE, CHECKS, MADE | SEEN,
     "the results are right: one of the numbers that the check finds was damaged, and "
     "others see what is wrong"},
    {ONE(PLANT_READ), DAMAGE | ONE(PLANT_SHORTEN), STEPS, SAME | SEEN,
     "what did not come as it was is needed by nobody: what is needed is sealed"},
    {ONE(PLANT_SENDRECV) | ONE(PLANT_START) | ONE(PLANT_READ) | ONE(PLANT_WRITE) |
         ONE(PLANT_COPY),
     ONE(PLANT_STALE), ANY, NOTHING,
     "what did not come lay there already, byte for byte"},
    {ONE(PLANT_SENDRECV) | ONE(PLANT_START) | ONE(PLANT_READ) | ONE(PLANT_WRITE) |
         ONE(PLANT_COPY),
     ONE(PLANT_SHORTEN), ~ONE(PLANT_STEPS), NOTHING,
     "nothing of it is timed, and what did not come lay there already, byte for byte"},
    {ONE(PLANT_SENDRECV) | ONE(PLANT_START), ONE(PLANT_DROP), STEPS | ONE(PLANT_SETUP),
     NOTHING, "the message came, and its bytes lay there already"},
    {ONE(PLANT_STEP), ONE(PLANT_DROP) | ONE(PLANT_SHORTEN), STEPS, SAME | IDLER,
     "this rank has no work in its steps"},
    {ONE(PLANT_READ) | ONE(PLANT_WRITE), ONE(PLANT_DROP), ONE(PLANT_WARM_STEPS),
     NOTHING, "a warm-up has no rate, and what did not come lay there already"},
    {ONE(PLANT_SENDRECV) | ONE(PLANT_START) | ONE(PLANT_READ), ANY, CHECKS,
     MADE | SPARED | SEEN,
     "the results are right: what ranks tell each other for the check is checked on "
     "each, too"},
    {ONE(PLANT_UNMAP), ANY, CHECKS, MADE,
     "memory that the host has checked is read by nobody before the next input"},
    {ONE(PLANT_MAP), DAMAGE, CHECKS, MADE | SEEN,
     "the results are right: the host was shown another byte, which is checked "
     "elsewhere"},
    {ONE(PLANT_READ) | ONE(PLANT_WRITE) | ONE(PLANT_SENDRECV) | ONE(PLANT_START), ANY,
     STEPS, OTHER | SPARED | SEEN,
     "a correction was damaged: the others made the result right, within the bound"},
    {ANY, ~ONE(PLANT_DROP), ANY, TOLD | SEEN,
     "the result that is handed out is right to the last byte, and wrong ones are "
     "seen"},
    {ONE(PLANT_WRITE), ONE(PLANT_DROP), ~STEPS, TOLD | SEEN,
     "the result that is handed out is right to the last byte, though memory that it "
     "does not lie in was not prepared"},
};

/* What can be told without another run. */
static unsigned measured(const plant_report *report) {
    return (report->right ? RIGHT : 0U) | (report->checked ? CHECKED : 0U) |
           (report->changed == 0 ? NOTHING : 0U) | (report->clears ? ZEROS : 0U) |
           (report->given && report->apart ? APART : 0U) |
           (!report->given && report->other ? OTHER : 0U) |
           (report->acted == 0 ? IDLE : 0U) | (report->tells ? TOLD : 0U) |
           (report->alone ? ALONE : 0U) | (report->fixed ? FIXED : 0U) |
           (report->made ? MADE : 0U) | (report->idler ? IDLER : 0U) |
           (report->spared ? SPARED : 0U);
}

const char *harmless(const plant_fault *fault, const plant_report *report,
                     bool (*sees)(const plant_fault *fault, const plant_report *report),
                     bool (*later)(const plant_fault *fault)) {
    unsigned holds = measured(report);
    if (!report->told || report->busy)
        return NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((rules[i].calls & ONE(fault->call)) &&
            (rules[i].kinds & ONE(fault->kind)) &&
            (rules[i].phases & ONE(fault->phase)) &&
            (rules[i].proofs & IDLE) == (holds & IDLE) &&
            (rules[i].proofs & ~(holds | SEEN | LATER)) == 0 &&
            (!(rules[i].proofs & LATER) || later(fault)) &&
            (!(rules[i].proofs & SEEN) || sees(fault, report)))
            return rules[i].reason;
    return NULL;
}
