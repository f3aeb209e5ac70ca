"""gradir.interop.torch: values, gradients of every order, and what torch promises of tensors."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from jax_ops import jax, jnp
from torch_ops import torch

import gradir
import gradir.numpy as gnp
from gradir.interop.programs import Differentiable
from gradir.interop.torch import differentiable, wrap

pytestmark = pytest.mark.filterwarnings("ignore")
F64 = torch.float64


def random(*shape: int, dtype: Any = F64, grad: bool = True) -> Any:
    return torch.rand(shape, dtype=dtype, generator=GENERATOR).requires_grad_(grad)


GENERATOR = torch.Generator().manual_seed(0)


def layer(np_: Any, params: Any, x: Any, k: Any) -> Any:
    h = np_.tanh(x @ params["w"] + params["b"])
    return {"loss": np_.sum(np_.sin(h)) * k, "h": [h, np_.argmax(h, 1)]}


def gradir_layer(params: Any, x: Any, k: Any) -> Any:
    return layer(gnp, params, x, k)


def flat(function: Any) -> Any:
    def call(w: Any, b: Any, x: Any) -> Any:
        made = function({"w": w, "b": b}, x, k=2.0)
        return made["loss"], made["h"][0]

    return call


OURS = flat(wrap(gradir_layer))
THEIRS = flat(lambda params, x, k: layer(torch, params, x, k))


def test_nested_arguments_and_results() -> None:
    params, x = {"w": random(3, 2), "b": random(2)}, random(4, 3)
    found, expected = wrap(gradir_layer)(params, x, 3), layer(torch, params, x, 3)
    torch.testing.assert_close(found, expected)
    assert not found["h"][1].requires_grad


def test_gradients_of_first_and_second_order() -> None:
    arguments = random(3, 2), random(2), random(4, 3)
    assert torch.autograd.gradcheck(OURS, arguments)
    assert torch.autograd.gradgradcheck(OURS, arguments)


def test_third_order() -> None:
    w, b, x = random(3, 2), random(2), random(4, 3)

    def third(function: Any) -> Any:
        grads = torch.autograd.grad(function(w, b, x)[0], [w, x], create_graph=True)
        sums = (grads[0] ** 2).sum() + (grads[1] ** 3).sum()
        grads = torch.autograd.grad(sums, [w, b], create_graph=True)
        return torch.autograd.grad((grads[0] ** 2).sum() + grads[1].sum(), [w, b, x])

    torch.testing.assert_close(third(OURS), third(THEIRS))


def test_tapes_of_loops_with_unknown_lengths() -> None:
    def squares(x: Any) -> Any:
        return gradir.while_loop(lambda c: gnp.sum(c) < 50.0, lambda c: c * c + 1, x)

    x = random(3)
    assert torch.autograd.gradcheck(wrap(squares), x)
    assert torch.autograd.gradgradcheck(wrap(squares), x)


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_floating_dtypes(name: str) -> None:
    dtype = getattr(torch, name)
    x, i = random(3, 2, dtype=dtype), torch.tensor([2, 0, 2])
    f = wrap(lambda x, i: gnp.tanh(x[i]) * 2)
    y, z = f(x, i), torch.tanh(x[i]) * 2
    (found,), (wanted,) = (torch.autograd.grad(each.sum(), x) for each in (y, z))
    assert y.dtype is found.dtype is dtype
    tolerance = {"rtol": 2e-2, "atol": 1e-2} if x.element_size() == 2 else {}
    torch.testing.assert_close(y, z, **tolerance)
    torch.testing.assert_close(found, wanted, **tolerance)


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "uint16", "uint64", "int8", "int16", "int32", "int64"]
)
def test_integers_are_copied_through(name: str) -> None:
    x = torch.tensor([0, 1, 1]).to(getattr(torch, name))
    y = wrap(lambda x: gnp.concat([x, x]))(x)
    assert y.dtype is x.dtype
    assert y.tolist() == [*x.tolist()] * 2


LAYOUTS = {
    "transposed": lambda: random(3, 4).T,
    "strided": lambda: random(4, 6)[:, ::2],
    "expanded": lambda: random(3).expand(4, 3),
    "offset": lambda: random(5, 3)[1:],
    "empty": lambda: random(0, 3),
    "negated bit": lambda: torch.randn(4, 3, dtype=torch.complex128).conj().imag,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    x = LAYOUTS[layout]().detach().requires_grad_()
    y = wrap(lambda x: gnp.sin(x) * x)(x)
    torch.testing.assert_close(y, torch.sin(x) * x)
    ct = torch.rand(3, dtype=F64).expand(y.shape)
    (found,) = torch.autograd.grad(y, x, ct)
    torch.testing.assert_close(found, (torch.cos(x) * x + torch.sin(x)).detach() * ct)


def _complex(*shape: int) -> Any:
    parts = random(*shape, grad=False), random(*shape, grad=False)
    return torch.complex(*parts).requires_grad_()


OF_COMPLEX: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "product with the conjugate": (lambda x: gnp.sin(x) * gnp.conj(x), (_complex(3),)),
    "real loss": (lambda x: gnp.sum(gnp.abs(x) ** 3), (_complex(3),)),
    "of both kinds": (lambda x, y: x * y + 1j * gnp.exp(y), (_complex(3), random(3))),
    "two results": (lambda x, y: (x @ y, gnp.real(x) * 2), (_complex(2, 2), _complex(2, 2))),
    "transform of reals": (gnp.fft.rfft, (random(5),)),
    "loop": (
        lambda x: gradir.fori_loop(0, 3, lambda k, c: c * x + 1j, x), (_complex(2),)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_gradients_of_complex_numbers_are_torchs(name: str) -> None:
    """The conjugates of ours; torch's own checks, of both orders."""
    function, args = OF_COMPLEX[name]
    assert torch.autograd.gradcheck(wrap(function), args)
    assert torch.autograd.gradcheck(wrap(function, once_differentiable=True), args)
    assert torch.autograd.gradgradcheck(wrap(function), args)


def test_conjugated_tensors() -> None:
    x = _complex(4)
    y = wrap(lambda x: gnp.sin(x) * gnp.conj(x))(x.conj())
    wanted = torch.sin(x.conj()) * x
    torch.testing.assert_close(y, wanted)
    ct = torch.randn(4, dtype=torch.complex128).conj()
    found, expected = (torch.autograd.grad(z, x, ct)[0] for z in (y, wanted))
    torch.testing.assert_close(found, expected)
    loss = wrap(lambda x: gnp.sum(gnp.abs(x) ** 2))(x)
    loss.backward()
    assert not x.grad.is_conj()
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_rank_0() -> None:
    x = random()
    assert torch.autograd.gradgradcheck(wrap(lambda x: gnp.exp(x) * x), x)


def test_contiguous_tensors_are_read_in_place() -> None:
    seen: list[int] = []

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        seen.append(inputs[0].ctypes.data)
        outputs[0][...] = inputs[0]

    op = gradir.custom_op(forward, lambda x: x)
    x = torch.rand(1000, dtype=F64)
    wrap(lambda x: op(x))(x)
    assert seen == [x.data_ptr()]


def test_only_what_requires_a_gradient_is_differentiated() -> None:
    f = wrap(lambda x, w: gnp.tanh(x @ w))
    x, w = random(4, 3, grad=False), random(3, 2)
    y = f(x, w)
    assert len(y.grad_fn.call.halves.backward.results) == 1
    y.sum().backward()
    assert x.grad is None
    torch.testing.assert_close(w.grad, torch.autograd.grad(torch.tanh(x @ w).sum(), w)[0])


def test_no_grad() -> None:
    x = random(3)
    f = wrap(lambda x: x * x)
    with torch.no_grad():
        assert not f(x).requires_grad
    with torch.inference_mode():
        assert not f(x).requires_grad
    assert not f(x.detach()).requires_grad
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Differentiable, "halves", None)  # nothing is kept
        with torch.no_grad():
            f(x)
        with pytest.raises(TypeError):
            f(x)
    assert f(x).requires_grad


def test_a_changed_residual_is_noticed() -> None:
    x = random(3)
    y = x * 1.0
    z = wrap(lambda y: y * y)(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_changed_result_is_noticed() -> None:
    z = wrap(lambda x: gnp.exp(x))(random(3))
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_an_argument_that_no_gradient_reads_may_change() -> None:
    x = random(3)
    y = x * 1.0
    z = wrap(lambda y: gnp.exp(y))(y)
    expected = z.detach().clone()
    y.add_(1)
    (found,) = torch.autograd.grad(z.sum(), x, retain_graph=True)
    torch.testing.assert_close(found, expected)
    with pytest.raises(gradir.GradirError, match="modified by an inplace operation"):
        torch.autograd.grad(z.sum(), x, create_graph=True)


def test_a_second_backward_needs_retain_graph() -> None:
    z = wrap(lambda x: x * x)(random(3)).sum()
    z.backward(retain_graph=True)
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()


def test_once_differentiable() -> None:
    x = random(3)
    y = wrap(lambda x: gnp.exp(x), once_differentiable=True)(x)
    (found,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.testing.assert_close(found.detach(), torch.exp(x).detach())
    with pytest.raises(gradir.GradirError, match="once_differentiable"):
        found.sum().backward()


def test_graphs_are_freed() -> None:
    """Also where an argument that is only held for create_graph gets the result added."""
    f = wrap(lambda x: gnp.exp(x))
    x = random(3) * 1.0
    alive = [weakref.ref(y := f(x)), weakref.ref(x)]
    x += y
    del x, y
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_unused_results_and_the_same_tensor_twice() -> None:
    x = random(3)
    f = wrap(lambda a, b: (a * b, gnp.sin(a)))
    (found,) = torch.autograd.grad(f(x, x)[0].sum(), x)
    torch.testing.assert_close(found, (2 * x).detach())


def test_sparse_cotangents() -> None:
    table = random(4, 2)
    y = wrap(lambda t: t * t)(table)
    rows = torch.nn.functional.embedding(torch.tensor([1, 1]), y, sparse=True)
    (found,) = torch.autograd.grad(rows.sum(), table)
    expected = torch.zeros(4, 2, dtype=F64)
    expected[1] = 4 * table.detach()[1]
    torch.testing.assert_close(found, expected)


def test_tensors_that_are_zero_without_memory() -> None:
    """As the derivative of sgn: a cotangent, an argument, a parameter."""
    x = random(3)
    f = wrap(lambda t: gnp.cos(t))
    (found,) = torch.autograd.grad(f(x).sgn().sum(), x)
    torch.testing.assert_close(found, torch.zeros(3, dtype=F64))
    zero = torch._efficientzerotensor((3,), dtype=F64)
    torch.testing.assert_close(f(zero), torch.ones(3, dtype=F64))

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = zero

        def forward(self, x: Any) -> Any:
            return torch.cos(x * self.scale)

    torch.testing.assert_close(differentiable(Scaled())(x), torch.ones(3, dtype=F64))


def test_static_arguments_make_programs() -> None:
    f = wrap(lambda x, axis, keep=False, how="sum": getattr(gnp, how)(x, axis=axis, keepdims=keep))
    x = torch.rand(2, 3)
    assert f(x, 0).shape == (3,)
    assert f(x, 1, keep=True).shape == (2, 1)
    torch.testing.assert_close(f(x, None, how="max"), x.max())
    copysign = wrap(lambda x, s: gnp.copysign(x, gnp.asarray(s)))
    assert [float(copysign(torch.ones((), dtype=F64), s)) for s in (0.0, -0.0)] == [1, -1]


def test_a_module_trains() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 4)
            self.w = torch.nn.Parameter(torch.ones(4, 1) * 0.1)
            self.layer = wrap(lambda h, w: gnp.tanh(h) @ w)

        def forward(self, x: Any) -> Any:
            return self.layer(self.inner(x), self.w)

    net, x = copy.deepcopy(Net()), torch.rand(8, 3)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    losses: list[float] = []
    for _ in range(20):
        loss = ((net(x) - 1.0) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.2 * losses[0]


def test_torch_checkpoint_and_saved_tensor_hooks() -> None:
    from torch.utils.checkpoint import checkpoint

    f, x, w = wrap(lambda x, w: gnp.tanh(gnp.sin(x @ w))), random(4, 3), random(3, 3)
    plain = torch.autograd.grad(f(f(x, w), w).sum(), [x, w])
    made = checkpoint(lambda x, w: f(f(x, w), w), x, w, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(made.sum(), [x, w]), plain)
    with torch.autograd.graph.save_on_cpu():
        torch.testing.assert_close(torch.autograd.grad(f(f(x, w), w).sum(), [x, w]), plain)


def test_threads() -> None:
    f, w = wrap(lambda x, w: gnp.sum(gnp.tanh(x @ w))), random(3, 3)

    def slope(seed: int) -> Any:
        x = torch.full((4, 3), float(seed), dtype=F64, requires_grad=True)
        return torch.autograd.grad(f(x, w), x)[0]

    start = Barrier(8)

    def together(seed: int) -> Any:
        start.wait()
        return [slope(seed + k) for k in range(4)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(together, range(8)))
    for seed, grads in enumerate(found):
        torch.testing.assert_close(grads, [slope(seed + k) for k in range(4)])


def double(x: Any) -> Any:
    return x * 2


doubled = wrap(double)


def test_pickles_and_traced_calls() -> None:
    x = torch.rand(2)
    torch.testing.assert_close(pickle.loads(pickle.dumps(wrap(double)))(x), x * 2)
    assert gradir.grad(lambda x: gnp.sum(doubled(x)))(x.numpy()).tolist() == [2, 2]


W = random(3)


def quantized() -> Any:
    return torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: doubled(torch.ones(2, device="meta")), "on the CPU.*got torch.float32 on meta"),
        (lambda: doubled(torch.ones(2).to_sparse()), "dense tensors.*sparse_coo"),
        (lambda: doubled(torch.eye(2).to_sparse_csr()), "dense tensors.*sparse_csr"),
        (lambda: doubled(torch.nested.nested_tensor([W, W])), "dense tensors.*nested"),
        (lambda: doubled(quantized()), "wrap: x: dtype: expected .* got torch.quint8"),
        (
            lambda: doubled({"a": W.detach().numpy()}),
            "x_a: expected a tensor.* got ndarray of numpy",
        ),
        (lambda: doubled(jnp.ones(2)), "x: expected a tensor.* got ArrayImpl of jaxlib"),
        (lambda: jax.jit(doubled)(jnp.ones(2)), "x: expected a tensor.*DynamicJaxprTracer of jax"),
        (lambda: wrap(lambda x: (x, W))(torch.ones(3)), "pass it as an argument"),
        (lambda: wrap(lambda x: "word")(torch.ones(3)), "expected an array or a number, got str"),
        (lambda: doubled(torch.ones(2).to(torch.complex32)), "wrap: x: dtype: expected"),
        (lambda: doubled({1, 2}), "x: expected a tensor, or a hashable static value, got set"),
        (lambda: wrap(lambda x: x * W)(torch.ones(3)), "pass it as an argument"),
        (lambda: torch.func.vmap(doubled)(torch.ones(2, 2)), "torch.func"),
        (lambda: wrap(3), "expected a Python function, got 3"),  # pyrefly: ignore[bad-argument-type]
        (lambda: doubled(), "missing a required argument: 'x'"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    """All errors but wrap's own are at the place of the call."""
    with pytest.raises(gradir.GradirError, match=message) as error:
        call()
    assert f"{__file__}:" in str(error.value) or "Python function" in message


def test_errors_are_at_the_call_of_the_user() -> None:
    """Not in JAX, which called the function."""
    with pytest.raises(gradir.GradirError) as error:
        jax.jit(doubled)(jnp.ones(2))
    assert f"{__file__}:" in str(error.value)


def test_under_torch_compile() -> None:
    """The compiler goes around the call, the first and the later ones."""
    x = random(3)
    f = torch.compile(lambda x: doubled(x).sin(), backend="eager")
    for _ in range(3):
        torch.testing.assert_close(f(x), torch.sin(2 * x))
        torch.testing.assert_close(
            torch.autograd.grad(f(x).sum(), x)[0], (2 * torch.cos(2 * x)).detach()
        )
    with torch.no_grad():
        torch.testing.assert_close(f(x), torch.sin(2 * x))


def test_a_result_shares_no_memory() -> None:
    x = random(3)
    y, z = wrap(lambda x: (x, x))(x)
    y.data.add_(1)
    assert len({x.data_ptr(), y.data_ptr(), z.data_ptr()}) == 3
    torch.testing.assert_close(z, x)


def test_forward_mode_is_refused() -> None:
    x = random(3, grad=False)
    with (
        torch.autograd.forward_ad.dual_level(),
        pytest.raises(gradir.GradirError, match="no forward mode"),
    ):
        doubled(torch.autograd.forward_ad.make_dual(x, x))
    with pytest.raises(RuntimeError, match="setup_context"):
        torch.func.grad(lambda x: doubled(x).sum())(x)
