/* pipes.c - runs that come and go at once: nobody cleans away what another has just made,
 * nor what no run made. And a kernel that writes for ever holds nobody who empties its pipe. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "core/error.h"
#include "medium.h"

enum { THREADS = 8, OPENINGS = 300, FOLDER_MAX = 233, MANY_READS = 100000 };

extern const hf_transport_ops hf_transport_self;

static long endless; /* reads so far of a pipe that is always full, if above 0 */

ssize_t __real_read(int file, void *bytes, size_t n);
ssize_t __wrap_read(int file, void *bytes, size_t n);

ssize_t __wrap_read(int file, void *bytes, size_t n) {
    if (endless == 0)
        return __real_read(file, bytes, n);
    return ++endless < MANY_READS ? (ssize_t)n : 0;
}

static hf_device device = {.folder = HF_FOLDER};

static hf_status pipes_open(hf_medium **out) {
    return hf_medium_pipes.open(out, &device, NULL);
}

static void folder_check(const hf_medium *pipes) {
    char folder[300] = "";
    CHECK(sscanf(pipes->prelude, "%*[^\"]\"%299[^\"]", folder) == 1, "%s",
          pipes->prelude);
    CHECK(access(folder, F_OK) == 0, "%s is gone", folder);
}

static void *openings_run(void *unused) {
    for (int i = 0; i < OPENINGS; i++) {
        hf_medium *pipes;
        hf_status status = pipes_open(&pipes);
        CHECK(status == HF_OK, "%s", hf_error());
        if (status != HF_OK)
            break;
        folder_check(pipes);
        hf_medium_pipes.close(pipes);
    }
    return unused;
}

static void file_make(const char *folder, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file, "%s", path);
    if (file)
        fclose(file);
}

/* Is it there? It goes, if so. */
static bool taken(const char *folder, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return unlink(path) == 0;
}

static void leftovers_take(void) {
    hf_medium *pipes;
    CHECK(pipes_open(&pipes) == HF_OK, "%s", hf_error());
    hf_medium_pipes.close(pipes);
}

/* What looks like a leftover, but is not: everybody may write in /tmp. */
static void strange_folders(void) {
    char folder[] = "/tmp/hpccfpga-pipes-XXXXXX", other[] = "/tmp/hpccfpga-testXXXXXX",
         link[sizeof folder + 1];
    CHECK(mkdtemp(folder) && mkdtemp(other));
    snprintf(link, sizeof link, "%s-", folder);
    file_make(folder, "notes");
    file_make(folder, "in0");
    file_make(folder, "lock"); /* from here on, any process may take it away */
    file_make(other, "in0");
    file_make(other, "lock");
    CHECK(symlink(other, link) == 0);
    leftovers_take();
    CHECK(!taken(folder, "in0") && !taken(folder, "lock"), "a leftover stays");
    CHECK(taken(folder, "notes"), "what pipes never are is gone");
    CHECK(taken(other, "in0"), "a link was followed");
    CHECK(unlink(link) == 0 && taken(other, "lock"));
    if (chown(folder, 65534, 65534) == 0) { /* we are root */
        file_make(folder, "in0");
        file_make(folder, "lock");
        leftovers_take();
        CHECK(taken(folder, "in0"), "another user's folder was emptied");
        CHECK(taken(folder, "lock"));
    }
    CHECK(rmdir(folder) == 0 && rmdir(other) == 0);
}

static void living_owner(void) {
    hf_medium *pipes;
    CHECK(pipes_open(&pipes) == HF_OK, "%s", hf_error());
    leftovers_take();
    folder_check(pipes);
    hf_medium_pipes.close(pipes);
}

/* In the folder that the session was given, whose name kernels hold. */
static void folder_given(void) {
    char parent[FOLDER_MAX + 2] = "/tmp/hpccfpga-testXXXXXX";
    hf_medium *pipes;
    CHECK(mkdtemp(parent));
    device.folder = parent;
    CHECK(pipes_open(&pipes) == HF_OK, "%s", hf_error());
    CHECK(strstr(pipes->prelude, parent), "%s", pipes->prelude);
    folder_check(pipes);
    hf_medium_pipes.close(pipes);
    CHECK(rmdir(parent) == 0, "something is left in %s", parent);
    CHECK(pipes_open(&pipes) == HF_EDEVICE && strstr(hf_error(), parent));
    device.folder = "/tmp/\"";
    CHECK(pipes_open(&pipes) == HF_EARG && strstr(hf_error(), "quote"));
    memset(parent, '/', FOLDER_MAX + 1);
    memcpy(parent + FOLDER_MAX - 3, "tmp", 4);
    device.folder = parent;
    CHECK(pipes_open(&pipes) == HF_OK, "%s", hf_error());
    folder_check(pipes);
    hf_medium_pipes.close(pipes);
    memcpy(parent + FOLDER_MAX - 3, "/tmp", 5);
    CHECK(pipes_open(&pipes) == HF_EARG && strstr(hf_error(), "characters"));
    device.folder = HF_FOLDER;
}

static void endless_writer(void) {
    static const hf_link link = {.from = 0};
    const hf_wiring wiring = {.links = &link, .ports = 1, .width = 64, .depth = 16};
    hf_transport *net;
    hf_medium *pipes;
    CHECK(hf_transport_self.open(&net, 0, "", 60) == HF_OK, "%s", hf_error());
    CHECK(hf_medium_pipes.open(&pipes, &device, net) == HF_OK, "%s", hf_error());
    pipes->wiring = wiring;
    CHECK(hf_medium_pipes.connect(pipes, &wiring) == HF_OK, "%s", hf_error());
    endless = 1;
    CHECK(hf_medium_pipes.clear(pipes) == HF_OK, "%s", hf_error());
    hf_medium_pipes.stop(pipes, "it never ends"); /* gives */
    hf_medium_pipes.stop(pipes, "it never ends"); /* takes */
    CHECK(endless > 1 && endless < MANY_READS, "%ld reads", endless);
    endless = 0;
    hf_medium_pipes.close(pipes);
    hf_transport_self.close(net);
}

int main(void) {
    folder_given();
    endless_writer();
    strange_folders();
    living_owner();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, openings_run, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return check_failures != 0;
}
