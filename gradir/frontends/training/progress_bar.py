"""The bar that shows how far training is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from gradir.errors import ArgumentTypeError
from gradir.frontends.training.checkpoint_file import Progress


class ProgressBar:
    """tqdm's bar over the steps of all epochs, on standard error; nothing where it is not shown.

    `shown` None means that it is on a terminal. Without the number of an epoch's batches it counts.
    """

    def __init__(self, shown: object, epochs: int, batches: int | None, done: Progress):
        if not (shown is None or isinstance(shown, bool)):
            raise ArgumentTypeError(f"progress: expected True, False or None, got {shown!r}")
        self._bar: Any = None
        self._epochs, self._number = epochs, done.epoch + 1
        if not (shown or (shown is None and sys.stderr.isatty())):
            return
        from tqdm import tqdm

        total = None if batches is None else epochs * batches
        before = done.steps if batches is None else done.epoch * batches + done.batch
        self._bar = tqdm(total=total, initial=before, unit="step", file=sys.stderr)
        self._title()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def step(self, loss: float) -> None:
        if self._bar is not None:
            self._bar.set_postfix(loss=f"{loss:.4g}", refresh=False)
            self._bar.update()

    def epoch(self, row: Mapping[str, float]) -> None:
        """Show the numbers of an epoch that is done."""
        self._number += 1
        if self._bar is not None:
            numbers = {name: f"{x:.4g}" for name, x in row.items() if name != "epoch"}
            self._title()
            self._bar.set_postfix(numbers)

    def _title(self) -> None:
        number = min(self._number, self._epochs)
        self._bar.set_description(f"epoch {number}/{self._epochs}", refresh=False)
