/* Functions that gradir has compiled ahead of time: what they take and say. C11 and C++. See
 * docs/ahead-of-time.md. A library has three functions for each of its functions NAME:
 *
 *     int32_t NAME(const gradir_array *in, gradir_array *out, void *workspace,
 *                  gradir_status *status);
 *     size_t NAME_workspace_bytes(void);
 *     const gradir_info *NAME_info(void);
 *
 * NAME reads the arrays `in`, writes the arrays `out`, and returns 0, or after a failure the code
 * that is in `status`, too. Arrays must be as NAME_info says. Many threads may call it at once, each
 * with its own workspace, status and arrays to write.
 */
#ifndef GRADIR_ABI_H
#define GRADIR_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "gradir_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of all that is in this file. */
#define GRADIR_ABI 1

/* What a workspace must be aligned to, in bytes. */
#define GRADIR_WORKSPACE_ALIGNMENT 64

#define GRADIR_MESSAGE_BYTES 440

/* `request` of an array of `out`, beside GRADIR_NULL and GRADIR_WRITE: what is in it is read, and then
 * replaced by it and the result, added. */
#define GRADIR_ADD 2

/* What a function returns. From GRADIR_BAD_ABI to GRADIR_BAD_WORKSPACE nothing was written to the
 * arrays; after the others `out` may have any contents. A call may ask for another request than
 * gradir_info says: see gradir_room_bytes. */
enum {
    GRADIR_OK = 0,
    GRADIR_BAD_ABI = 1,        /* status->abi is not the library's; nothing is written to status */
    GRADIR_BAD_CPU = 2,        /* the processor has no level of the library; a level below 0 */
    GRADIR_NULL_POINTER = 3,   /* an array, its data or its shape is missing */
    GRADIR_BAD_DTYPE = 4,
    GRADIR_BAD_SHAPE = 5,      /* rank, extents or size */
    GRADIR_BAD_ALIGNMENT = 6,  /* data is not aligned to its elements */
    GRADIR_BAD_REQUEST = 7,    /* of an array of `out`, which the function cannot do */
    GRADIR_OVERLAP = 8,        /* an array of `out`, or the workspace, shares memory with another one */
    GRADIR_BAD_WORKSPACE = 9,  /* missing, too small, not aligned */
    GRADIR_STOPPED = 10,       /* status->stop was set */
    GRADIR_OUT_OF_RANGE = 11,  /* an index in the data */
    GRADIR_FAILED = 12,        /* another check of the program */
    GRADIR_NO_MEMORY = 13,     /* a tape has reached its limit, or the allocator has no more */
    GRADIR_OPERATOR_FAILED = 14 /* a native operator has returned another number than 0 */
};

/* The memory of tapes that grow. `resize` gives `new_bytes` of memory, aligned to 16 bytes, with the
 * contents of `memory` (NULL: none), which it frees; NULL where there is none left, and then `memory`
 * stays. `new_bytes` 0 frees it and returns NULL. Many threads may call it at once. */
typedef struct gradir_allocator {
    void *(*resize)(void *context, void *memory, size_t old_bytes, size_t new_bytes);
    void *context;
} gradir_allocator;

/* A call: first what the caller asks for, then what has happened. GRADIR_STATUS_INIT, or all 0 and
 * `abi`, is a call on one thread at the best level of the processor. In place of a status NULL says
 * the same, and nothing is told but the code. */
typedef struct gradir_status {
    int32_t abi;            /* GRADIR_ABI */
    int32_t threads;        /* the most threads, the caller's included; 0 is 1 */
    int32_t level;          /* the highest level, counted from 1 as in gradir_info; 0: any */
    int32_t stop;           /* another thread sets it to end the call: see gradir_stop */
    size_t workspace_bytes; /* the size of the workspace, to be checked; 0: it is not */
    const gradir_allocator *allocator; /* NULL: realloc and free */

    int32_t code;       /* what the function returned */
    int32_t used_level; /* the level that ran, counted from 1; 0: none */
    int32_t argument;   /* k of a wrong in[k]; -1 - k of a wrong out[k] */
    int32_t line;       /* of `file`; 0 where it is not known */
    int32_t column;
    int32_t reserved;
    const char *op;   /* the failed op of the program, or NULL */
    const char *file; /* the source of the program, or NULL */
    char message[GRADIR_MESSAGE_BYTES];
} gradir_status;

#define GRADIR_STATUS_INIT {GRADIR_ABI, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, {0}}

/* An array of a function. */
typedef struct gradir_array_info {
    const char *name;
    const int64_t *shape; /* `rank` extents */
    int64_t size;         /* the number of elements */
    int64_t bytes;
    int32_t rank;
    int32_t dtype;
    int32_t request; /* of `out`: GRADIR_WRITE, or GRADIR_ADD, whose contents are read */
    int32_t alignment; /* of data, in bytes */
} gradir_array_info;

/* A function. */
typedef struct gradir_info {
    int32_t abi;
    int32_t threads; /* the most threads of a call */
    const char *version; /* of the gradir that compiled it */
    const char *name;
    const gradir_array_info *in;
    const gradir_array_info *out;
    int32_t n_in;
    int32_t n_out;
    int32_t n_levels;
    int32_t grows; /* 1: a call may allocate memory, for tapes */
    size_t workspace_bytes; /* the largest of all levels */
    const char *const *levels; /* the lowest first */
    const size_t *level_bytes; /* the workspace of each */
} gradir_info;

/* A result of the request GRADIR_WRITE may be left out by a call, with the request GRADIR_NULL or without
 * data, added to what is in it, with GRADIR_ADD, or written in the place of an argument of as many bytes.
 * For each such result the workspace has this much memory behind NAME_workspace_bytes(), and
 * status->workspace_bytes says all of it. */
static inline size_t gradir_room_bytes(const gradir_array_info *result) {
    const size_t unit = GRADIR_WORKSPACE_ALIGNMENT;
    return ((size_t)result->bytes + unit - 1) / unit * unit;
}

/* End a call from another thread: it returns GRADIR_STOPPED at its next look, in a long loop. */
static inline void gradir_stop(gradir_status *status) {
#if defined(__GNUC__)
    __atomic_store_n(&status->stop, 1, __ATOMIC_RELAXED);
#else
    *(volatile int32_t *)&status->stop = 1;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
