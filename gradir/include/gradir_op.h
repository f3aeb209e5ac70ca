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

/* The version of this file; `abi` of a call is that of the gradir that calls. Later versions have
 * further fields at the end of gradir_call, and the same fields before them. */
#define GRADIR_OP_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* `dtype` of an array; GRADIR_NONE where there is no array. A bool is a byte, 0 or 1; FLOAT16 is
 * IEEE's binary16, BFLOAT16 the upper half of a binary32. */
enum {
    GRADIR_NONE = 0,
    GRADIR_BOOL = 1,
    GRADIR_INT8 = 2,
    GRADIR_UINT8 = 3,
    GRADIR_INT32 = 4,
    GRADIR_INT64 = 5,
    GRADIR_FLOAT16 = 6,
    GRADIR_BFLOAT16 = 7,
    GRADIR_FLOAT32 = 8,
    GRADIR_FLOAT64 = 9,
    GRADIR_INT16 = 10,
    GRADIR_UINT16 = 11,
    GRADIR_UINT32 = 12,
    GRADIR_UINT64 = 13
};

/* `request` of an array to write. */
enum {
    GRADIR_NULL = 0, /* nobody reads it: data is NULL */
    GRADIR_WRITE = 1 /* write all of it; what was in it is never to be read */
};

/* `role` of a call. */
enum { GRADIR_FORWARD = 0, GRADIR_BACKWARD = 1, GRADIR_JVP = 2 };

/* An array: C-contiguous, aligned to the size of its elements. Arrays to write share no memory with
 * other arrays of the call. An array that is not there, since the op does not need it or there is
 * no such cotangent, is all zero. That of a size 0 may have any pointer. */
typedef struct gradir_array {
    void *data;           /* written by arrays to write only; NULL: not there, or nobody reads it */
    const int64_t *shape; /* `rank` extents */
    int64_t size;         /* their product: the number of elements */
    int32_t rank;
    int32_t dtype;
    int32_t request; /* of an array to write */
    int32_t reserved;
} gradir_array;

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

/* The elements of an array. */
#define GRADIR_DATA(type, array) ((type *)(array).data)

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
