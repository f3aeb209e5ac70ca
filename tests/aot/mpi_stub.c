/* An MPI library for one rank, whose handles are pointers: Open MPI's, or by -DABI MPI 5's.
 * It ends the program where a handle is not what it should be. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef ABI
#define WORLD ((void *)0x101)
#define SUM ((void *)0x21)
#define BYTE ((void *)0x247)
#define DOUBLE ((void *)0x214)
#else
char ompi_mpi_comm_world[64], ompi_mpi_op_sum[64], ompi_mpi_byte[64], ompi_mpi_double[64];
char ompi_mpi_float[64], ompi_mpi_int8_t[64], ompi_mpi_int16_t[64], ompi_mpi_int32_t[64];
char ompi_mpi_int64_t[64], ompi_mpi_uint8_t[64], ompi_mpi_uint16_t[64], ompi_mpi_uint32_t[64];
char ompi_mpi_uint64_t[64];
#define WORLD ((void *)ompi_mpi_comm_world)
#define SUM ((void *)ompi_mpi_op_sum)
#define BYTE ((void *)ompi_mpi_byte)
#define DOUBLE ((void *)ompi_mpi_double)
#endif
#define IN_PLACE ((void *)1)

static void require(int right) {
    if (!right)
        abort();
}

int MPI_Initialized(int *flag) { return *flag = getenv("MPI_STUB_NONE") == NULL, 0; }

static char everyone, chosen, made;

static void require_comm(void *comm) { require(comm == WORLD || comm == (void *)&made); }

int MPI_Comm_rank(void *comm, int *rank) { return require_comm(comm), *rank = 0; }
int MPI_Comm_size(void *comm, int *size) { return require_comm(comm), *size = 1, 0; }
int MPI_Comm_group(void *comm, void **group) {
    require(comm == WORLD);
    *group = &everyone;
    return 0;
}
int MPI_Group_incl(void *group, int count, const int *ranks, void **other) {
    require(group == &everyone && count == 1 && ranks[0] == 0);
    *other = &chosen;
    return 0;
}
int MPI_Group_free(void **group) {
    require(*group == &everyone || *group == &chosen);
    *group = NULL;
    return 0;
}
int MPI_Comm_create_group(void *comm, void *group, int tag, void **other) {
    static int calls;
    require(comm == WORLD && group == &chosen && tag == 0 && ++calls == 1);
    *other = &made;
    return 0;
}
int MPI_Ibarrier(void *comm, void **request) {
    require(comm == WORLD);
    *request = WORLD;
    return 0;
}

int MPI_Iallreduce(const void *from, void *to, int count, void *type, void *op, void *comm,
                   void **request) {
    require(from == IN_PLACE && to && count == 6 && type == DOUBLE && op == SUM && comm == WORLD);
    *request = to;
    return getenv("MPI_STUB_FAILS") ? 15 : 0;
}

int MPI_Wait(void **request, void *status) {
    require(*request != NULL);
    memset(status, 7, 24);
    *request = NULL;
    return 0;
}

int MPI_Ibcast(void *data, int count, void *type, int root, void *comm, void **request) {
    require(data && count == 48 && type == BYTE && root == 0 && comm == WORLD);
    *request = data;
    return 0;
}

static void *receiver;

int MPI_Irecv(void *to, int count, void *type, int source, int tag, void *comm, void **request) {
    require(to && count == 48 && type == BYTE && source == 0 && tag == 2 && comm == WORLD);
    receiver = *request = to;
    return 0;
}

int MPI_Isend(const void *from, int count, void *type, int target, int tag, void *comm,
              void **request) {
    require(receiver && count == 48 && type == BYTE && target == 0 && tag == 2 && comm == WORLD);
    memcpy(receiver, from, 48);
    *request = receiver;
    return 0;
}
