/* Operators of gradir in native code: what gradir calls. C11 and C++. See docs/operators.md.
 *
 *     #include "gradir_op.h"
 *
 *     int32_t square(const gradir_call *call) {
 *         const gradir_array *x = &call->inputs[0], *y = &call->outputs[0];
 *         const double *from = GRADIR_DATA(double, *x);
 *         double *to = GRADIR_DATA(double, *y);
 *         if (x->dtype != GRADIR_FLOAT64)
 *             return gradir_fail(call, "x must be float64, got dtype %d", (int)x->dtype);
 *         if (y->request == GRADIR_NULL)
 *             return 0; // nobody reads y: to is NULL
 *         for (int64_t k = 0; k < x->size; k++)
 *             to[k] = from[k] * from[k];
 *         return 0;
 *     }
 *
 * A function returns 0, or after a failure another number, with a text in `message` if it has one.
 * Then the call of the program ends, with HostCallError and this text.
 *
 * It runs on the thread that called gradir, without Python's GIL: it may use nothing of Python's
 * unless it takes the GIL. Several threads may run it at once, on different arrays, and it may be
 * called again while it runs, if it calls gradir. It keeps no pointer of a call. It must return: no
 * C++ exception and no longjmp may leave it. It leaves the floating-point environment as it is.
 */
#ifndef GRADIR_OP_H
#define GRADIR_OP_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "gradir_array.h"

/* The version of this file; `abi` of a call is that of the gradir that calls. Later versions have
 * further fields at the end of gradir_call, and the same fields before them. */
#define GRADIR_OP_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* `role` of a call. */
enum { GRADIR_FORWARD = 0, GRADIR_BACKWARD = 1, GRADIR_JVP = 2 };

/* The arguments of a function, by its role; pointers to arrays of other roles are NULL.
 *
 *     forward:  reads inputs; writes outputs
 *     backward: reads cotangents, inputs, outputs; writes grads
 *     jvp:      reads tangents, inputs, outputs; writes out_tangents
 */
typedef struct gradir_call {
    int32_t abi;
    int32_t role;
    int32_t n_inputs;  /* of inputs, grads, tangents */
    int32_t n_outputs; /* of outputs, cotangents, out_tangents */
    const gradir_array *inputs;
    const gradir_array *outputs;
    const gradir_array *cotangents;
    const gradir_array *grads;
    const gradir_array *tangents;
    const gradir_array *out_tangents;
    void *data;           /* of gradir.native(..., data=...), or NULL */
    char *message;        /* room for a text in UTF-8, empty before the call */
    int64_t message_size; /* its bytes, with the 0 at the end */
} gradir_call;

/* The type of a function that gradir calls. */
typedef int32_t gradir_op(const gradir_call *call);

/* Write the message of a failure, as printf does; 1, to be returned. */
#if defined(__GNUC__)
__attribute__((unused, format(printf, 2, 3)))
#endif
static int32_t gradir_fail(const gradir_call *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->message, (size_t)call->message_size, format, arguments);
    va_end(arguments);
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif
