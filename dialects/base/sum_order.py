"""The numbers that fix bits: they decide in which order the terms of a sum are added.

They decide whether a product is a chain or a reduction, where sums are cut and folded, and which
dimension the lanes of a vector run along. A change of any of them changes results in the last bits:
so none is tuned for speed alone, and a change has a note in CHANGELOG.md
(`tests/codegen/test_costs.py` holds the values). Beside these numbers the order depends on bounds,
kinds and the width of vectors alone; blocks of one op's own formula (attention, LU) are beside the
op. Numbers that only decide speed are in `gradir/codegen/costs.py`. All three layers read this
file, so it lies in the lowest.
"""

# Products. Dot products of at least this many terms are reductions along k; shorter ones are one
# chain of multiply-adds, as the elements of all other products are.
LONG_SUM = 32
# The most terms of a part of a long sum of products, which has at least two parts; and how many
# times more elements the factors have than all parts of the result.
PART_STEPS, FACTORS_OVER_PARTS = 4096, 32

# Lanes. Partial results of a reduction along the last dimension, in vectors.
ACCUMULATED_VECTORS = 4
# The most elements of a window that is combined one by one, the most extent of its last dimension,
# and the least columns that its lanes can run along instead.
LARGEST_WINDOW, WINDOW_ROW, WINDOW_COLUMNS = 16, 4, 4
# A chunk of the last dimension, and a last dimension that is merged with others, is a multiple of
# this: of the lanes of all accumulators of one output, whatever its type and the machine.
LANE_MULTIPLE = 256

# Chunks. At least this many parallel iterations, or kept columns (32 items of
# `columns.ITEM_COLUMNS`), can be shared out as they are.
ENOUGH_ITEMS, ENOUGH_COLUMNS = 16, 8192
# The most chunks where one has at least `CHUNK_ROWS` iterations of the outer dimensions, the least
# elements of one, and the least chunks of a space that is cut.
MOST_CHUNKS, CHUNK_ROWS, CHUNK_ELEMENTS, LEAST_CHUNKS = 64, 128, 16384, 4
# The least iterations, in `LANE_MULTIPLE`s, of a chunk of the vector dimension; and the least
# elements read for each element of a partial result, which is written and read once more.
LEAST_VECTORS, LEAST_READ = 16, 16

# Folds. The most numbers that one accumulator adds, one after the other: of vectors along the last
# dimension, here of `FOLD_LANES` elements each; of other numbers; of the results of chunks.
LEAF_STEPS, CHAIN_STEPS, CHUNK_STEPS = 64, 128, 16
FOLD_LANES = 64
# The least steps between folds that are chosen for blocks of rows.
LEAST_STEPS = 16
