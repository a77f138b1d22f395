/* team.h - threads that stay, for work of the host that is too short to begin threads for. */
#ifndef HF_TEAM_H
#define HF_TEAM_H

#include <stddef.h>
#include <stdint.h>

typedef struct hf_team hf_team;

enum { HF_MAX_TEAM = 8, HF_TEAM_PARTS = UINT16_MAX };

/** So many threads beside the caller's, HF_MAX_TEAM at most. NULL: there can be none. */
hf_team *hf_team_new(size_t threads);
/** Accepts NULL. */
void hf_team_free(hf_team *team);

/** Call work(context, i) for i = 0 .. n - 1, each once, by the caller and by those threads that
 *  have time, and wait; n is at most HF_TEAM_PARTS. NULL: the caller alone. */
void hf_team_work(hf_team *team, size_t n, void (*work)(void *context, size_t i),
                  void *context);

#endif
