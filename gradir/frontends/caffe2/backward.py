"""The backward pass over a net: the gradient operators, and which blob is whose gradient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from gradir.errors import ArgumentTypeError
from gradir.frontends.caffe2.errors import OperatorError
from gradir.frontends.caffe2.operator import GradientSlice, Link, Operator
from gradir.frontends.caffe2.replay import NetReplay, NetStep, Rule, Version

Gradient: TypeAlias = str | GradientSlice
Gradients: TypeAlias = dict[str, Gradient]


class Seed(NamedTuple):
    """The gradient of a y: a given one, or a number that fills its shape."""

    given: Gradient | None
    value: float = 1.0


class Contribution(NamedTuple):
    """What one use adds to the gradient of a version.

    `is_made`: an operator was added for it. `loose`: it may have the shape that its blob was
    broadcast to.
    """

    gradient: Gradient
    device: str | None
    is_made: bool = False
    loose: bool = False


def seeds_of(ys: object) -> dict[str, Seed]:
    """The seeds that a list or a mapping of ys says."""
    if isinstance(ys, list):
        found = cast("list[object]", ys)
        for y in found:
            _require_name(y)
        return {y: Seed(None, float(n)) for y, n in Counter(cast("list[str]", found)).items()}
    if not isinstance(ys, Mapping):
        raise ArgumentTypeError(f"ys: expected a list or a dict, got {ys!r}")
    for y, given in cast("Mapping[object, object]", ys).items():
        _require_name(y)
        if not (given is None or isinstance(given, str | GradientSlice)):
            raise ArgumentTypeError(
                f"ys: the gradient of {y!r} must be None, a blob or a GradientSlice, got {given!r}"
            )
    return {y: Seed(given) for y, given in cast("Mapping[str, Gradient | None]", ys).items()}


def _require_name(y: object) -> None:
    if not isinstance(y, str):
        raise ArgumentTypeError(f"ys: expected names of blobs, got {y!r}")


def parts(gradient: Gradient) -> tuple[str, ...]:
    """The blobs of a gradient."""
    return (gradient,) if isinstance(gradient, str) else gradient


class Backward:
    """One backward pass: it walks the steps from `first` on in reverse, and appends to `ops`.

    `wrt`: the blobs whose gradients are wanted, all where None. `loose` are versions whose gradient
    is a blob that may have another shape.
    """

    def __init__(
        self, replay: NetReplay, first: int = 0, wrt: Sequence[str] | None = None,
        taken: Iterable[str] = (),
    ):  # fmt: skip
        self.replay = replay
        self.first = first
        self.wrt = wrt
        self.ops: list[Operator] = []
        self.loose: list[tuple[Version, Gradient]] = []
        self._taken = {*replay.frontier, *taken}
        self._numbers: dict[str, int] = {}
        self._pending: dict[Version, list[Contribution]] = {}
        self._made_for: dict[Version, int] = {}
        self._uses: dict[Version, tuple[int, int]] = {}
        self._producers: dict[Version, str | None] = {}
        self._earliest = dict[str, int]()
        self._survey()
        self._active = self._active_versions()

    # What is there.

    def _survey(self) -> None:
        """Each version's first use; its producer's device; the earliest version of each name."""
        for k, step in enumerate(self.replay.steps):
            for version in step.results:
                self._producers[version] = step.op.device
            if k < self.first:
                for name, version in step.operands:
                    self._earliest.setdefault(name, version)
                self._earliest |= dict(step.results)
                continue
            for slot, version in enumerate(step.operands):
                self._uses.setdefault(version, (k, slot))
            for name, version in (*step.operands, *step.results):
                self._earliest.setdefault(name, version)

        for name in self.replay.frontier:
            self._earliest.setdefault(name, 0)

    def _active_versions(self) -> set[Version]:
        """The versions that depend on a blob of `wrt`; without `wrt`, on more than constants."""
        steps = self.replay.steps
        if self.wrt is not None:
            active = {(name, self._earliest[name]) for name in self.wrt}
            for k in range(self.first, len(steps)):
                slots = self.replay.rule(k).differentiable
                if any(steps[k].operands[slot] in active for slot in slots):
                    active |= set(steps[k].results)
            return active
        active = set[Version]()
        for step in steps:
            active |= {v for v in step.operands if v not in self._producers}
            if any(v in active for v in step.operands):
                active |= set(step.results)
        return active

    def _fresh(self, name: str) -> str:
        """The name, with a number behind it if a blob has it."""
        k = self._numbers.get(name, 0)
        while (candidate := f"{name}_{k}" if k else name) in self._taken:
            k += 1
        self._numbers[name] = k
        self._taken.add(candidate)
        return candidate

    @staticmethod
    def _base(version: Version) -> str:
        """The blob's name without the numbers of nets."""
        return version[0].rpartition("\0")[2]

    def _named(self, version: Version) -> str:
        return self._fresh(f"{self._base(version)}_grad")

    def _emit(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        device: str | None,
        link: Link | None = None,
        like: Operator | None = None,
        args: Mapping[str, Any] | None = None,
    ) -> None:
        """Append an operator, with the arguments, the name and the place of another."""
        given = dict(args or {}) if like is None else like.args
        name, place = ("", None) if like is None else (like.name, like.place)
        rows = tuple(inputs), tuple(outputs)
        self.ops.append(Operator(kind, *rows, given, device, name, True, link, place=place))

    # The walk.

    def run(self, seeds: Mapping[str, Seed]) -> Gradients:
        """The gradient of each blob's earliest version; with `wrt` of exactly these."""
        self._taken |= {n for s in seeds.values() if s.given is not None for n in parts(s.given)}
        for y, seed in seeds.items():
            self._seed((y, self.replay.frontier[y]), seed)
        for k in reversed(range(self.first, len(self.replay.steps))):
            self._differentiate(k)
            for version in dict.fromkeys(self.replay.steps[k].operands):
                if self._uses[version][0] == k:
                    self.total(version)
        return self._found() if self.wrt is None else self._wanted(self.wrt)

    def _seed(self, version: Version, seed: Seed) -> None:
        if self.wrt is not None and version not in self._active:
            return
        gradient, device = seed.given, self._producers.get(version)
        if gradient is None:
            gradient = self._fresh(f"{version[0]}_autogen_grad")
            self._emit("ConstantFill", [version[0]], [gradient], device, args={"value": seed.value})
        self._add(version, Contribution(gradient, device))

    def _add(self, version: Version, contribution: Contribution) -> None:
        self._pending.setdefault(version, []).append(contribution)

    def total(self, version: Version) -> Contribution | None:
        """The gradient of a version, None where it is zero: its contributions are summed."""
        found = self._pending.get(version)
        if not found:
            return None
        if len(found) > 1:
            self._pending[version] = found = [self._summed(version, found)]
        return found[0]

    def _differentiate(self, k: int) -> None:
        step, rule = self.replay.steps[k], self.replay.rule(k)
        wanted = [s for s in rule.differentiable if step.operands[s] in self._active]
        totals = {j: total for j, v in enumerate(step.results) if (total := self.total(v))}
        if not wanted or not totals:
            return
        if not rule.keeps_slices:
            totals = {j: self._dense(total, step.results[j]) for j, total in totals.items()}
        if rule.slices:
            self._add_slice(step, totals[0])
            return
        forwarded = [s for s in wanted if s in rule.forwards]
        self._compute(k, rule, [s for s in wanted if s not in rule.forwards], totals)
        for slot in forwarded:
            self._add(step.operands[slot], self._forwarded(step.op, rule, totals[0]))

    @staticmethod
    def _forwarded(op: Operator, rule: Rule, total: Contribution) -> Contribution:
        is_dense = isinstance(total.gradient, str)
        loose = total.loose or (rule.broadcasts and is_dense)
        return Contribution(total.gradient, op.device, False, loose)

    def _compute(
        self, k: int, rule: Rule, slots: Sequence[int], totals: Mapping[int, Contribution]
    ) -> None:
        """One gradient operator for some operands of a step."""
        if not slots:
            return
        step = self.replay.steps[k]
        outputs = [
            n for s in slots for n in self._gradient_blobs(step, s, is_table=s in rule.tables)
        ]
        read = [self.replay.label(v) for v in rule.reads]
        gradients = [cast(str, total.gradient) for total in totals.values()]
        loose = any(total.loose for total in totals.values())
        link = Link(k, tuple(totals), tuple(slots), loose)
        kind = f"{step.op.type}Gradient"
        self._emit(kind, [*read, *gradients], outputs, step.op.device, link, step.op)

    def _gradient_blobs(self, step: NetStep, slot: int, is_table: bool) -> tuple[str, ...]:
        """The blobs of a gradient that an operator makes, which is a contribution from now on."""
        version = step.operands[slot]
        gradient: Gradient
        if is_table:
            base = self._base(version)
            gradient = GradientSlice(
                self._fresh(f"{base}_grad_indices"), self._fresh(f"{base}_grad_values")
            )
        else:
            others = self._made_for.get(version, 0)
            self._made_for[version] = others + 1
            name = f"_{self._base(version)}_grad_autosplit_{others - 1}"
            gradient = self._fresh(name) if others else self._named(version)
        self._add(version, Contribution(gradient, step.op.device, is_made=True))
        return parts(gradient)

    def _add_slice(self, step: NetStep, total: Contribution) -> None:
        """Of Gather: the rows are the gradient of what it gives."""
        values = self._fitted(total, step.results[0])
        slice_ = GradientSlice(self.replay.label(step.operands[1]), values)
        self._add(step.operands[0], Contribution(slice_, step.op.device))

    # Sums.

    def _dense(self, total: Contribution, version: Version) -> Contribution:
        """The same gradient as one blob."""
        if isinstance(total.gradient, str):
            return total
        made = self._named(version)
        inputs = [*total.gradient, self.replay.label(version)]
        self._emit("SparseToDense", inputs, [made], self._producers.get(version, total.device))
        return Contribution(made, total.device, is_made=True)

    def _summed(self, version: Version, found: Sequence[Contribution]) -> Contribution:
        dense = [c for c in found if isinstance(c.gradient, str)]
        sparse = [c.gradient for c in found if isinstance(c.gradient, GradientSlice)]
        device = found[0].device
        rows = self._concat_slices(version, sparse, device) if sparse else None
        if not dense:
            return Contribution(cast(GradientSlice, rows), device)
        total = self._added(version, dense, device)
        if rows is None:
            return Contribution(total, device, is_made=True)
        made = self._named(version)
        self._emit("ScatterAdd", [total, *rows], [made], device)
        return Contribution(made, device, is_made=True)

    def _added(self, version: Version, found: Sequence[Contribution], device: str | None) -> str:
        """The sum of dense gradients, which takes the name of the first that was made for it."""
        if len(found) == 1 and not found[0].loose:
            return cast(str, found[0].gradient)
        made = next((c.gradient for c in found if c.is_made), None)
        name = made if isinstance(made, str) else self._named(version)
        k, slot = self._uses[version]
        names = [cast(str, c.gradient) for c in found]
        self._emit("Sum", names, [name], device, Link(k, (), (slot,)))
        return name

    def _concat_slices(
        self, version: Version, found: Sequence[GradientSlice], device: str | None
    ) -> GradientSlice:
        """Slices one after the other."""
        if len(found) == 1:
            return found[0]
        base = f"{version[0].rpartition(chr(0))[2]}_grad"
        made = GradientSlice(self._fresh(f"{base}_indices"), self._fresh(f"{base}_values"))
        # the values' link says where the indices are joined, which tell the rank of the rows
        at = Link(len(self.replay.steps) + len(self.ops), (), ())
        args = {"axis": 0}
        for names, name in zip(zip(*found, strict=True), made, strict=True):
            self._emit("Concat", names, [name], device, at, args=args)
        return made

    # Results.

    def _found(self) -> Gradients:
        named = [(v, self.total(v)) for v in self._earliest.items() if "\0" not in v[0]]
        self.loose = [(v, total.gradient) for v, total in named if total and total.loose]
        return {name: total.gradient for (name, _), total in named if total is not None}

    def _wanted(self, wrt: Sequence[str]) -> Gradients:
        return {name: self._exact((name, self._earliest[name])) for name in wrt}

    def _exact(self, version: Version) -> Gradient:
        """The gradient of a version in its own shape; zeros where it has none."""
        total, label = self.total(version), self.replay.label(version)
        if total is not None:
            is_slice = isinstance(total.gradient, GradientSlice)
            return total.gradient if is_slice else self._fitted(total, version)
        made = self._named(version)
        device = self._producers.get(version)
        self._emit("ConstantFill", [label], [made], device, args={"value": 0.0})
        return made

    def _fitted(self, total: Contribution, version: Version) -> str:
        """A dense gradient in the shape of its version, which may have been broadcast."""
        gradient = cast(str, total.gradient)
        if not total.loose:
            return gradient
        made = self._named(version)
        inputs = [gradient, self.replay.label(version)]
        self._emit("SumReduceLike", inputs, [made], total.device)
        return made


def require_known(what: str, names: Iterable[str], known: Mapping[str, int]) -> None:
    """OperatorError unless blobs are mentioned in the net."""
    for name in names:
        if name not in known:
            raise OperatorError(f'{what}: the net has no blob "{name}"')
