/* channel.c - b_eff over the scheme `channel`: sessions of 1 to 16 ranks, and its faults.
 *
 * channel DEVICE KERNEL_FOLDER [NAME=VALUE ...]   runs b_eff with these parameters and
 *                                                 prints a row per size
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/error.h"

static unsigned char *program;
static size_t program_bytes;
static int rank, size;

static void program_build(hf_session *session, const char *folder, const char *knobs) {
    char path[1024], options[1400];
    char *source = calloc(1, 1 << 18);
    snprintf(path, sizeof path, "%s/b_eff_stream.cl", folder);
    snprintf(options, sizeof options, "-I%s%s", folder, knobs);
    FILE *file = fopen(path, "rb");
    CHECK(file && fread(source, 1, (1 << 18) - 1, file) > 0, "%s", path);
    if (file)
        fclose(file);
    CHECK(hf_session_build(session, source, options, &program, &program_bytes) == HF_OK,
          "%s", hf_error());
    free(source);
}

static const hf_column *column_find(const hf_result *result, const char *name) {
    const hf_column *column;
    for (size_t i = 0; (column = hf_result_column(result, i)); i++)
        if (strcmp(column->name, name) == 0)
            return column;
    CHECK(false, "no column %s", name);
    abort();
}

static double entry(const hf_result *result, const char *name, size_t i) {
    const hf_column *column = column_find(result, name);
    return column->dtype == HF_F64   ? ((double *)column->data)[i]
           : column->dtype == HF_I64 ? (double)((int64_t *)column->data)[i]
                                     : ((unsigned char *)column->data)[i];
}

static void rows_print(const hf_result *result) {
    size_t n = column_find(result, "time")->shape[0];
    for (size_t i = 0; rank == 0 && i < n; i++)
        printf("%8.0f B  %9.3f us  %9.3f us  %8.3f GB/s  inner %.0f  error %g\n",
               entry(result, "message_size", i), 1e6 * entry(result, "time", i),
               1e6 * entry(result, "time_median", i),
               1e-9 * entry(result, "bandwidth", i), entry(result, "inner", i),
               entry(result, "error", i));
}

int main(int argc, char **argv) {
    if (argc < 3)
        return fprintf(stderr, "channel DEVICE KERNEL_FOLDER [NAME=VALUE ...]\n"), 2;
    MPI_Init(&argc, &argv);
    char version[8192], knobs[256] = "";
    hf_mpi_library(version, sizeof version);
    hf_options options = {.device = argv[1],
                          .exchange = "channel",
                          .library = version,
                          .comm = MPI_Comm_c2f(MPI_COMM_WORLD),
                          .has_comm = true};
    hf_session *session = NULL;
    CHECK(hf_session_open(&session, &options) == HF_OK, "%s", hf_error());
    if (!session)
        return 1;
    rank = hf_session_facts(session).rank;
    size = hf_session_facts(session).size;
    hf_args *args;
    CHECK(hf_args_new(&args, "b_eff") == HF_OK);
    for (int i = 3; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        *equals = '\0';
        if (argv[i][0] == '-')
            snprintf(knobs + strlen(knobs), sizeof knobs - strlen(knobs), " %s=%s",
                     argv[i], equals + 1);
        else
            CHECK(hf_args_set(args, argv[i], 0, NULL, equals + 1) == HF_OK, "%s",
                  hf_error());
    }
    if (strcmp(argv[1], "host") != 0)
        program_build(session, argv[2], knobs);
    hf_result *result = NULL;
    hf_run run = {.bench = "b_eff",
                  .args = args,
                  .kernel = "b_eff_stream",
                  .binary = program,
                  .binary_bytes = program_bytes};
    CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
    if (result) {
        rows_print(result);
        CHECK(hf_result_verified(result));
        hf_result_free(result);
    }
    hf_args_free(args);
    hf_session_close(session);
    MPI_Finalize();
    free(program);
    return check_failures != 0;
}
