/* Each rank has a number x of its own; w goes down the gradient of the mean of (w x - 1)^2. */
#include "libstep.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank;
    static _Alignas(64) char workspace[STEP_WORKSPACE_BYTES];
    double w = 0, x, loss, slope;
    gradir_array in[2] = {{&w, NULL, 1, 0, GRADIR_FLOAT64, 0, 0}, {&x, NULL, 1, 0, GRADIR_FLOAT64, 0, 0}};
    gradir_array out[2] = {{&loss, NULL, 1, 0, GRADIR_FLOAT64, GRADIR_WRITE, 0},
                           {&slope, NULL, 1, 0, GRADIR_FLOAT64, GRADIR_WRITE, 0}};
    gradir_status status = GRADIR_STATUS_INIT;
    status.workspace_bytes = sizeof workspace;
    if (step(in, out, workspace, &status) == GRADIR_OPERATOR_FAILED)
        fprintf(stderr, "%s:%d: %s\n", status.file, (int)status.line, status.message);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    x = rank + 1;
    for (int k = 0; k < 200; k++) {
        if (step(in, out, workspace, &status)) {
            fprintf(stderr, "%s:%d: %s\n", status.file, (int)status.line, status.message);
            /* which all ranks see, before they communicate */
            return MPI_Finalize(), 1;
        }
        w -= 0.1 * slope;
    }
    printf("rank %d: w %.6f\n", rank, w);
    MPI_Finalize();
    return 0;
}
