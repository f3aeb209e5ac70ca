/* Native functions for tests: sin(x) * w with derivatives of every kind, and others. */
#include "gradir_op.h"

#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const gradir_array *array;

static double *data(array a) { return GRADIR_DATA(double, *a); }

int32_t wave(const gradir_call *call) {
    array x = &call->inputs[0], w = &call->inputs[1], y = &call->outputs[0];
    if (y->request == GRADIR_NULL) return 0;
    for (int64_t k = 0; k < x->size; k++) data(y)[k] = sin(data(x)[k]) * data(w)[k];
    return 0;
}

int32_t wave_back(const gradir_call *call) {
    array ct = &call->cotangents[0], x = &call->inputs[0], w = &call->inputs[1];
    for (int64_t k = 0; k < x->size; k++) {
        double c = data(ct)[k], v = data(x)[k];
        if (call->grads[0].data) data(&call->grads[0])[k] = c * cos(v) * data(w)[k];
        if (call->grads[1].data) data(&call->grads[1])[k] = c * sin(v);
    }
    return 0;
}

int32_t wave_tangent(const gradir_call *call) {
    array x = &call->inputs[0], w = &call->inputs[1], made = &call->out_tangents[0];
    array dx = &call->tangents[0], dw = &call->tangents[1];
    for (int64_t k = 0; k < x->size; k++)
        data(made)[k] =
            data(dx)[k] * cos(data(x)[k]) * data(w)[k] + sin(data(x)[k]) * data(dw)[k];
    return 0;
}

/* The cotangents of sin(x) * w, as an op of its own. */
int32_t slopes(const gradir_call *call) {
    array ct = &call->inputs[0], x = &call->inputs[1], w = &call->inputs[2];
    for (int64_t k = 0; k < x->size; k++) {
        double c = data(ct)[k], v = data(x)[k];
        if (call->outputs[0].data) data(&call->outputs[0])[k] = c * cos(v) * data(w)[k];
        if (call->outputs[1].data) data(&call->outputs[1])[k] = c * sin(v);
    }
    return 0;
}

int32_t slopes_back(const gradir_call *call) {
    array a = &call->cotangents[0], b = &call->cotangents[1];
    array ct = &call->inputs[0], x = &call->inputs[1], w = &call->inputs[2];
    for (int64_t k = 0; k < x->size; k++) {
        double s = sin(data(x)[k]), c = cos(data(x)[k]);
        double grads[3] = {
            data(a)[k] * c * data(w)[k] + data(b)[k] * s,
            data(ct)[k] * (data(b)[k] * c - data(a)[k] * s * data(w)[k]),
            data(a)[k] * data(ct)[k] * c,
        };
        for (int n = 0; n < 3; n++)
            if (call->grads[n].data) data(&call->grads[n])[k] = grads[n];
    }
    return 0;
}

int32_t slopes_tangent(const gradir_call *call) {
    array ct = &call->inputs[0], x = &call->inputs[1], w = &call->inputs[2];
    array d = &call->tangents[0], dx = &call->tangents[1], dw = &call->tangents[2];
    for (int64_t k = 0; k < x->size; k++) {
        double s = sin(data(x)[k]), c = cos(data(x)[k]), p = data(ct)[k];
        double move = data(d)[k] * c - p * s * data(dx)[k];
        if (call->out_tangents[0].data)
            data(&call->out_tangents[0])[k] = move * data(w)[k] + p * c * data(dw)[k];
        if (call->out_tangents[1].data)
            data(&call->out_tangents[1])[k] = data(d)[k] * s + p * c * data(dx)[k];
    }
    return 0;
}

/* x - mean; the state mean moves to the mean of x. */
int32_t centre(const gradir_call *call) {
    array x = &call->inputs[0], mean = &call->inputs[1];
    double sum = 0;
    for (int64_t k = 0; k < x->size; k++) {
        sum += data(x)[k];
        if (call->outputs[0].data) data(&call->outputs[0])[k] = data(x)[k] - *data(mean);
    }
    if (call->outputs[1].data)
        *data(&call->outputs[1]) = 0.5 * *data(mean) + 0.5 * sum / (double)x->size;
    return 0;
}

int32_t centre_back(const gradir_call *call) {
    array ct = &call->cotangents[0], grad = &call->grads[0];
    if (call->n_inputs != 2 || call->n_outputs != 2 || call->cotangents[1].dtype != GRADIR_NONE ||
        call->grads[1].data || call->inputs[0].data || call->outputs[1].shape)
        return gradir_fail(call, "what is not needed is there");
    memcpy(grad->data, ct->data, (size_t)ct->size * sizeof(double));
    return 0;
}

/* Fails where an element is negative: with a message, or for nan without. */
int32_t positive(const gradir_call *call) {
    array x = &call->inputs[0], y = &call->outputs[0];
    for (int64_t k = 0; k < x->size; k++) {
        if (isnan(data(x)[k])) return -7;
        if (data(x)[k] < 0) return gradir_fail(call, "element %d is %g", (int)k, data(x)[k]);
        data(y)[k] = data(x)[k];
    }
    return 0;
}

/* Whether the caller has the GIL: `data` is PyGILState_Check. */
int32_t has_gil(const gradir_call *call) {
    int (*check)(void) = (int (*)(void))(uintptr_t)call->data;
    *data(&call->outputs[0]) = check();
    return 0;
}

/* Waits until two threads are here: `data` counts them. Fails after a number of turns. */
int32_t meet(const gradir_call *call) {
    int64_t *count = (int64_t *)call->data;
    __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    for (int64_t turn = 0; turn < 2000000000; turn++)
        if (__atomic_load_n(count, __ATOMIC_SEQ_CST) >= 2) {
            *data(&call->outputs[0]) = *data(&call->inputs[0]);
            return 0;
        }
    return gradir_fail(call, "nobody came");
}

#ifdef __cplusplus
}
#endif
