/* pipes.c - runs that come and go at once: nobody cleans away what another has just made. */
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "core/error.h"
#include "pipes.h"

enum { THREADS = 8, OPENINGS = 300 };

static void *openings_run(void *unused) {
    for (int i = 0; i < OPENINGS; i++) {
        hf_pipes *pipes;
        hf_status status = hf_pipes_open(&pipes);
        CHECK(status == HF_OK, "%s", hf_error());
        if (status != HF_OK)
            break;
        CHECK(access(hf_pipes_folder(pipes), F_OK) == 0, "%s is gone",
              hf_pipes_folder(pipes));
        hf_pipes_close(pipes);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, openings_run, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return check_failures != 0;
}
