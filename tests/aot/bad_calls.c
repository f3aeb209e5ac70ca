/* Calls with wrong arguments: prints the code and the message of each. */
#include "libf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SHAPE[2] = {2, 3}, OTHER[2] = {3, 2}, ONE[1] = {4};
static float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 1, 1, 1, 1, 1}, z[12], t[4] = {9, 8, 7, 6};
static gradir_array in[3], out[1];
static gradir_status status;
static _Alignas(64) char workspace[F_WORKSPACE_BYTES + F_ROOM_BYTES];

static void reset(void) {
    in[0] = (gradir_array){x, SHAPE, 6, 2, GRADIR_FLOAT32, 0, 0};
    in[1] = (gradir_array){y, SHAPE, 6, 2, GRADIR_FLOAT32, 0, 0};
    in[2] = (gradir_array){NULL, ONE, 0, 1, GRADIR_INT64, 0, 0};
    static const int64_t none[1] = {0};
    in[2].shape = none;
    out[0] = (gradir_array){z, SHAPE, 6, 2, GRADIR_FLOAT32, GRADIR_WRITE, 0};
    status = (gradir_status)GRADIR_STATUS_INIT;
    status.workspace_bytes = sizeof workspace;
}

static void call(const char *what, void *memory) {
    int32_t code = f(in, out, memory, &status);
    printf("%s: %d %d %s\n", what, (int)code, (int)status.argument, status.message);
    if (code != status.code && code != GRADIR_BAD_ABI)
        exit(1);
    reset();
}

static void *resize(void *context, void *memory, size_t old_bytes, size_t new_bytes) {
    size_t *counts = context;
    (void)old_bytes;
    counts[new_bytes ? 0 : 1]++;
    if (counts[2] && counts[0] >= counts[2])
        return NULL;
    if (new_bytes)
        return realloc(memory, new_bytes);
    free(memory);
    return NULL;
}

static void grow(size_t most) {
    size_t counts[3] = {0, 0, most};
    gradir_allocator own = {resize, counts};
    float seed = 1, result, slope;
    int64_t trips = 20000;
    gradir_array given[3] = {{&seed, NULL, 1, 0, GRADIR_FLOAT32, 0, 0},
                             {&trips, NULL, 1, 0, GRADIR_INT64, 0, 0},
                             {&seed, NULL, 1, 0, GRADIR_FLOAT32, 0, 0}};
    gradir_array made[2] = {{&result, NULL, 1, 0, GRADIR_FLOAT32, GRADIR_WRITE, 0},
                            {&slope, NULL, 1, 0, GRADIR_FLOAT32, GRADIR_WRITE, 0}};
    void *memory = aligned_alloc(64, g_vjp_workspace_bytes());
    status.workspace_bytes = g_vjp_workspace_bytes();
    status.allocator = &own;
    own.resize = NULL;
    g_vjp(given, made, memory, &status);
    printf("no allocator: %d %s\n", (int)status.code, status.message);
    own.resize = resize;
    int32_t code = g_vjp(given, made, memory, &status);
    printf("grow: %d %d %d %s\n", (int)code, (int)counts[0], (int)counts[1], status.message);
    free(memory);
    reset();
}

/* Results that are not written in their place, with just the room that they need. */
static void ask(void) {
    z[0] = 7, z[5] = 8;
    out[0].data = NULL, call("skipped", workspace);
    out[0].request = GRADIR_NULL, call("skipped", workspace);
    out[0].shape = (const int64_t *)16, out[0].request = GRADIR_NULL, call("skipped", workspace);
    out[0].shape = (const int64_t *)16, out[0].data = NULL, call("skipped", workspace);
    out[0] = (gradir_array){0}, call("skipped", workspace);
    printf("%g %g\n", z[0], z[5]);
    out[0].request = GRADIR_ADD, call("added", workspace);
    printf("%g %g\n", z[0], z[5]);
    float before[6];
    memcpy(before, x, sizeof x);
    out[0].data = x, call("in place", workspace);
    printf("%g %g\n", x[0], x[5]);
    in[1].data = x, out[0].data = x, out[0].request = GRADIR_ADD, call("added in place", workspace);
    printf("%g %g\n", x[0], x[5]);
    memcpy(x, before, sizeof x);
    if (gradir_room_bytes(&f_info()->out[0]) != F_ROOM_BYTES)
        exit(1);
}

int main(void) {
    reset();
    call("good", workspace);
    printf("%g %g\n", z[0], z[5]);
    printf("without a status: %d\n", (int)f(in, out, workspace, NULL));
    out[0].dtype = GRADIR_INT8;
    printf("without a status: %d\n", (int)f(in, out, workspace, NULL));
    reset();
    status.abi = 2, call("abi", workspace);
    in[1].dtype = GRADIR_FLOAT64, call("dtype", workspace);
    in[0].rank = 1, call("rank", workspace);
    in[0].rank = -1, call("rank", workspace);
    in[0].size = -6, call("size", workspace);
    in[0].shape = OTHER, call("shape", workspace);
    in[0].shape = NULL, call("no shape", workspace);
    in[0].size = 5, call("size", workspace);
    in[1].data = NULL, call("no data", workspace);
    in[0].data = (char *)x + 1, call("alignment", workspace);
    out[0].request = 3, call("unknown request", workspace);
    out[0].request = -1, call("unknown request", workspace);
    status.workspace_bytes = F_WORKSPACE_BYTES, out[0].data = NULL, call("no data", workspace);
    status.workspace_bytes = 0, out[0].request = GRADIR_NULL, call("null", workspace);
    status.workspace_bytes = 0, out[0].data = x, call("in place", workspace);
    out[0].data = x + 1, call("overlap", workspace);
    in[0].data = workspace + F_WORKSPACE_BYTES - 4, call("workspace", workspace);
    out[0].data = workspace, call("workspace", workspace);
    in[2].data = (char *)x + 1, call("an odd address of nothing", workspace);
    in[2].data = z + 1, call("nothing in a result", workspace);
    status.level = -1, call("no level", workspace);
    status.level = 7, call("any level", workspace);
    call("no workspace", NULL);
    call("workspace alignment", workspace + 8);
    status.workspace_bytes = F_WORKSPACE_BYTES - 1, call("small workspace", workspace);
    status.level = 1, status.stop = 1, call("stop is for long loops", workspace);
    printf("no arrays: %d %s\n", (int)f(NULL, out, workspace, &status), status.message);
    printf("no results: %d %s\n", (int)f(in, NULL, workspace, &status), status.message);
    reset();
    ask();
    grow(0);
    grow(1);
    return t[0] == 9 ? 0 : 1;
}
