"""Control flow in native code: against the interpreter, where it fails, and what becomes of loops:
which code is a kernel, and which values are copied."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from control_flow_programs import PROGRAMS
from flow_programs import flow_program
from xdsl.dialects import scf

import gradir
from gradir.codegen.driver import threads as driver_threads
from gradir.compiler.pipeline import Machine, run_stages
from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.errors import ArgumentTypeError, ExecutionError, IndexOutOfRange, PassError

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
"""


def run_both(text: str, *arguments: Any, count: int = 1) -> None:
    """Native code gives the bits of the interpreter and leaves the arguments alone."""
    module = gradir.parse(text)
    copies = [np.array(a) for a in arguments]
    wanted = gradir.interpret(module, "f", *arguments)
    got = gradir.compile(module, "f", threads=count)(*arguments)
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    for argument, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(argument, copy)


def random_arguments(seed: int, rows: int, columns: int) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [
        generator.normal(size=(rows, columns)),
        generator.normal(size=columns),
        np.array(generator.normal()),
        float(generator.normal()),
        int(generator.integers(-1, 5)),
        bool(generator.integers(2)),
    ]


def random_text(seed: int, rows: int, columns: int) -> str:
    generator = random.Random(seed)
    return flow_program(generator.choice, 8, rows, columns)


# Programs.


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_their_gradients(name: str) -> None:
    """To rounding: a sine of native code is not NumPy's."""
    program = PROGRAMS[name]
    module, arguments = gradir.parse(program.text), program.arguments()
    wanted = gradir.interpret(module, "f", *arguments)
    got = gradir.compile(module, "f", threads=1)(*arguments)
    cts = [np.ones_like(w) for w in wanted if w.dtype.kind == "f"]
    derived = module.gradient("f", mode="vjp")
    wanted += gradir.interpret(derived, "f_vjp", *arguments, *cts)
    got += gradir.compile(derived, "f_vjp", threads=1)(*arguments, *cts)
    for ours, theirs in zip(got, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["rnn_while", "if_in_while_in_for", "carried_matrices", "swapped"])
def test_second_order(name: str) -> None:
    program = PROGRAMS[name]
    module, arguments = gradir.parse(program.text), program.arguments()
    (y, *_) = gradir.interpret(module, "f", *arguments)
    module = module.gradient("f", mode="vjp")
    results = gradir.interpret(module, "f_vjp", *arguments, np.ones_like(y))
    arguments += [np.ones_like(y), *(np.ones_like(r) for r in results if r.dtype.kind == "f")]
    module = module.gradient("f_vjp", mode="vjp")
    wanted = gradir.interpret(module, "f_vjp_vjp", *arguments)
    got = gradir.compile(module, "f_vjp_vjp", threads=1)(*arguments)
    for ours, theirs in zip(got, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    run_both(random_text(seed, 4, 3), *random_arguments(seed, 4, 3))


@pytest.mark.parametrize("seed", [105, 110, 115, 120])
def test_random_programs_on_two_threads(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that can be shared is shared, so that threads wait for each other in loops."""
    monkeypatch.setattr(driver_threads, "PHASE_COST", 0.0)
    monkeypatch.setattr(driver_threads, "PROGRAM_COST", 0.0)
    run_both(random_text(seed, 33, 130), *random_arguments(seed, 33, 130), count=2)


@pytest.mark.parametrize("seed", [3, 4, 9])
def test_stages_keep_their_promises(seed: int) -> None:
    """After every stage the module is valid, and at the end its text parses."""
    module = gradir.parse(random_text(seed, 4, 3)).op.clone()
    run_stages(module, Machine.here(), check=True)
    assert str(gradir.parse(str(module))) == str(module)


TRIPS = """func.func @f(%x: tensor<3xf64>, %n: index) -> (tensor<3xf64>, index) {HEAD
  %y, %k = scf.for %i = %c1 to %n step %c2 iter_args(%a = %x, %k = %c0) -> (tensor<3xf64>, index) {
    %b = array.add %a, %x : tensor<3xf64>
    scf.yield %b, %i : tensor<3xf64>, index
  }
  func.return %y, %k : tensor<3xf64>, index
}""".replace("HEAD", HEAD)


@pytest.mark.parametrize("trips", [-3, 0, 1, 2, 3, 4, 9])
def test_dynamic_bounds(trips: int) -> None:
    run_both(TRIPS, np.arange(3.0), trips)


PERMUTED = """func.func @f(%x: tensor<3xf64>, %y: tensor<3xf64>, %z: tensor<3xf64>, %n: index)
    -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {HEAD
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %c = %z)
      -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
    scf.yield %b, %c, %a : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
  }
  func.return %r#0, %r#1, %r#2 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}""".replace("HEAD", HEAD)


@pytest.mark.parametrize("trips", range(4))
def test_carried_values_change_places(trips: int) -> None:
    run_both(PERMUTED, *(np.full(3, float(k)) for k in range(3)), trips)


SWITCH = """func.func @f(%x: tensor<2xf64>, %k: index) -> tensor<2xf64> {HEAD
  %y = scf.index_switch %k -> tensor<2xf64>
  case -1 { scf.yield %x : tensor<2xf64> }
  case 4 {
    %a = array.add %x, %x : tensor<2xf64>
    scf.yield %a : tensor<2xf64>
  }
  default {
    %b = array.negative %x : tensor<2xf64>
    scf.yield %b : tensor<2xf64>
  }
  func.return %y : tensor<2xf64>
}""".replace("HEAD", HEAD)


@pytest.mark.parametrize("case", [-1, 0, 4, 5])
def test_switch(case: int) -> None:
    run_both(SWITCH, np.array([1.0, -2.0]), case)


@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "i32", "i1"])
def test_elements(element: str) -> None:
    """Loads, stores and carried numbers of every size."""
    import ml_dtypes

    names = {"bf16": ml_dtypes.bfloat16, "i1": np.bool_, "i32": np.int32}
    dtype = np.dtype(names.get(element) or f"float{element[1:]}")
    text = """func.func @f(%x: tensor<5xE>, %s: E) -> (tensor<5xE>, E) {HEAD
      %y, %l = scf.for %i = %c1 to %c3 step %c1 iter_args(%a = %x, %last = %s) -> (tensor<5xE>, E) {
        %v = tensor.extract %a[%i] : tensor<5xE>
        %j = arith.addi %i, %c1 : index
        %b = tensor.insert %last into %a[%j] : tensor<5xE>
        scf.yield %b, %v : tensor<5xE>, E
      }
      func.return %y, %l : tensor<5xE>, E
    }""".replace("HEAD", HEAD)
    arguments = [np.array([0, 1, 0, 1, 1]).astype(dtype), np.array(1).astype(dtype)]
    run_both(text.replace("xE", f"x{element}").replace("E", element), *arguments)


@pytest.mark.parametrize(("element", "high"), [("i8", 127), ("i32", 2**31 - 1)])
def test_narrow_counters_do_not_overflow(element: str, high: int) -> None:
    text = (
        """func.func @f(%low: E, %high: E, %step: E) -> (E, index) {HEAD
      %last, %n = scf.for %i = %low to %high step %step iter_args(%l = %low, %n = %c0)
          -> (E, index) : E {
        %m = arith.addi %n, %c1 : index
        scf.yield %i, %m : E, index
      }
      func.return %last, %n : E, index
    }""".replace("HEAD", HEAD)
        .replace("E,", f"{element},")
        .replace(" E)", f" {element})")
    )
    text = text.replace("(E", f"({element}").replace(": E", f": {element}")
    dtype = np.dtype(element.replace("i", "int"))
    run_both(text, *(np.array(v, dtype) for v in (high - 9, high, 4)))


# Errors.


def test_index_out_of_range() -> None:
    text = """func.func @f(%x: tensor<5xf64>, %n: index) -> f64 {HEAD
      %zero = arith.constant 0.0 : f64
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f64) {
        %v = tensor.extract %x[%i] : tensor<5xf64>
        %b = arith.addf %a, %v : f64
        scf.yield %b : f64
      }
      func.return %s : f64
    }""".replace("HEAD", HEAD)
    function = gradir.compile(gradir.parse(text), "f")
    assert function(np.arange(5.0), 5) == (10.0,)
    message = r"<string>:9:9: tensor.extract: index 5 is out of range for a size of 5"
    with pytest.raises(IndexOutOfRange, match=message):
        function(np.arange(5.0), 7)
    assert function(np.arange(5.0), 3) == (3.0,)


@pytest.mark.parametrize("step", [0, -2])
def test_step_must_be_positive(step: int) -> None:
    text = """func.func @f(%n: index, %s: index) -> index {
      %r = scf.for %i = %n to %n step %s iter_args(%a = %n) -> (index) { scf.yield %i : index }
      func.return %r : index
    }"""
    function = gradir.compile(gradir.parse(text), "f")
    message = f"<string>:2:7: scf.for: step must be positive, got {step}"
    with pytest.raises(ExecutionError, match=message):
        function(3, step)
    assert function(3, 1) == (3,)


# Tapes.

ENDLESS = """func.func @f(%x: f64, %go: i1) -> (f64, index) {
  %t = grad.tape_new : !grad.tape<f64, limit = 4096>
  %y, %u = scf.while (%a = %x, %s = %t)
      : (f64, !grad.tape<f64, limit = 4096>) -> (f64, !grad.tape<f64, limit = 4096>) {
    scf.condition(%go) %a, %s : f64, !grad.tape<f64, limit = 4096>
  } do {
  ^bb0(%a: f64, %s: !grad.tape<f64, limit = 4096>):
    %v = grad.tape_push %s, %a : !grad.tape<f64, limit = 4096>
    scf.yield %a, %v : f64, !grad.tape<f64, limit = 4096>
  }
  %n = grad.tape_size %u : !grad.tape<f64, limit = 4096>
  func.return %y, %n : f64, index
}"""


def test_an_endless_loop_ends_at_the_limit_of_its_tape() -> None:
    message = r"grad.tape_push: the tape's limit is 4096 bytes, needed 4104"
    module = gradir.parse(ENDLESS)
    with pytest.raises(ExecutionError, match=message):
        gradir.interpret(module, "f", 1.0, True)
    function = gradir.compile(module, "f")
    for _ in range(2):
        with pytest.raises(ExecutionError, match=message):
            function(1.0, True)
        assert function(1.0, False) == (1.0, 0)


GROWING = """func.func @f(%x: f64, %n: index) -> (f64, index) {HEAD
  %t = grad.tape_new : !grad.tape<f64, tensor<3xf64>>
  %y, %u = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %s = %t)
      -> (f64, !grad.tape<f64, tensor<3xf64>>) {
    %b = arith.addf %a, %x : f64
    %w = tensor.splat %b : tensor<3xf64>
    %v = grad.tape_push %s, %a, %w : !grad.tape<f64, tensor<3xf64>>
    scf.yield %b, %v : f64, !grad.tape<f64, tensor<3xf64>>
  }
  %zero = arith.constant 0.0 : f64
  %sum, %r = scf.for %i = %c0 to %n step %c2 iter_args(%a = %zero, %s = %u)
      -> (f64, !grad.tape<f64, tensor<3xf64>>) {
    %v, %p, %q = grad.tape_pop %s : !grad.tape<f64, tensor<3xf64>>
    %e = tensor.extract %q[%c2] : tensor<3xf64>
    %d = arith.mulf %p, %e : f64
    %b = arith.addf %a, %d : f64
    scf.yield %b, %v : f64, !grad.tape<f64, tensor<3xf64>>
  }
  %left = grad.tape_size %r : !grad.tape<f64, tensor<3xf64>>
  func.return %sum, %left : f64, index
}""".replace("HEAD", HEAD)


@pytest.mark.parametrize("trips", [0, 1, 7, 5000])
def test_tapes_grow(trips: int) -> None:
    """Past the first allocation too, and again with the memory of the call before."""
    module = gradir.parse(GROWING)
    wanted = gradir.interpret(module, "f", 0.5, trips)
    function = gradir.compile(module, "f", threads=1)
    for _ in range(2):
        assert function(0.5, trips) == wanted


@pytest.mark.parametrize("bound", ["capacity = 2", "limit = 0"])
def test_a_pop_without_a_record(bound: str) -> None:
    text = f"""func.func @f(%x: f64) -> f64 {{
      %t = grad.tape_new : !grad.tape<f64, {bound}>
      %u, %y = grad.tape_pop %t : !grad.tape<f64, {bound}>
      func.return %y : f64
    }}"""
    message = r"<string>:3:7: grad.tape_pop: the tape has no records left"
    with pytest.raises(ExecutionError, match=message):
        gradir.compile(gradir.parse(text), "f")(1.0)


def test_more_records_than_the_capacity() -> None:
    text = """func.func @f(%x: f64, %n: index) -> index {HEAD
      %t = grad.tape_new : !grad.tape<f64, capacity = 2>
      %u = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> (!grad.tape<f64, capacity = 2>) {
        %v = grad.tape_push %s, %x : !grad.tape<f64, capacity = 2>
        scf.yield %v : !grad.tape<f64, capacity = 2>
      }
      %k = grad.tape_size %u : !grad.tape<f64, capacity = 2>
      func.return %k : index
    }""".replace("HEAD", HEAD)
    function = gradir.compile(gradir.parse(text), "f")
    assert function(1.0, 2) == (2,)
    with pytest.raises(ExecutionError, match=r"grad.tape_push: the tape holds 2 records"):
        function(1.0, 3)


@pytest.mark.parametrize("name", ["rnn", "rnn_while", "while_in_for_in_if", "shared_weights"])
def test_tapes_go_from_function_to_function(name: str) -> None:
    """Those with a capacity as arrays, others as the memory that they grew in, call for call."""
    program = PROGRAMS[name]
    module, arguments = gradir.parse(program.text).gradient("f"), program.arguments()
    wanted = gradir.interpret(module, "f_fwd", *arguments)
    count = len(gradir.interpret(module, "f", *arguments))
    cts = [np.ones_like(w) for w in wanted[:count] if w.dtype.kind == "f"]
    wanted_grads = gradir.interpret(module, "f_bwd", *wanted[count:], *cts)
    forward = gradir.compile(module, "f_fwd", threads=1)
    backward = gradir.compile(module, "f_bwd", threads=1)
    several = [forward(*arguments) for _ in range(3)]
    for got in reversed(several):
        for ours, theirs in zip(backward(*got[count:], *cts), wanted_grads, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("name", "policy"), [("dynamic_bounds", "binomial"), ("newton", "online")])
def test_snapshots_go_from_function_to_function(name: str, policy: str) -> None:
    """The backward function keeps further snapshots on a copy: what it is given stays as it is."""
    program = PROGRAMS[name]
    module, arguments = gradir.parse(program.text), program.arguments()
    for op in module.op.walk():
        if isinstance(op, scf.ForOp | scf.WhileOp):
            op.attributes[POLICY_ATTRIBUTE] = LoopPolicyAttr.of(policy, 2)
    wanted = gradir.compile(module.gradient("f", mode="grad"), "f_grad", threads=1)(*arguments)
    split = module.gradient("f")
    forward = gradir.compile(split, "f_fwd", threads=1)
    backward = gradir.compile(split, "f_bwd", threads=1)
    first, *residuals = forward(*arguments)
    for _ in range(2):
        grads = backward(*residuals, np.ones_like(first))
        for ours, theirs in zip((first, *grads), wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_loops_in_loops_of_unknown_length_in_two_functions() -> None:
    """What the inner loop keeps of each of its runs goes through a tape of the outer one."""
    text = f"""func.func @f(%x: f64, %n: index) -> f64 {{{HEAD}
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {{
        %q = scf.for %j = %c0 to %i step %c1 iter_args(%b = %a) -> (f64) {{
          %s = math.sin %b : f64
          %p = arith.mulf %s, %x : f64
          scf.yield %p : f64
        }} {{grad.loop = #grad.loop<binomial = 2>}}
        scf.yield %q : f64
      }}
      func.return %r : f64
    }}"""
    split = gradir.parse(text).gradient("f")
    forward = gradir.compile(split, "f_fwd", threads=1)
    backward = gradir.compile(split, "f_bwd", threads=1)
    for count in (0, 5):
        _, *tapes = gradir.interpret(split, "f_fwd", 1.5, count)
        (wanted,) = gradir.interpret(split, "f_bwd", *tapes, 1.0)
        _, *residuals = forward(1.5, count)
        for _ in range(2):
            np.testing.assert_allclose(backward(*residuals, 1.0), [wanted], rtol=1e-13)


@pytest.mark.parametrize("bound", ["", ", capacity = 3", ", capacity = 0"])
def test_records_without_bytes(bound: str) -> None:
    """They are counted like others; a tape for none holds none."""
    tape = f"!grad.tape<tensor<0xf64>{bound}>"
    text = f"""func.func @f(%x: tensor<0xf64>, %n: index) -> index {{{HEAD}
      %t = grad.tape_new : {tape}
      %u = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> ({tape}) {{
        %v = grad.tape_push %s, %x : {tape}
        scf.yield %v : {tape}
      }}
      %k = grad.tape_size %u : {tape}
      func.return %k : index
    }}"""
    function = gradir.compile(gradir.parse(text), "f")
    assert function(np.zeros(0), 0) == (0,)
    if "0" in bound:
        with pytest.raises(ExecutionError, match="the tape holds 0 records"):
            function(np.zeros(0), 1)
    else:
        assert function(np.zeros(0), 3) == (3,)


def test_a_tape_of_another_type_is_refused() -> None:
    module = gradir.parse(PROGRAMS["rnn"].text).gradient("f")
    backward = gradir.compile(module, "f_bwd", threads=1)
    arguments = [np.ones(s.shape) for s in backward.inputs]
    with pytest.raises(ArgumentTypeError, match=r"f_bwd: expected \d+ arguments, got"):
        backward(*arguments)
    given = [object()] * len(backward.program.input_tapes)
    with pytest.raises(ArgumentTypeError, match=r"f_bwd: argument \d: expected a !grad.tape<"):
        backward(*given)


def test_a_tape_that_is_used_twice_is_refused() -> None:
    pops = """%SUM, %REST = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %s = %TAPE)
          -> (f64, !grad.tape<f64>) {
        %v, %p = grad.tape_pop %s : !grad.tape<f64>
        %b = arith.addf %a, %p : f64
        scf.yield %b, %v : f64, !grad.tape<f64>
      }"""
    text = """func.func @f(%x: f64, %n: index) -> (f64, f64) {HEAD
      %t = grad.tape_new : !grad.tape<f64>
      %one = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> (!grad.tape<f64>) {
        %v = grad.tape_push %s, %x : !grad.tape<f64>
        scf.yield %v : !grad.tape<f64>
      }
      %other = grad.tape_push %one, %x : !grad.tape<f64>
      %double = arith.addf %x, %x : f64
      %third = grad.tape_push %one, %double : !grad.tape<f64>
      FIRST
      SECOND
      func.return %y, %z : f64, f64
    }""".replace("HEAD", HEAD)
    for mark, names in (("FIRST", ("y", "k", "other")), ("SECOND", ("z", "l", "third"))):
        part = pops
        for word, name in zip(("SUM", "REST", "TAPE"), names, strict=True):
            part = part.replace(f"%{word}", f"%{name}")
        text = text.replace(mark, part)
    message = r"<string>:\d+:7: error: grad.tape_push: native code needs every tape to be used once"
    with pytest.raises(PassError, match=message):
        gradir.compile(gradir.parse(text), "f")


@pytest.mark.parametrize(
    "type_", ["tensor<2x3xf64>", "tensor<f64>", "tensor<0xf64>", "tensor<3xi64>"]
)
def test_one_of_two_tensors(type_: str) -> None:
    text = f"""func.func @f(%x: {type_}, %y: {type_}, %c: i1) -> {type_} {{
      %z = arith.select %c, %x, %y : {type_}
      func.return %z : {type_}
    }}"""
    function = gradir.compile(gradir.parse(text), "f")
    one, other = (np.zeros(s.shape, s.dtype) + k for k, s in enumerate(function.inputs[:2]))
    for condition in (True, False):
        (found,) = function(one, other, condition)
        np.testing.assert_array_equal(found, one if condition else other)


# What becomes of loops.


@pytest.mark.parametrize("type_", ["f64", "tensor<f64>"])
def test_a_loop_of_numbers_is_no_kernel(type_: str) -> None:
    """Tensors of one element too are kept in registers."""
    product = "arith.mulf" if type_ == "f64" else "array.multiply"
    text = f"""func.func @f(%x: {type_}) -> {type_} {{{HEAD}
      %n = arith.constant 1000 : index
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> ({type_}) {{
        %b = {product} %a, %x : {type_}
        scf.yield %b : {type_}
      }}
      func.return %y : {type_}
    }}"""
    function = gradir.compile(gradir.parse(text), "f", threads=2)
    assert not function.program.kernels
    assert function.plan.peak_bytes == 0
    assert function(np.array(0.999)) == pytest.approx((0.999**1001,))


def test_a_row_a_step_is_computed_in_place() -> None:
    """The rows are the only memory that is written: no copy of the whole, no temporary."""
    text = """func.func @f(%x: tensor<64xf64>) -> tensor<100x64xf64> {HEAD
      %n = arith.constant 100 : index
      %e = tensor.empty() : tensor<100x64xf64>
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %e) -> (tensor<100x64xf64>) {
        %row = array.cumulative_sum %x {axis = 0} : tensor<64xf64> -> tensor<64xf64>
        %b = tensor.insert_slice %row into %a[%i, 0] [1, 64] [1, 1]
          : tensor<64xf64> into tensor<100x64xf64>
        scf.yield %b : tensor<100x64xf64>
      }
      func.return %y : tensor<100x64xf64>
    }""".replace("HEAD", HEAD)
    function = gradir.compile(gradir.parse(text), "f", threads=1)
    assert function.plan.peak_bytes <= 64 * 8
    np.testing.assert_array_equal(function(np.ones(64))[0], [np.arange(1.0, 65)] * 100)


def test_a_sum_of_products_is_computed_in_place() -> None:
    """What is carried is read by the epilogue of the product, element by element."""
    text = """func.func @f(%x: tensor<20x9xf64>, %y: tensor<9x40xf64>) -> tensor<20x40xf64> {HEAD
      %zero = array.full {value = 0.0} : tensor<20x40xf64>
      %w = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %zero) -> (tensor<20x40xf64>) {
        %e = tensor.extract %a[%i, %i] : tensor<20x40xf64>
        %s = tensor.insert %e into %x[%i, %i] : tensor<20x9xf64>
        %z = array.matmul %s, %y : tensor<20x9xf64>, tensor<9x40xf64> -> tensor<20x40xf64>
        %b = array.add %a, %z : tensor<20x40xf64>
        scf.yield %b : tensor<20x40xf64>
      }
      func.return %w : tensor<20x40xf64>
    }""".replace("HEAD", HEAD)
    module = gradir.parse(text)
    generator = np.random.default_rng(0)
    arguments = [generator.normal(size=(20, 9)), generator.normal(size=(9, 40))]
    function = gradir.compile(module, "f", threads=1)
    assert function.plan.peak_bytes == 20 * 9 * 8
    (got,), (wanted,) = function(*arguments), gradir.interpret(module, "f", *arguments)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-13)


def test_the_gradient_of_a_row_a_step_costs_a_row_a_step() -> None:
    """The cotangent of a tensor read row by row is summed in place, row by row."""
    text = """func.func @f(%x: tensor<100x64xf64>) -> tensor<64xf64> {HEAD
      %n = arith.constant 100 : index
      %zero = array.full {value = 0.0} : tensor<64xf64>
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<64xf64>) {
        %row = tensor.extract_slice %x[%i, 0] [1, 64] [1, 1]
          : tensor<100x64xf64> to tensor<64xf64>
        %b = array.add %a, %row : tensor<64xf64>
        scf.yield %b : tensor<64xf64>
      }
      func.return %y : tensor<64xf64>
    }""".replace("HEAD", HEAD)
    module = gradir.parse(text).gradient("f", mode="vjp")
    function = gradir.compile(module, "f_vjp", threads=1)
    whole = "memref<100x64xf64>"
    stages = "gradir-inline,gradir-sum-slices,gradir-simplify,gradir-lower,gradir-fuse"
    buffers = str(module.run_passes(f"{stages},gradir-bufferize"))
    backward = buffers[buffers.index("@f_vjp") :]
    assert backward.count(f"loopnest.nest [100, 64] () -> ([d0, d1] to %result1 : {whole})") == 1
    assert backward.count("loopnest.nest [100, 64]") == 1
    generator = np.random.default_rng(0)
    ct = generator.normal(size=64)
    _, x_ct = function(generator.normal(size=(100, 64)), ct)
    np.testing.assert_array_equal(x_ct, np.broadcast_to(ct, (100, 64)))


def test_snapshots_in_a_loop_of_growing_length() -> None:
    """LLVM's value numbering gave up on such a program, and the process with it."""
    module = gradir.parse("""
func.func @f(%x: f64, %w: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %q = scf.for %j = %c0 to %i step %c1 iter_args(%c = %a) -> (f64) {
      %p = arith.mulf %c, %w : f64
      scf.yield %p : f64
    } {grad.loop = #grad.loop<binomial = 1>}
    scf.yield %q : f64
  }
  func.return %r : f64
}""").gradient("f", mode="grad")
    y, x_ct, w_ct = gradir.compile(module, "f_grad")(2.0, 0.5, 4)
    assert (float(y), float(x_ct), float(w_ct)) == (2 * 0.5**6, 0.5**6, 12 * 0.5**5)
