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
int MPI_Comm_rank(void *comm, int *rank) { return require(comm == WORLD), *rank = 0; }
int MPI_Comm_size(void *comm, int *size) { return require(comm == WORLD), *size = 1, 0; }
int MPI_Barrier(void *comm) { return require(comm == WORLD), 0; }

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

int MPI_Bcast(void *data, int count, void *type, int root, void *comm) {
    return require(data && count == 48 && type == BYTE && root == 0 && comm == WORLD), 0;
}

int MPI_Sendrecv(const void *from, int count, void *type, int target, int tag, void *to,
                 int other_count, void *other_type, int source, int other_tag, void *comm,
                 void *status) {
    require(count == 48 && type == BYTE && target == 0 && other_count == 48 && other_type == BYTE);
    require(source == 0 && tag == other_tag && comm == WORLD && status);
    memcpy(to, from, 48);
    return 0;
}
int MPI_Send(void) { abort(); }
int MPI_Recv(void) { abort(); }
