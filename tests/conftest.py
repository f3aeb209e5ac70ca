"""What holds for all tests."""

from __future__ import annotations

import gc

# IR is made of cycles. By default Python looks for garbage in them after every 700 objects, which
# was a tenth of the time of the tests.
gc.set_threshold(20_000)
