"""Masks of dropout for backward code: kept as bits, or drawn again, with the same gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute

import gradir
from gradir import GradirError, Module
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.grad.bits import byte_count
from gradir.passes.analysis import kept_bits
from gradir.symbols import function_named
from gradir.testing import check_grads

Array = Any
KEY = np.array(11)


def draw(x: str, shape: str, number: int = 0, element: str = "f64", p: float = 0.4) -> str:
    """The op on %x, as %d and %m with the number behind."""
    of, mask = f"tensor<{shape}{element}>", f"tensor<{shape}i1>"
    return (
        f"%k{number} = array.full {{value = {number}}} : tensor<i64>\n"
        f"%d{number}, %m{number} = nn.dropout {x}, %key, %k{number} {{p = {p}}} "
        f": {of}, tensor<i64>, tensor<i64> -> ({of}, {mask})\n"
    )


def net(n: int = 9, count: int = 2, open_: str = "", close: str = "") -> Module:
    """Layers with dropout behind each; with `open_` and `close`, the first is in a stage."""
    kind, lines, x = f"tensor<{n}x{n}xf64>", "", "%x"
    for k in range(count):
        if k == 0 and open_:
            lines += f"%s = {open_} %x : {kind}\n"
            x = "%s"
        lines += f"%h{k} = array.sin {x} : {kind}\n{draw(f'%h{k}', f'{n}x{n}x', k)}"
        lines += f"%z{k} = array.matmul %d{k}, %w : {kind}, {kind} -> {kind}\n"
        lines += f"%t{k} = array.tanh %z{k} : {kind}\n"
        x = f"%t{k}"
        if k == 0 and close:
            lines += f"%e = {close} %t0 : {kind}\n"
            x = "%e"
    return gradir.parse(
        f"func.func @f(%x: {kind}, %w: {kind}, %key: tensor<i64>) -> tensor<f64> {{\n{lines}"
        f"%loss = array.sum {x} : {kind} -> tensor<f64>\nfunc.return %loss : tensor<f64>\n}}"
    )


def inputs(n: int = 9) -> list[Array]:
    generator = np.random.default_rng(0)
    return [*(generator.uniform(-1, 1, (n, n)) for _ in range(2)), KEY]


def same(one: Any, other: Any) -> None:
    for a, b in zip(one, other, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.fixture
def as_bools(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that makes gradients without bits."""

    def gradients_by_bools(module: Module, *arrays: Array, **options: Any) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(kept_bits, "FEWEST_ELEMENTS", 1 << 40)
            derived = module.gradient("f", mode="grad", **options)
        assert "bits" not in str(derived)
        return gradir.compile(derived, "f_grad")(*arrays)

    return gradients_by_bools


def handed_over(derived: Module) -> list[str]:
    """The types of the residuals between @f_fwd and @f_bwd."""
    function = function_named(derived.op, "f_fwd")
    assert function is not None
    return [str(t) for t in list(function.function_type.outputs)[1:]]


def test_residuals() -> None:
    """Kept: n / 8 bytes. Not kept: neither the mask, nor what dropout reads."""
    kept = handed_over(net(count=1).gradient("f"))
    assert kept.count(f"tensor<{byte_count([81])}xi8>") == 1 and "tensor<9x9xi1>" not in kept
    module = gradir.parse(
        "func.func @f(%x: tensor<9x9xf64>, %key: tensor<i64>) -> tensor<9x9xf64> {\n"
        "%h = array.add %x, %x : tensor<9x9xf64>\n" + draw("%h", "9x9x") +
        "func.return %d0 : tensor<9x9xf64>\n}"
    )  # fmt: skip
    assert handed_over(module.gradient("f", policy="keep_none")) == ["tensor<i64>"]
    assert handed_over(module.gradient("f")) == ["tensor<11xi8>"]


def test_few_elements_stay_bools() -> None:
    assert "tensor<7x9xi1>" not in handed_over(net().gradient("f"))
    text = ("func.func @f(%x: tensor<7x9xf64>, %key: tensor<i64>) -> tensor<7x9xf64> {\n"
            + draw("%x", "7x9x") + "func.return %d0 : tensor<7x9xf64>\n}")  # fmt: skip
    assert handed_over(gradir.parse(text).gradient("f")) == ["tensor<7x9xi1>"]


def test_unused_mask_costs_nothing() -> None:
    """A mask that no backward code reads is not packed."""
    text = ("func.func @f(%x: tensor<64xf64>, %y: tensor<64xf64>, %key: tensor<i64>) "
            "-> tensor<64xf64> {\n" + draw("%x", "64x") +
            "%z = array.multiply %d0, %y : tensor<64xf64>\n"
            "func.return %z : tensor<64xf64>\n}")  # fmt: skip
    derived = gradir.parse(text).gradient("f", wrt=[1])
    assert handed_over(derived) == ["tensor<64xf64>"] and "bits" not in str(derived)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none", "keep_matmuls", "auto"])
def test_policies_change_no_bit(policy: str, as_bools: Any) -> None:
    module = net(count=1)
    expected = as_bools(module, *inputs())
    derived = module.gradient("f", mode="grad", policy=policy)
    same(gradir.compile(derived, "f_grad")(*inputs()), expected)
    split = module.gradient("f", policy=policy)
    loss, *residuals = gradir.compile(split, "f_fwd")(*inputs())
    same((loss, *gradir.compile(split, "f_bwd")(*residuals, np.ones(()))), expected)
    known = gradir.interpret(derived, "f_grad", *inputs())
    for one, other in zip(known, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


def test_derivatives() -> None:
    check_grads((net(), "f"), inputs(), order=2)


@pytest.mark.parametrize("policy", ["keep_all", "keep_none"])
def test_stages_change_no_bit(policy: str, as_bools: Any) -> None:
    expected = as_bools(net(count=1), *inputs())
    staged = net(count=1, open_="grad.start_checkpoint", close="grad.end_checkpoint")
    derived = staged.gradient("f", mode="grad", policy=policy)
    same(gradir.compile(derived, "f_grad")(*inputs()), expected)


REGION = """
func.func @f(%x: tensor<9x9xf64>, %w: tensor<9x9xf64>, %key: tensor<i64>) -> tensor<f64> {{
  %e = grad.checkpoint policy "{policy}" -> (tensor<9x9xf64>) {{
    {draw}
    %z = array.matmul %d0, %w : tensor<9x9xf64>, tensor<9x9xf64> -> tensor<9x9xf64>
    %t = array.tanh %z : tensor<9x9xf64>
    grad.yield %t : tensor<9x9xf64>
  }}
  %y = array.matmul %e, %w : tensor<9x9xf64>, tensor<9x9xf64> -> tensor<9x9xf64>
  %s = array.sin %y : tensor<9x9xf64>
  %loss = array.sum %s : tensor<9x9xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}}"""


def test_policies_of_stages(as_bools: Any) -> None:
    none, every = (
        gradir.parse(REGION.format(policy=policy, draw=draw("%x", "9x9x")))
        for policy in ("keep_none", "keep_all")
    )
    expected = as_bools(none, *inputs())
    derived = every.gradient("f", mode="grad")
    assert "tensor<11xi8>" in str(derived) and "bits" not in str(none.gradient("f", mode="grad"))
    same(gradir.compile(derived, "f_grad")(*inputs()), expected)


def looped(policy: str = "store_all") -> Module:
    """Dropout in a loop and in a branch in it; the first draw is the same in all iterations."""
    kind = "tensor<9x9xf64>"
    of = f"{kind}, tensor<i64>, tensor<i64> -> ({kind}, tensor<9x9xi1>)"
    return gradir.parse(f"""
    func.func @f(%x: {kind}, %w: {kind}, %key: tensor<i64>) -> tensor<f64> {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %five = arith.constant 5 : index
      %y, %last = scf.for %i = %zero to %five step %one iter_args(%h = %x, %c = %key)
          -> ({kind}, tensor<i64>) {{
        {draw("%h", "9x9x")}
        %z = array.matmul %d0, %w : {kind}, {kind} -> {kind}
        %u, %mask = nn.dropout %z, %key, %c : {of}
        %even = arith.cmpi slt, %i, %one : index
        %v = scf.if %even -> ({kind}) {{
          %q, %mask1 = nn.dropout %u, %c, %c : {of}
          scf.yield %q : {kind}
        }} else {{
          scf.yield %u : {kind}
        }}
        %t = array.tanh %v : {kind}
        %next = array.add %c, %c : tensor<i64>
        scf.yield %t, %next : {kind}, tensor<i64>
      }} {{grad.loop = #grad.loop<{policy}>}}
      %loss = array.sum %y : {kind} -> tensor<f64>
      func.return %loss : tensor<f64>
    }}""")


@pytest.mark.parametrize("policy", ["store_all", "every = 2", "binomial = 2"])
def test_loops(policy: str, as_bools: Any) -> None:
    """Tapes hold bits; an invariant mask is kept once, outside."""
    expected = as_bools(looped(), *inputs())
    derived = looped(policy).gradient("f", mode="grad")
    text = str(derived)
    tapes = [line for line in text.splitlines() if "grad.tape_new" in line]
    if policy == "store_all":
        assert [line.count("tensor<11xi8>") for line in tapes] == [2]
        assert text.count("grad.pack_bits") == 3
    assert not any("i1" in line for line in tapes)
    same(gradir.compile(derived, "f_grad")(*inputs()), expected)
    known = gradir.interpret(derived, "f_grad", *inputs())
    for one, other in zip(known, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


def test_second_order() -> None:
    """A derivative of a derivative keeps the bits that it has, and packs no mask again."""
    first = net(count=1).gradient("f", mode="grad")
    second = gradir.parse(str(first)).gradient("f_grad", of=[1], wrt=[0])
    text = str(second)
    forward = text[text.index("@f_grad_fwd") : text.index("@f_grad_bwd")]
    assert forward.count("grad.pack_bits") == 1 and "tensor<9x9xi1>" not in forward.split("{")[0]
    check_grads((first, "f_grad"), inputs(), order=1)


def test_calls(as_bools: Any) -> None:
    kind = "tensor<9x9xf64>"
    module = gradir.parse(f"""
    func.func @layer(%x: {kind}, %w: {kind}, %key: tensor<i64>) -> {kind} {{
      {draw("%x", "9x9x")}
      %z = array.matmul %d0, %w : {kind}, {kind} -> {kind}
      %t = array.tanh %z : {kind}
      func.return %t : {kind}
    }}
    func.func @f(%x: {kind}, %w: {kind}, %key: tensor<i64>) -> tensor<f64> {{
      %a = func.call @layer(%x, %w, %key) : ({kind}, {kind}, tensor<i64>) -> {kind}
      %b = func.call @layer(%a, %w, %key) : ({kind}, {kind}, tensor<i64>) -> {kind}
      %loss = array.sum %b : {kind} -> tensor<f64>
      func.return %loss : tensor<f64>
    }}""")
    expected = as_bools(module, *inputs())
    derived = module.gradient("f", mode="grad")
    assert "tensor<11xi8>" in str(derived)
    same(gradir.compile(derived, "f_grad")(*inputs()), expected)


def test_returned_masks(as_bools: Any) -> None:
    """A mask that is a result is in the caller's memory: a joint function reads it there."""
    kind = "tensor<9x9xf64>"
    module = gradir.parse(f"""
    func.func @f(%x: {kind}, %w: {kind}, %key: tensor<i64>) -> (tensor<f64>, tensor<9x9xi1>) {{
      {draw("%x", "9x9x")}
      %z = array.matmul %d0, %w : {kind}, {kind} -> {kind}
      %t = array.tanh %z : {kind}
      %loss = array.sum %t : {kind} -> tensor<f64>
      func.return %loss, %m0 : tensor<f64>, tensor<9x9xi1>
    }}""")
    expected = as_bools(module, *inputs())
    derived = module.gradient("f", mode="grad")
    assert "bits" not in str(derived)
    same(gradir.compile(derived, "f_grad")(*inputs()), expected)


@pytest.mark.parametrize("element", [f16, bf16, f32], ids=str)
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_elements_and_probabilities(element: Attribute, p: float) -> None:
    kind = f"tensor<65x{element}>"
    derived = gradir.parse(
        f"func.func @f(%x: {kind}, %key: tensor<i64>) -> {kind} {{\n"
        f"{draw('%x', '65x', element=str(element), p=p)}func.return %d0 : {kind}\n}}"
    ).gradient("f")
    dtype = numpy_dtype(element)
    x = np.linspace(-3, 3, 65).astype(dtype)
    scale = np.asarray(1 / (1 - p) if p < 1 else 0, np.float32)
    for run in (native, gradir.interpret):
        y, bits = run(derived, "f_fwd", x, KEY)
        (x_ct,) = run(derived, "f_bwd", bits, np.ones_like(x))
        assert bits.dtype == np.int8 and bits.shape == (9,)
        kept = np.asarray(x_ct) != 0
        assert 20 < kept.sum() < 60 if p == 0.3 else kept.sum() == (65 if p == 0 else 0)
        np.testing.assert_array_equal(x_ct, np.where(kept, scale, 0).astype(dtype))
        scaled = x.astype(np.float32) * scale
        np.testing.assert_array_equal(y, np.where(kept, scaled, 0).astype(dtype))


def native(module: Module, function: str, *arrays: Array) -> Any:
    return gradir.compile(module, function)(*arrays)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (63,), (64,), (65,), (5, 13)])
def test_sizes(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed whatever the size: the gradient goes through the mask."""
    monkeypatch.setattr(kept_bits, "FEWEST_ELEMENTS", 0)
    text = "".join(f"{n}x" for n in shape)
    kinds = f"tensor<{text}f64>, tensor<{text}i1>"
    module = gradir.parse(
        f"func.func @f(%x: tensor<{text}f64>, %key: tensor<i64>) -> ({kinds}) {{\n"
        f"{draw('%x', text)}func.return %d0, %m0 : {kinds}\n}}"
    )
    derived = module.gradient("f")
    _, mask, bits = gradir.compile(derived, "f_fwd")(np.ones(shape), KEY)
    assert bits.size == (mask.size + 7) // 8
    (x_ct,) = gradir.compile(derived, "f_bwd")(bits, np.ones(shape))
    np.testing.assert_array_equal(x_ct, np.where(mask, 1 / (1 - 0.4), 0))


def test_memory_limits_hold() -> None:
    """Least, and all between: the arena is no larger, and no bit changes."""
    module = net(16, 2)
    expected = gradir.compile(module.gradient("f", mode="grad"), "f_grad")(*inputs(16))
    with pytest.raises(GradirError, match="minimum is") as error:
        module.gradient("f", mode="grad", memory_limit=0)
    least = int(str(error.value).split("minimum is ")[1].split()[0])
    for limit in (least, least + 1500, 2 * least):
        run = gradir.compile(module.gradient("f", mode="grad", memory_limit=limit), "f_grad")
        assert run.plan.peak_bytes <= limit
        same(run(*inputs(16)), expected)
    with pytest.raises(GradirError, match="infeasible"):
        module.gradient("f", mode="grad", memory_limit=least - 1)


def test_bits_save_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many layers, the arena has the masks as bits."""
    module, n, count = net(64, 8), 64 * 64, 8

    def arena() -> int:
        derived = module.gradient("f", mode="grad")
        return gradir.compile(derived, "f_grad").plan.peak_bytes

    small = arena()
    monkeypatch.setattr(kept_bits, "FEWEST_ELEMENTS", 1 << 40)
    assert arena() - small >= (count - 2) * (n - n // 8)


def test_dynamic_shapes() -> None:
    """Where the count is known only later, so are the bits."""
    text = ("func.func @f(%x: tensor<?xf64>, %key: tensor<i64>) -> tensor<?xf64> {\n"
            + draw("%x", "?x") + "func.return %d0 : tensor<?xf64>\n}")  # fmt: skip
    derived = gradir.parse(text).gradient("f", mode="vjp")
    x = np.linspace(1, 2, 70)
    y, x_ct = gradir.compile(derived, "f_vjp")(x, KEY, np.ones(70))
    np.testing.assert_array_equal(y != 0, x_ct != 0)


def test_traced_dropout_returns_y() -> None:
    """As in PyTorch and JAX, one array."""

    def dropped(x: Any) -> Any:
        return gradir.nn.dropout(x, 3, 0, p=0.25)

    out: Any = gradir.jit(dropped)(np.ones(100))
    assert out.shape == (100,) and {*out.tolist()} == {0, 1 / 0.75}
