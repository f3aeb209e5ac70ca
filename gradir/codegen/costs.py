"""The costs of code, in nanoseconds: the one table that the estimates of code generation read.

Every number here only decides speed: how work is split, who shares it, where loops ask whether to
go on. Any of them may be tuned; results keep their bits (`tests/codegen/test_costs.py` runs a
program with other numbers). Numbers that fix bits are in `dialects/base/sum_order.py`.

"Estimate" means that nobody measured the number, or that no record says so. Costs that choose what
derivatives keep are in `passes/recompute/costs.py`: passes do not know code generation.
"""

# One op on one vector (`op_cost` in bodies/op_table.py says which op has which cost). Estimates.
CHEAP_COST = 0.2
DIVISION_COST = SQUARE_ROOT_COST = 1.0
RECIPROCAL_ROOT_COST = 2.0
MATH_COST = 3.0
LONG_MATH_COST = 6.0  # asinh, acosh, atanh, atan2
FLOAT_POWER_COST = 20.0
INTEGER_EXPONENT_COST = 25.0
CUBE_ROOT_COST = INTEGER_DIVISION_COST = 30.0  # no vector instruction: number by number
REMAINDER_COST = INTEGER_POWER_COST = 60.0
# How many times longer an op on half floats takes, which are widened and narrowed around it.
HALF_FACTOR = 2

# A load or a store: of a number, in programs and drivers; of a vector, in the passes of nests and
# in the epilogues of contractions, where a sum counts as one. Estimates.
MEMORY_COST = 0.5
NEST_ACCESS_COST = 0.3
EPILOGUE_ACCESS_COST = 1.0

# A byte that one thread moves in its own cache, in the shared one, in memory, and the least bytes
# that surely are in no cache. Estimates: 60, 40 and 16 bytes a nanosecond.
OWN_CACHE_BYTE_COST, SHARED_CACHE_BYTE_COST, MEMORY_BYTE_COST = 1 / 60, 1 / 40, 1 / 16
UNCACHED_BYTES = 16 << 20

# One trip of a loop beside its body. Estimate.
TRIP_COST = 0.5
# Trips of a loop whose bounds are not known; the most trips, by those on average; iterations of
# `loopnest.lanes` that are counted as one vector. Estimates.
UNKNOWN_TRIPS, MOST_OF_AVERAGE, TYPICAL_LANES = 16.0, 4.0, 8.0
# Trips of such a loop where it must not be taken for a short one. Estimate.
MOST_UNKNOWN_TRIPS = 10_000.0

# What a work item of a nest takes at least, and its accesses for each vector. Estimates.
ITEM_COST, ITEM_ACCESS_COST = 4000.0, 1.0

# Between two polls, and the longest loop without one. Estimates of code are wrong by a factor of
# five at times: so a signal waits some 10 ms, less than `POLL_INTERVAL`.
FUEL = 2_000_000
# A kernel that polls may take much longer than one thinks, but little more than a poll's fuel.
POLLING_KERNEL_COST = FUEL / 16

# The work of one thread from which on it pays to share. A phase: threads wait for each other and
# exchange data. The whole work of a program that has such phases: threads have to be woken. A fork
# and join takes 2000 (docs/decisions/runtime.md; 2 cores, AVX-512, 2026-11-21).
PHASE_COST, PROGRAM_COST = 2500.0, 6000.0
# What thread 0 may work alone while all threads count as evenly busy: a wait that is taken for lost
# is longer by far (driver/pool.py). Estimate.
EVEN_COST = 50_000.0

# All runs of a kernel by byte of its text, up to which quickly compiled code runs first: for a byte
# LLVM takes 650 less, a run two to five times as long. From 100 to 200 first calls of networks are
# equally long (7 programs, AMD EPYC, 2026-12-01).
QUICK_COST = 120.0
# A driver's call of a kernel. Estimate.
CALL_COST = 20.0

# The phases of a contraction: to pack a byte, to multiply and add a vector, to load a vector of the
# right factor (once for each tile of rows), to load it out of squares that are transposed. Measured
# as the tiled kernel was written (2026-11; the machine is not on record).
PACK_BYTE_COST, MULTIPLY_COST = 0.1, 0.11
PANEL_LOAD_COST, TRANSPOSED_LOAD_COST = 0.5, 1.0

# Choosing between plans of one contraction (contractions/choose_tiles.py), where ratios alone
# matter. They are counted in cycles of a core that starts two vector multiply-adds and two loads in
# each. A cycle is a power of two long, so that no comparison depends on it, not even by rounding.
CYCLE = 0.25
LATENCY_COST = 4 * CYCLE  # of a multiply-add
START_COST = CYCLE / 2  # of a multiply-add or a load
# What loads and new lines cost although they overlap. Estimates, like all below.
OVERLAPPED_LOAD_COST, LINE_COST = 0.1 * CYCLE, 0.2 * CYCLE
TILE_COST = 20 * CYCLE
ACCUMULATOR_COST = 2 * CYCLE  # to memory, back, and out through the epilogue
COPY_COST, TRANSPOSE_COST = 3 * CYCLE, 6 * CYCLE  # of packing one vector
PACKED_BARRIER_COST = 4000 * CYCLE  # until all threads have packed
# To store one element of a vector whose elements lie apart, far or close; and to transpose one
# before it is stored.
SCATTER_COST, FAR_SCATTER_COST = 8 * CYCLE, 32 * CYCLE
CLOSE_COST, TURN_COST = 0.3 * CYCLE, 0.3 * CYCLE
# Relative slowdowns of a contraction: for each accumulator, so that the one of two equally fast
# shapes with less code is taken; for each further group of columns; where rows lie in lines of
# their own, and again where they lie in pages of their own; where a panel has few sets of the L1
# cache.
CODE_PART, GROUP_PART, FAR_ROWS_PART, SCATTERED_PART = 0.001, 0.005, 0.05, 0.1

# Sizes of code, in vector instructions, not times. An inlined math function counts as this many.
MATH_INSTRUCTIONS = 20
# Bodies of at least this size are computed for several machine vectors at once.
INTERLEAVED_SIZE = 20
# The most that unrolled copies of a body may come to, and a body in all pieces of a cut loop.
UNROLL_SIZE, MOST_INSTRUCTIONS = 48, 600
