/* Tridiagonal systems by Thomas' algorithm, and their adjoint, as functions of a gradir.custom_op.
 *
 *     x = solve(lower, diagonal, upper, b)
 *
 * Row i of the matrix is lower[i], diagonal[i], upper[i] in columns i - 1, i, i + 1; lower[0] and
 * upper[n - 1] are not used. b and x have a right-hand side per row. There is no pivoting: it is
 * for matrices with a dominant diagonal. */
#include "gradir_op.h"

#include <stdlib.h>

/* below[i] is in row i + 1 and column i, above[i] in row i and column i + 1. */
typedef struct {
    int64_t n;
    const double *below, *diagonal, *above;
} matrix;

static matrix transposed(matrix a) {
    matrix made = {a.n, a.above, a.diagonal, a.below};
    return made;
}

/* Eliminate the lower band: the pivots' inverses, and the upper band of what is left. Returns the
 * row of a pivot that is 0, or n. */
static int64_t eliminate(matrix a, double *inverse, double *upper) {
    for (int64_t i = 0; i < a.n; i++) {
        double pivot = a.diagonal[i];
        if (i > 0) pivot -= a.below[i - 1] * upper[i - 1];
        if (pivot == 0) return i;
        inverse[i] = 1 / pivot;
        upper[i] = i + 1 < a.n ? a.above[i] * inverse[i] : 0;
    }
    return a.n;
}

static void substitute(matrix a, const double *inverse, const double *upper, const double *b,
                       double *x) {
    for (int64_t i = 0; i < a.n; i++)
        x[i] = (i > 0 ? b[i] - a.below[i - 1] * x[i - 1] : b[i]) * inverse[i];
    for (int64_t i = a.n - 2; i >= 0; i--) x[i] -= upper[i] * x[i + 1];
}

/* x of all rows of b; an error goes to the call. */
static int32_t solve_rows(const gradir_call *call, matrix a, int64_t rows, const double *b,
                          double *x) {
    double *work = (double *)malloc((size_t)(2 * a.n + 1) * sizeof(double));
    if (!work) return gradir_fail(call, "no memory for %lld rows", (long long)a.n);
    int64_t row = eliminate(a, work, work + a.n);
    if (row == a.n)
        for (int64_t r = 0; r < rows; r++) substitute(a, work, work + a.n, b + r * a.n, x + r * a.n);
    free(work);
    return row == a.n ? 0 : gradir_fail(call, "the pivot of row %lld is 0", (long long)row);
}

static int32_t check(const gradir_call *call) {
    const gradir_array *b = &call->inputs[3];
    for (int k = 0; k < 4; k++)
        if (call->inputs[k].dtype != GRADIR_FLOAT64 || call->inputs[k].rank != (k == 3 ? 2 : 1) ||
            call->inputs[k].shape[call->inputs[k].rank - 1] != b->shape[b->rank - 1])
            return gradir_fail(call, "expected float64 bands [n] and right-hand sides [rows, n]");
    return 0;
}

static matrix matrix_of(const gradir_call *call) {
    const gradir_array *in = call->inputs;
    matrix made = {in[0].size, GRADIR_DATA(double, in[0]) + 1, GRADIR_DATA(double, in[1]),
                   GRADIR_DATA(double, in[2])};
    return made;
}

int32_t solve(const gradir_call *call) {
    const gradir_array *b = &call->inputs[3], *x = &call->outputs[0];
    int32_t failed = check(call);
    if (failed || x->request == GRADIR_NULL) return failed;
    return solve_rows(call, matrix_of(call), b->shape[0], GRADIR_DATA(double, *b),
                      GRADIR_DATA(double, *x));
}

/* The cotangent of b solves the transposed system; that of a matrix element is minus the product of
 * it with x, summed over the right-hand sides. */
int32_t solve_back(const gradir_call *call) {
    matrix a = matrix_of(call);
    int64_t n = a.n, rows = call->cotangents[0].shape[0];
    const double *x = GRADIR_DATA(double, call->outputs[0]);
    double *of_b = GRADIR_DATA(double, call->grads[3]);
    double *own = of_b ? NULL : (double *)malloc((size_t)(rows * n + 1) * sizeof(double));
    if (!of_b && !own) return gradir_fail(call, "no memory for %lld rows", (long long)rows);
    double *adjoint = of_b ? of_b : own;
    int32_t failed = solve_rows(call, transposed(a), rows,
                                GRADIR_DATA(double, call->cotangents[0]), adjoint);
    for (int band = 0; band < 3 && !failed; band++) {
        double *grad = GRADIR_DATA(double, call->grads[band]);
        if (!grad) continue; /* nobody reads it */
        for (int64_t i = 0; i < n; i++) {
            int64_t column = i + band - 1;
            grad[i] = 0;
            if (column >= 0 && column < n)
                for (int64_t r = 0; r < rows; r++) grad[i] -= adjoint[r * n + i] * x[r * n + column];
        }
    }
    free(own);
    return failed;
}
