"""Arrays, callbacks and sizes that want memory which is not theirs: refused, or used safely."""

from __future__ import annotations

import copy
import ctypes
import pickle
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError, HostCallError

pytestmark = pytest.mark.usefixtures("native_calls")

# Arrays.

SUM = """func.func @f(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %z = array.add %x, %y : tensor<3xf64>
  return %z : tensor<3xf64>
}
"""


@pytest.fixture(scope="module")
def add() -> Any:
    return gradir.compile(gradir.parse(SUM), "f")


class Liar(np.ndarray[Any, np.dtype[Any]]):
    """Says of itself what the function wants, and has other memory."""

    @property
    def shape(self) -> Any:
        return (3,)

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)

    @property
    def flags(self) -> Any:
        return np.zeros(3).flags

    @property
    def __array_interface__(self) -> Any:
        return {"data": (16, False), "shape": (3,), "typestr": "<f8", "version": 3}

    def __array__(self, *arguments: object, **options: object) -> Any:
        return np.zeros(3)


def test_a_subclass_is_what_it_is(add: Any):
    """Neither read nor written by what its attributes say."""
    small, fine = np.zeros(1, np.int8).view(Liar), np.ones(3)
    with pytest.raises(ArgumentError, match=r"argument 0 \(%x\): expected float64 array of shape"):
        add(small, fine)
    with pytest.raises(ArgumentError, match=r"out\[0\]: expected float64 array of shape"):
        add(fine, fine, out=small)
    module = gradir.parse(SUM)
    with pytest.raises(ArgumentError, match=r"out\[0\]: expected float64 array of shape"):
        gradir.interpret(module, "f", fine, fine, out=small)
    right = np.zeros(3).view(Liar)
    assert add(right, fine, out=right.copy())[0].tolist() == [1, 1, 1]
    own = np.zeros(3).view(Liar)
    assert add(fine, fine, out=own)[0] is own
    assert np.asarray(own).tolist() == [2, 2, 2]


def test_odd_arrays_are_copied_or_refused(add: Any):
    fine = np.ones(3)
    strided = np.arange(9.0)[::3]
    reverse = np.arange(3.0)[::-1]
    broadcast = np.broadcast_to(np.float64(5), 3)
    misaligned = np.frombuffer(bytearray(25), np.float64, 3, offset=1)
    for odd in (strided, reverse, broadcast, misaligned):
        np.testing.assert_array_equal(add(odd, fine)[0], np.asarray(odd) + 1)
        with pytest.raises(ArgumentError, match=r"out\[0\]"):
            add(fine, fine, out=odd)
    frozen = np.zeros(3)
    frozen.setflags(write=False)
    with pytest.raises(ArgumentError, match="writable"):
        add(fine, fine, out=frozen)
    for other in (np.zeros(3, ">f8"), np.zeros(()), np.zeros((3, 1)), np.zeros(3, "V8")):
        with pytest.raises(ArgumentError, match="expected float64 array of shape"):
            add(other, fine)
        with pytest.raises(ArgumentError, match="expected float64 array of shape"):
            add(fine, fine, out=other)
    memory = np.zeros(5)
    with pytest.raises(ArgumentError, match="shares memory with argument 0"):
        add(memory[:3], fine, out=memory[2:])


class Meddler:
    """An array of another library whose methods change an array that was read before."""

    def __init__(self, victim: np.ndarray[Any, Any], how: str):
        self.victim, self.how = victim, how

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: object) -> Any:
        if self.how == "resize":
            self.victim.resize(1, refcheck=False)
        else:
            setattr(self.victim, self.how, {"shape": (3, 1), "dtype": np.int64}[self.how])
        return np.zeros(3).__dlpack__()


@pytest.mark.parametrize("how", ["resize", "shape", "dtype"])
def test_an_array_that_changes_while_others_are_read(add: Any, how: str):
    victim = np.ones(3)
    with pytest.raises(ArgumentError, match=r"argument 0 \(%x\): changed while the arguments"):
        add(victim, Meddler(victim, how))


def test_an_out_that_is_a_list_of_its_own(add: Any):
    """It is asked once what it holds."""
    victim, target = np.ones(3), np.zeros(3)

    class Entries(list[Any]):
        def __iter__(self) -> Any:
            victim.resize(1, refcheck=False)
            yield target

    with pytest.raises(ArgumentError, match=r"changed while|expected float64 array of shape"):
        add(victim, np.ones(6)[::2], out=Entries([None]))


def test_a_bfloat16_tensor_of_another_device():
    """The capsule says where its memory is, whatever the object says."""
    text = SUM.replace("f64", "bf16")
    compiled = gradir.compile(gradir.parse(text), "f")
    fine = np.ones(3, ml_dtypes.bfloat16)

    class Elsewhere:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **options: object) -> Any:
            capsule = np.zeros(3).__dlpack__()
            get = ctypes.pythonapi.PyCapsule_GetPointer
            get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            # the field after the address is the device
            ctypes.c_int32.from_address(get(capsule, b"dltensor") + 8).value = 2
            return capsule

    with pytest.raises(ArgumentTypeError, match="expected an array on the CPU"):
        compiled(fine, Elsewhere())


def test_tapes_are_not_copied_and_keep_their_count():
    """The memory of one is freed once; what a caller writes to its arrays is not believed."""
    tape = "!grad.tape<f64>"
    module = gradir.parse(f"""func.func @make(%x: f64) -> {tape} {{
  %t = grad.tape_new : {tape}
  %u = grad.tape_push %t, %x : {tape}
  return %u : {tape}
}}
func.func @take(%t: {tape}) -> (index, f64) {{
  %n = grad.tape_size %t : {tape}
  %u, %x = grad.tape_pop %t : {tape}
  return %n, %x : index, f64
}}
""")
    made: Any = gradir.compile(module, "make")(3.0)[0]
    for use in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ArgumentTypeError, match="a tape cannot be copied or pickled"):
            use(made.memory)
    with pytest.raises(ArgumentTypeError, match="a tape cannot be copied or pickled"):
        copy.deepcopy(made)
    with pytest.raises(ValueError, match="read-only"):
        made.arrays[-1][...] = 1 << 40
    made.arrays[-1].setflags(write=True)
    made.arrays[-1][...] = 1 << 40
    made.arrays[0][...] = 16
    assert gradir.compile(module, "take")(made) == (1, 3.0)


@pytest.mark.parametrize("rows", [[4, 0, 0], [-5, 0, 0], [2**62, 0, 0], [-(2**63), 0, 0]])
def test_rows_of_slices_are_checked(rows: list[int]):
    type_ = "!grad.slices<4x2xf64, count = 3>"
    module = gradir.parse(f"""func.func @f(%s: {type_}) -> tensor<4x2xf64> {{
  %d = grad.densify %s : {type_} -> tensor<4x2xf64>
  return %d : tensor<4x2xf64>
}}
""")
    slices = gradir.RowSlices(np.array(rows), np.ones((3, 2)), (4, 2))
    compiled: Any = gradir.compile(module, "f")
    runs: tuple[Any, ...] = (compiled, partial(gradir.interpret, module, "f"))
    for run in runs:
        with pytest.raises(GradirError, match=f"index {rows[0]} is out of range"):
            run(slices)


# Callbacks.

CALLS = """func.func @f(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %y = grad.host_call %x {callee = "hostile"} : (tensor<3xf64>) -> tensor<3xf64>
  %z = array.add %x, %x : tensor<3xf64>
  return %y, %z : tensor<3xf64>, tensor<3xf64>
}
"""


def _kept(x: Any, kept: list[Any]) -> Any:
    kept.append(x)
    x[...] = -1
    x.resize(1000, refcheck=False)
    return np.full(3, 7.0)


def _raises(x: Any) -> Any:
    raise KeyboardInterrupt


def test_hostile_callbacks():
    """A callback has copies: it may keep, write and resize them. What it returns is checked."""
    kept: list[Any] = []
    wrong: list[Any] = [
        np.zeros(1000),
        np.zeros(3, np.float32),
        np.zeros(3, ">f8"),
        None,
        (np.zeros(3), np.zeros(3)),
        np.zeros(1, np.int8).view(Liar),
    ]
    for value in wrong:

        def function(x: object, value: object = value) -> object:
            return value

        gradir.register_host_function("hostile", function)
        compiled = gradir.compile(gradir.parse(CALLS), "f")
        with pytest.raises(HostCallError):
            compiled(np.ones(3))
    gradir.register_host_function("hostile", partial(_kept, kept=kept))
    compiled = gradir.compile(gradir.parse(CALLS), "f")
    given = np.ones(3)
    y, z = compiled(given)
    assert (y.tolist(), z.tolist(), given.tolist()) == ([7] * 3, [2] * 3, [1] * 3)
    kept[0][...] = 9
    assert y.tolist() == [7] * 3
    gradir.register_host_function("hostile", _raises)
    with pytest.raises(KeyboardInterrupt):
        gradir.compile(gradir.parse(CALLS), "f")(given)


# Sizes.


def test_no_memory_is_an_error(monkeypatch: pytest.MonkeyPatch):
    """What Python or a pass cannot allocate is a GradirError."""

    def fails(*arguments: object) -> None:
        raise MemoryError

    # no other test compiles this one, so that nothing of it is kept
    text = SUM.replace("3xf64", "443xf64")
    module = gradir.parse(text)
    for target in (
        "gradir.compiler.pipeline.Stage.run",
        "gradir.text.parser.LocatingParser.parse_operation",
    ):
        with monkeypatch.context() as patched:
            patched.setattr(target, fails)
            with pytest.raises(GradirError, match="not enough memory"):
                gradir.compile(gradir.parse(text) if "parser" in target else module, "f")


@pytest.mark.parametrize("size", [10**12, 2**58])
def test_arrays_that_are_larger_than_memory(size: int):
    text = f"""func.func @f(%x: tensor<f64>, %i: index) -> f64 {{
  %a = array.broadcast_to %x : tensor<f64> -> tensor<{size}xf64>
  %b = array.cumulative_sum %a {{axis = 0}} : tensor<{size}xf64>
  %r = tensor.extract %b[%i] : tensor<{size}xf64>
  return %r : f64
}}
"""
    module = gradir.parse(text)
    with pytest.raises(GradirError, match="no memory"):
        gradir.interpret(module, "f", np.array(1.0), 3)
    with pytest.raises(GradirError, match="no memory"):
        gradir.compile(module, "f")(np.array(1.0), 3)
