"""Programs of linear algebra on batches of square matrices: solves, Cholesky and LU.

Nearly all work is done on groups of eight rows: for a vector of columns, eight sums are kept in
registers while the rows before them go by, each loaded once and multiplied by eight scalars. Sums
are of products with their signs turned, from the negated element on, so that each step is one fma.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan, prod

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.programs import ElementView, Index, ScalarProgram, block_of, forall
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp

# Rows whose sums are kept in registers.
ROWS = 8
# Columns of a right-hand side per iteration.
COLUMNS = 64
# Columns of a panel: LU updates the rest of the matrix once per panel.
PANEL = 32

Factor = Callable[[Index, Index], Scalar]
Element = Callable[[Index], Scalar]


def batched(
    emitter: Emitter,
    operands: Sequence[SSAValue],
    types: Sequence[Attribute],
    ranks: Sequence[int],
    bounds: Sequence[int],
    body: Callable[..., None],
    kept: int,
) -> list[SSAValue]:
    """A forall over a batch and `bounds`, on operands and results whose leading axes are one.

    `ranks` are the numbers of axes of each result without the batch; the results after the first
    `kept` are scratch.
    """
    batch = prod(shape_of(operands[0].type)[:-2])
    flat = [emitter.insert(LoopnestReshapeOp(v, _flat(v.type, 2, batch))).result for v in operands]
    made = [_flat(t, r, batch) for t, r in zip(types, ranks, strict=True)]
    found = forall(emitter, [batch, *bounds], flat, made, body)
    pairs = zip(found[:kept], types, strict=False)
    return [emitter.insert(LoopnestReshapeOp(v, t)).result for v, t in pairs]


def _flat(type_: Attribute, rank: int, batch: int) -> Attribute:
    shape = shape_of(type_)
    return tensor([batch, *shape[len(shape) - rank :]], element_of(type_))


def row_groups(
    p: ScalarProgram, start: Index, stop: int, write: Callable[[Index, int], None]
) -> None:
    """`write(first, count)` for all rows from `start`, in groups of ROWS and a smaller last one."""

    def group(i: Scalar) -> None:
        write(i, ROWS)

    def single(i: Scalar) -> None:
        write(i, 1)

    if isinstance(start, int):
        whole = start + (stop - start) // ROWS * ROWS
        if whole > start:
            p.for_loop(start, whole, group, step=ROWS)
        if whole < stop:
            write(whole, stop - whole)
        return
    count = p.integer(stop) - start
    end = start + b.logical_and(count, p.integer(-ROWS))
    p.for_loop(start, end, group, step=ROWS)
    p.for_loop(end, stop, single)


def products(
    p: ScalarProgram, sums: Sequence[Scalar], low: Index, high: Index, left: Factor, right: Element
) -> list[Scalar]:
    """sums[r] + left(r, k) * right(k) over k, one fma after the other."""

    def step(k: Scalar, *totals: Scalar) -> list[Scalar]:
        shared = right(k)
        return [b.fma(left(r, k), shared, total) for r, total in enumerate(totals)]

    return p.for_loop(low, high, step, sums)


@dataclass(frozen=True)
class TriangularSolve:
    """x with t x = b; t is the lower or the upper triangle of a, or its transpose.

    With `unit` ones are taken for the diagonal.
    """

    lower: bool
    transpose: bool
    unit: bool

    def emit(self, emitter: Emitter, a: SSAValue, right: SSAValue) -> SSAValue:
        """For a of shape [.., n, n] and b of shape [.., n, m]."""
        *_, rows, columns = shape_of(right.type)

        def write(p: ScalarProgram, a: ElementView, right: ElementView, x: ElementView) -> None:
            span = block_of(p, p.index(1), columns, COLUMNS)

            def group(first: Index, count: int) -> None:
                self.group(p, a, right, x, span, first, count)

            row_groups(p, 0, rows, group)

        bounds = [-(-columns // COLUMNS)]
        [x] = batched(emitter, [a, right], [right.type], [2], bounds, write, 1)
        return x

    def group(
        self,
        p: ScalarProgram,
        a: ElementView,
        right: ElementView,
        x: ElementView,
        columns: tuple[Index, Index],
        first: Index,
        count: int,
    ) -> None:
        """Solve for rows first ... first + count - 1, in the order of substitution."""
        batch, size = p.index(0), a.shape[-1]
        forwards = self.lower != self.transpose

        def row(k: Index) -> Index:
            return k if forwards else size - 1 - k

        def factor(i: Index, k: Index) -> Scalar:
            i, k = row(first + i), row(k)
            return a[batch, k, i] if self.transpose else a[batch, i, k]

        def column(j: Scalar) -> None:
            def before(k: Index) -> Scalar:
                return x[batch, row(k), j]

            sums = [-right[batch, row(first + r), j] for r in range(count)]
            sums = products(p, sums, 0, first, factor, before)
            solved: list[Scalar] = []
            for r, total in enumerate(sums):
                for s, earlier in enumerate(solved):
                    total = b.fma(factor(r, first + s), earlier, total)
                value = -total
                solved.append(value if self.unit else value / factor(r, first + r))
                x[batch, row(first + r), j] = solved[-1]

        p.lanes(*columns, column)


def emit_cholesky(emitter: Emitter, a: SSAValue) -> SSAValue:
    """The lower factor of the symmetric part of a; all nan where that is not positive definite."""
    size = shape_of(a.type)[-1]
    # the upper factor is computed, row by row, and written down transposed
    types, ranks = [a.type, a.type], [2, 2]
    [factor] = batched(emitter, [a], types, ranks, [], _Cholesky(size).write, 1)
    return factor


@dataclass(frozen=True)
class _Cholesky:
    size: int

    def write(self, p: ScalarProgram, a: ElementView, out: ElementView, upper: ElementView) -> None:
        size, batch = self.size, p.index(0)
        whole = size - size % ROWS
        good = p.number(1, i1)

        def group(i: Scalar, good: Scalar) -> Scalar:
            return self.group(p, a, upper, i, ROWS, good)

        if whole:
            (good,) = p.for_loop(0, whole, group, [good], ROWS)
        if whole < size:
            good = self.group(p, a, upper, whole, size - whole, good)

        def row(i: Scalar) -> None:
            def column(j: Scalar) -> None:
                # elements above the diagonal are read, but not used
                value = upper[batch, b.minimum(i, j), i]
                value = b.select(good, value, p.number(nan, a.compute))
                out[batch, i, j] = b.select(j <= i, value, p.number(0, a.compute))

            p.lanes(0, size, column)

        p.for_loop(0, size, row)

    def group(
        self,
        p: ScalarProgram,
        a: ElementView,
        upper: ElementView,
        first: Index,
        count: int,
        good: Scalar,
    ) -> Scalar:
        """Rows of the upper factor; returns whether all of the diagonal was positive."""
        size, batch = self.size, p.index(0)

        def reduce(j: Scalar) -> None:
            sums: list[Scalar] = []
            for r in range(count):
                i = first + r
                sums.append((a[batch, i, j] + a[batch, j, i]) * -0.5)

            def left(r: Index, k: Index) -> Scalar:
                return upper[batch, k, first + r]

            def right(k: Index) -> Scalar:
                return upper[batch, k, j]

            sums = products(p, sums, 0, first, left, right)
            for r, total in enumerate(sums):
                upper[batch, first + r, j] = -total

        p.lanes(first, size, reduce)

        def finish(i: Scalar, good: Scalar) -> Scalar:
            return self.finish_row(p, upper, i, first + count, good)

        (good,) = p.for_loop(first, first + count, finish, [good])
        return good

    def finish_row(
        self, p: ScalarProgram, upper: ElementView, i: Scalar, end: Index, good: Scalar
    ) -> Scalar:
        """Scale a row, and subtract its part from the later rows of its group."""
        batch = p.index(0)
        pivot = upper[batch, i, i]
        root = b.sqrt(pivot)

        def scale(j: Scalar) -> None:
            upper[batch, i, j] = upper[batch, i, j] / root

        def row(k: Scalar) -> None:
            factor = -upper[batch, i, k]

            def subtract(j: Scalar) -> None:
                upper[batch, k, j] = b.fma(factor, upper[batch, i, j], upper[batch, k, j])

            p.lanes(k, self.size, subtract)

        p.lanes(i, self.size, scale)
        p.for_loop(i + 1, end, row)
        return b.logical_and(good, pivot > p.number(0, upper.compute))


def emit_lu(emitter: Emitter, a: SSAValue, defer: bool) -> list[SSAValue]:
    """The packed factors of a, its rows and columns in order, and the sign of that order."""
    *batch, size = shape_of(a.type)[:-1]
    order, signs = tensor([*batch, size], i64), tensor(batch, element_of(a.type))
    types = [a.type, order, order, signs]
    return batched(emitter, [a], types, [2, 1, 1, 0], [], _Lu(size, defer).write, 4)


@dataclass(frozen=True)
class _Lu:
    """LU with the largest element of a column as its pivot.

    With `defer` a column whose pivots are all zero is exchanged with the last one, so that zeros
    on the diagonal of the upper factor come last; then columns are eliminated one by one.
    """

    size: int
    defer: bool

    def write(self, p: ScalarProgram, a: ElementView, lu: ElementView, *rest: ElementView) -> None:
        rows, columns, sign = rest
        batch, size = p.index(0), self.size

        def copy(i: Scalar) -> None:
            def column(j: Scalar) -> None:
                lu[batch, i, j] = a[batch, i, j]

            p.lanes(0, size, column)

        def number(i: Scalar) -> None:
            rows[batch, i] = i
            columns[batch, i] = i

        p.for_loop(0, size, copy)
        p.lanes(0, size, number)
        width = 1 if self.defer else PANEL
        whole = size - size % width
        state = [p.number(1, a.compute), p.integer(size)]
        worker = _LuPanel(self, p, lu, rows, columns)

        def panel(k: Scalar, *state: Scalar) -> list[Scalar]:
            return worker.panel(k, width, state)

        if whole:
            state = p.for_loop(0, whole, panel, state, width)
        if whole < size:
            state = worker.panel(whole, size - whole, state)
        sign[(batch,)] = state[0]


@dataclass(frozen=True)
class _LuPanel:
    """One block of columns: `panel` eliminates it and updates the columns right of it."""

    lu_op: _Lu
    p: ScalarProgram
    lu: ElementView
    rows: ElementView
    columns: ElementView

    def panel(self, first: Index, width: int, state: Sequence[Scalar]) -> list[Scalar]:
        """`state` is the sign of the order so far, and the end of the columns not deferred."""
        p, size = self.p, self.lu_op.size
        end = first + width

        def eliminate(k: Scalar, *state: Scalar) -> list[Scalar]:
            return self.column(k, first, width, state)

        state = p.for_loop(first, end, eliminate, state)
        if isinstance(end, int) and end >= size:
            return list(state)

        # solve for the rows of the panel; subtract their part from the others
        def own(i: Scalar) -> None:
            self.update(i, ROWS, (first, i), end, solve=True)

        def rest(i: Index, count: int) -> None:
            self.update(i, count, (first, end), end, solve=False)

        if width > 1:
            p.for_loop(first, end, own, step=ROWS)
        row_groups(p, p.integer(end), size, rest)
        return list(state)

    def update(
        self, first: Index, count: int, span: tuple[Index, Index], columns: Index, solve: bool
    ) -> None:
        """Subtract the contribution of the rows of `span` from rows right of the panel."""
        p, lu, batch = self.p, self.lu, self.p.index(0)

        def left(r: Index, k: Index) -> Scalar:
            return lu[batch, first + r, k]

        def column(j: Scalar) -> None:
            def right(k: Index) -> Scalar:
                return lu[batch, k, j]

            sums = [-lu[batch, first + r, j] for r in range(count)]
            solved: list[Scalar] = []
            for r, total in enumerate(products(p, sums, *span, left, right)):
                for s, earlier in enumerate(solved):
                    total = b.fma(left(r, first + s), earlier, total)
                if solve:
                    solved.append(-total)
                lu[batch, first + r, j] = -total

        p.lanes(columns, self.lu_op.size, column)

    def column(self, k: Scalar, first: Index, width: int, state: Sequence[Scalar]) -> list[Scalar]:
        """Find the pivot of column k, exchange rows, divide, and update the rest of the panel."""
        p, lu, batch, size = self.p, self.lu, self.p.index(0), self.lu_op.size
        sign, end = state
        if self.lu_op.defer:
            sign, end = self.put_off(k, sign, end)
        at, _ = self.largest(k)

        def exchange() -> Scalar:
            return self.exchange_rows(k, at, sign)

        (sign,) = p.if_(b.not_equal(at, k), exchange, lambda: sign)
        pivot = lu[batch, k, k]
        zero = p.number(0, lu.compute)
        is_zero = b.equal(pivot, zero)

        def below(i: Scalar) -> None:
            element = lu[batch, i, k]
            # below a zero pivot all is zero
            factor = b.select(is_zero, element, element / pivot)
            lu[batch, i, k] = factor
            negated = -factor

            def rest(j: Scalar) -> None:
                old = lu[batch, i, j]
                lu[batch, i, j] = b.select(j > k, b.fma(negated, lu[batch, k, j], old), old)

            if width > 1:
                p.lanes(first, first + width, rest)

        p.for_loop(k + 1, size, below)
        return [sign, end]

    def largest(self, k: Scalar) -> list[Scalar]:
        """The row of the largest element of column k on or below the diagonal, and its size."""
        p, lu, batch = self.p, self.lu, self.p.index(0)

        def compare(i: Scalar, at: Scalar, best: Scalar) -> list[Scalar]:
            size = b.absolute(lu[batch, i, k])
            larger = size > best
            return [b.select(larger, i, at), b.select(larger, size, best)]

        return p.for_loop(k + 1, self.lu_op.size, compare, [k, b.absolute(lu[batch, k, k])])

    def put_off(self, k: Scalar, sign: Scalar, end: Scalar) -> list[Scalar]:
        """Exchange column k with the last one while it is zero from the diagonal on."""
        p = self.p

        def goes_on(sign: Scalar, end: Scalar) -> Scalar:
            _, best = self.largest(k)
            is_zero = b.equal(best, p.number(0, best.type))
            return b.logical_and(is_zero, end > k + 1)

        def exchange(sign: Scalar, end: Scalar) -> list[Scalar]:
            batch, last = p.index(0), end - 1

            def row(i: Scalar) -> None:
                self.swap(self.lu, (batch, i, k), (batch, i, last))

            p.for_loop(0, self.lu_op.size, row)
            self.swap(self.columns, (batch, k), (batch, last))
            return [-sign, last]

        return p.while_([sign, end], goes_on, exchange)

    def exchange_rows(self, k: Scalar, at: Scalar, sign: Scalar) -> Scalar:
        p, batch = self.p, self.p.index(0)

        def column(j: Scalar) -> None:
            self.swap(self.lu, (batch, k, j), (batch, at, j))

        p.lanes(0, self.lu_op.size, column)
        self.swap(self.rows, (batch, k), (batch, at))
        return -sign

    def swap(self, elements: ElementView, one: Sequence[Scalar], other: Sequence[Scalar]) -> None:
        first, second = elements[one], elements[other]
        elements[one], elements[other] = second, first
