/* The arrays of gradir in C: of native operators (gradir_op.h) and of compiled functions
 * (gradir_abi.h). C11 and C++. */
#ifndef GRADIR_ARRAY_H
#define GRADIR_ARRAY_H

#include <stdint.h>

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

/* The elements of an array. */
#define GRADIR_DATA(type, array) ((type *)(array).data)

#endif
