/* Trains a classifier of handwritten digits with gradients from a library that gradir has written:
 * no Python, no gradir. export.py says how the library and the data are made.
 *
 *     train digits.bin [epochs]
 *
 * Prints the loss and the held-out accuracy of each epoch, which draw.py makes a picture of.
 * Exit code 1 if the result is a bad one.
 */
#include "libdigits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, PIXELS = 64, DIGITS = 10, INPUTS = 2, PARAMETERS = 6, MOST = 16 };
static const float RATE = 0.1f, MOMENTUM = 0.9f;
static const double WANTED = 0.97;

typedef struct {
    int64_t count;
    float *images;
    int64_t *labels;
} part;

static void *get(size_t size) {
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", size);
        exit(1);
    }
    memset(memory, 0, size);
    return memory;
}

static void read_or_exit(void *to, size_t size, FILE *file) {
    if (fread(to, 1, size, file) != size) {
        fprintf(stderr, "the data ends too early\n");
        exit(1);
    }
}

static part read_part(FILE *file) {
    part read;
    read_or_exit(&read.count, sizeof read.count, file);
    size_t count = (size_t)read.count;
    read.images = get(count * PIXELS * sizeof(float));
    read.labels = get(count * sizeof(int64_t));
    read_or_exit(read.images, count * PIXELS * sizeof(float), file);
    read_or_exit(read.labels, count * sizeof(int64_t), file);
    return read;
}

/* New arrays as a function describes them. */
static void make_arrays(gradir_array *arrays, const gradir_array_info *infos, int32_t count) {
    for (int32_t k = 0; k < count; k++) {
        const gradir_array_info *info = &infos[k];
        arrays[k] = (gradir_array){get((size_t)info->bytes), info->shape,   info->size, info->rank,
                                   info->dtype,              info->request, 0};
    }
}

static void free_arrays(gradir_array *arrays, int32_t count) {
    for (int32_t k = 0; k < count; k++)
        free(arrays[k].data);
}

/* Numbers from -1 to 1, the same on all machines. */
static float random_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(*state >> 32) / 2147483648.0f;
}

static void check(int32_t code, const gradir_status *status) {
    if (code != GRADIR_OK) {
        fprintf(stderr, "%s:%d: %s\n", status->file ? status->file : "?", (int)status->line,
                status->message);
        exit(1);
    }
}

/* The share of right answers. The last batch is filled with images that do not count. */
static double accuracy(const part *data, gradir_array *in, void *workspace) {
    static float logits[BATCH * DIGITS];
    const gradir_info *info = digits_predict_info();
    gradir_array out = {logits, info->out[0].shape,   info->out[0].size, info->out[0].rank,
                        info->out[0].dtype, GRADIR_WRITE, 0};
    gradir_status status = GRADIR_STATUS_INIT;
    gradir_array given[1 + PARAMETERS];
    given[0] = in[0];
    memcpy(&given[1], &in[INPUTS], PARAMETERS * sizeof *given);
    int64_t right = 0;
    for (int64_t first = 0; first < data->count; first += BATCH) {
        int64_t count = data->count - first < BATCH ? data->count - first : BATCH;
        memset(in[0].data, 0, BATCH * PIXELS * sizeof(float));
        memcpy(in[0].data, data->images + first * PIXELS, (size_t)count * PIXELS * sizeof(float));
        check(digits_predict(given, &out, workspace, &status), &status);
        for (int64_t row = 0; row < count; row++) {
            int64_t best = 0;
            for (int64_t k = 1; k < DIGITS; k++)
                if (logits[row * DIGITS + k] > logits[row * DIGITS + best])
                    best = k;
            right += best == data->labels[first + row];
        }
    }
    return (double)right / (double)data->count;
}

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: train digits.bin [epochs]\n");
        return 1;
    }
    part train = read_part(file), held_out = read_part(file);
    fclose(file);
    int epochs = argc > 2 ? atoi(argv[2]) : 20;

    const gradir_info *info = digits_grad_info();
    gradir_array in[MOST], out[MOST];
    make_arrays(in, info->in, info->n_in);
    make_arrays(out, info->out, info->n_out);
    float *momenta[PARAMETERS];
    uint64_t state = 1;
    for (int k = 0; k < PARAMETERS; k++) {
        gradir_array *parameter = &in[INPUTS + k];
        momenta[k] = get((size_t)parameter->size * sizeof(float));
        /* weights as He has them, biases 0 */
        float size = sqrtf(6.0f / (float)parameter->shape[0]);
        for (int64_t n = 0; parameter->rank == 2 && n < parameter->size; n++)
            GRADIR_DATA(float, *parameter)[n] = size * random_number(&state);
    }
    size_t grad_bytes = digits_grad_workspace_bytes();
    size_t predict_bytes = digits_predict_workspace_bytes();
    size_t bytes = grad_bytes > predict_bytes ? grad_bytes : predict_bytes;
    void *workspace = get(bytes);
    gradir_status status = GRADIR_STATUS_INIT;
    status.workspace_bytes = bytes;
    double found = 0;

    for (int epoch = 0; epoch < epochs; epoch++) {
        double loss = 0;
        int64_t steps = train.count / BATCH;
        for (int64_t step = 0; step < steps; step++) {
            memcpy(in[0].data, train.images + step * BATCH * PIXELS,
                   BATCH * PIXELS * sizeof(float));
            memcpy(in[1].data, train.labels + step * BATCH, BATCH * sizeof(int64_t));
            check(digits_grad(in, out, workspace, &status), &status);
            loss += GRADIR_DATA(float, out[0])[0];
            float rate = RATE * (1.0f - (float)epoch / (float)epochs);
            for (int k = 0; k < PARAMETERS; k++) {
                float *weights = GRADIR_DATA(float, in[INPUTS + k]);
                const float *gradient = GRADIR_DATA(float, out[1 + k]);
                for (int64_t n = 0; n < in[INPUTS + k].size; n++) {
                    momenta[k][n] = MOMENTUM * momenta[k][n] + gradient[n];
                    weights[n] -= rate * momenta[k][n];
                }
            }
        }
        found = accuracy(&held_out, in, workspace);
        printf("epoch %2d  loss %.4f  accuracy %.4f\n", epoch + 1, loss / (double)steps, found);
    }
    printf("held-out accuracy %.4f at level %s\n", found, info->levels[status.used_level - 1]);
    for (int k = 0; k < PARAMETERS; k++)
        free(momenta[k]);
    free_arrays(in, info->n_in);
    free_arrays(out, info->n_out);
    free(workspace);
    free(train.images), free(train.labels), free(held_out.images), free(held_out.labels);
    return found >= WANTED ? 0 : 1;
}
