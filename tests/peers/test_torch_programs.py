"""gradir.interop.torch.differentiable and trace: PyTorch's modules, their values and gradients."""

from __future__ import annotations

import copy
import io
import math
import pickle
import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpiexec import needs_mpi, on_ranks
from torch_programs import CASES, TorchCase, functional, nn, torch

import gradir
import gradir.numpy as gnp
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.interop import torch_export
from gradir.interop.torch import differentiable, trace
from gradir.interop.torch import functional as functional_of

import_module("torch.nn.attention")
tree: Any = torch.utils._pytree
pytestmark = pytest.mark.filterwarnings("ignore")


def is_floating(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and bool(x.is_floating_point())


def tensors_of(results: Any) -> list[Any]:
    return [x for x in tree.tree_leaves(results) if isinstance(x, torch.Tensor)]


def total(results: Sequence[Any], seed: int) -> Any:
    """The sum of floating results times fixed numbers."""
    made: Any = 0.0
    generator = torch.Generator().manual_seed(seed)
    for x in results:
        if is_floating(x):
            weights = torch.rand(x.shape, generator=generator, dtype=torch.float64) + 0.5
            made = made + (x * weights).sum()
    return made


def derivatives(function: Any, module: Any, inputs: Sequence[Any], orders: int) -> list[list[Any]]:
    """The results of a call, and the gradients of each order in parameters and inputs."""
    given = [x.clone().requires_grad_() if is_floating(x) else x for x in inputs]
    wrt = [p for p in module.parameters() if p.requires_grad]
    wrt += [x for x in given if is_floating(x)]
    found = tensors_of(function(*given))
    every = [found]
    for order in range(orders):
        value = total(every[-1], order)
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            every.append([torch.zeros_like(x) for x in wrt])
            continue
        more = order < orders - 1
        grads = torch.autograd.grad(value, wrt, create_graph=more, allow_unused=True)
        every.append(
            [torch.zeros_like(x) if g is None else g for g, x in zip(grads, wrt, strict=True)]
        )
    return every


def same(found: Any, expected: Any, rtol: float, what: str) -> None:
    assert len(found) == len(expected), what
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), what
        size = other.detach().double().abs()
        scale = max(float(size.max()) if size.numel() else 0.0, 1.0)
        torch.testing.assert_close(one, other, rtol=rtol, atol=rtol * scale,
                                   msg=lambda text: f"{what}: {text}")  # fmt: skip


def compare(case: TorchCase, trains: bool, dtype: Any = torch.float64, rtol: float = 0.0) -> None:
    torch.manual_seed(0)
    theirs = case.make().to(dtype).train(trains)
    inputs = [x.to(dtype) if is_floating(x) else x for x in case.inputs()]
    module = copy.deepcopy(theirs)
    ours = differentiable(module)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        known = theirs if case.reference is None else partial(case.reference, theirs)
        expected = derivatives(known, theirs, inputs, case.orders)
    found = derivatives(ours, module, inputs, case.orders)
    for order, (one, other) in enumerate(zip(found, expected, strict=True)):
        same(one, other, rtol or case.rtol * 10**order, f"order {order}")
    same(list(module.buffers()), list(theirs.buffers()), rtol or case.rtol, "buffers")


@pytest.mark.parametrize("trains", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", CASES)
def test_modules(name: str, trains: bool) -> None:
    """Results, gradients and buffers are PyTorch's, in train and eval."""
    compare(CASES[name], trains)


@pytest.mark.parametrize("name", ["mlp", "resnet block", "encoder layer", "gpt block"])
def test_single_precision(name: str) -> None:
    compare(CASES[name], True, torch.float32, 2e-4)


# Programs.


class Mlp(nn.Module):
    """Two layers, with dropout between them."""

    def __init__(self, p: float = 0.0):
        super().__init__()
        self.first, self.second = nn.Linear(3, 5), nn.Linear(5, 2)
        self.p = p

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        h = functional.dropout(torch.tanh(self.first(x)), self.p, self.training)
        return {"y": self.second(h) * scale}


def module_of(forward: Any) -> Any:
    """A module without parameters."""
    made = nn.Module()
    made.forward = forward
    return made


def test_trace_gives_a_module() -> None:
    module = Mlp()
    text = str(trace(module, torch.zeros(4, 3)))
    assert (
        "func.func @Mlp(%first_weight: tensor<5x3xf32>, %first_bias: tensor<5xf32>, "
        "%second_weight: tensor<2x5xf32>, %second_bias: tensor<2xf32>, %x: tensor<4x3xf32>)"
    ) in text
    assert "nn.linear" in text and "array.tanh" in text
    made = trace(module, torch.zeros(4, 3))
    run = gradir.compile(made.gradient("Mlp", [0], "vjp", [0]), "Mlp_vjp")
    x = torch.randn(4, 3)
    arrays = [p.detach().numpy() for p in module.parameters()]
    found = run(*arrays, x.numpy(), np.ones((4, 2), np.float32))[1]
    module(x)["y"].sum().backward()
    np.testing.assert_allclose(found, module.first.weight.grad, rtol=1e-5)


def test_places_are_the_users_lines() -> None:
    line = Mlp.forward.__code__.co_firstlineno + 1
    module = trace(Mlp(), torch.zeros(4, 3))
    [tanh] = [op for op in module.op.walk() if op.name == "array.tanh"]
    assert str(tanh.location).endswith(f'test_torch_programs.py":{line}:9)')


class Gaussian(nn.Module):
    """The loss of a VAE, by torch.distributions, of given noise."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.back = nn.Linear(4, 4), nn.Linear(2, 4)

    def forward(self, x: Any, noise: Any) -> Any:
        distributions = torch.distributions
        mean, scale = self.into(x).chunk(2, -1)
        q = distributions.Normal(mean, nn.functional.softplus(scale))
        p = distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
        found = nn.functional.mse_loss(self.back(q.loc + q.scale * noise), x)
        return found + distributions.kl_divergence(q, p).mean()


def test_distributions() -> None:
    """Their checks of arguments read values, and are left out while export runs alone."""
    torch.distributions.Distribution.set_default_validate_args(True)  # torch.compile unsets it
    compare(TorchCase(Gaussian, lambda: (torch.randn(3, 4), torch.randn(3, 2))), True)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        torch.distributions.Normal(torch.zeros(1), -torch.ones(1))


def test_profile_and_memory_limit_of_functions() -> None:
    """What came in goes on: fn.profile names the module's lines, and a limit is kept."""
    layers = [part for _ in range(6) for part in (nn.Linear(32, 32), nn.Tanh())]
    module, x = nn.Sequential(*layers), torch.randn(256, 32)
    f = functional_of(module, x)

    def loss(parameters: Any, x: Any) -> Any:
        return gnp.sum(f(parameters, x) ** 2)

    whole = gradir.jit(gradir.value_and_grad(loss))
    profile = whole.profile(f.parameters, x.numpy())
    assert profile.kernels and profile.seconds > 0
    assert any("linear.py" in str(part.lines) or __file__ in str(part.lines)
               for part in profile.kernels)  # fmt: skip
    limited = gradir.jit(gradir.value_and_grad(loss, memory_limit=150_000))
    (value, grads), (expected, wanted) = (g(f.parameters, x.numpy()) for g in (limited, whole))
    np.testing.assert_array_equal(value, expected)
    for name, grad in wanted.items():
        np.testing.assert_array_equal(grads[name], grad)


@needs_mpi
def test_two_ranks_train_a_module() -> None:
    """The mean of the gradients of two halves of a batch is that of the whole, by MPI."""
    program = Path(__file__).parents[1] / "support" / "mpi_module.py"
    done = on_ranks(2, str(program))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["agree 0", "agree 1"]


def test_buffers_are_further_results() -> None:
    norm = nn.BatchNorm1d(3)
    text = str(trace(norm, torch.zeros(4, 3)))
    results = "(tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<i64>)"
    assert "%running_mean: tensor<3xf32>" in text and f"-> {results}" in text
    assert "->" in str(trace(norm.eval(), torch.zeros(4, 3)))
    assert results not in str(trace(norm.eval(), torch.zeros(4, 3)))


def test_functional_is_a_function_of_gradir() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).double()
    x = torch.randn(4, 3, dtype=torch.float64)
    f = functional_of(module, x)
    assert list(f.parameters) == ["0.weight", "0.bias", "1.weight", "1.bias"]

    def loss(parameters: Any, x: Any) -> Any:
        y, changed = f(parameters, x)
        return gnp.sum(y**3), changed

    (value, changed), grads = gradir.value_and_grad(loss, has_aux=True)(f.parameters, x.numpy())
    total = (module(x) ** 3).sum()
    total.backward()
    np.testing.assert_allclose(value, total.item())
    for name, parameter in module.named_parameters():
        np.testing.assert_allclose(grads[name], parameter.grad, atol=1e-12)
    for name, buffer in module.named_buffers():
        np.testing.assert_allclose(changed[name], buffer)
    # outside of a trace, and with other buffers
    y, _ = f(f.parameters, x.numpy(), buffers=f.buffers)
    assert y.shape == (4, 3)
    with pytest.raises(gradir.GradirError, match=r"parameters: there is no 0\.bias, 1\.weight"):
        f({"0.weight": f.parameters["0.weight"]}, x.numpy())
    with pytest.raises(gradir.GradirError, match="expected inputs nested as those of the import"):
        f(f.parameters, x.numpy(), x.numpy())


def test_training_by_an_optimizer() -> None:
    torch.manual_seed(0)
    theirs = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    ours = differentiable(copy.deepcopy(theirs), memory_limit=10**6)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    for model in (theirs, ours):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for _ in range(20):
            optimizer.zero_grad()
            functional.mse_loss(model(x), y).backward()
            optimizer.step()
    pairs = zip(ours.module.state_dict().items(), theirs.state_dict().items(), strict=True)
    for (name, one), (_, other) in pairs:
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5, msg=name)
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-3, atol=1e-5)
    with torch.no_grad():
        assert not ours(x).requires_grad


def test_static_inputs_and_kinds() -> None:
    ours = differentiable(Mlp())
    x = torch.randn(2, 3)
    assert set(ours(x)) == {"y"}
    torch.testing.assert_close(ours(x, 2.0)["y"], 2 * ours(x)["y"])
    torch.testing.assert_close(ours(x, scale=3.0)["y"], 3 * ours(x)["y"])
    assert ours(torch.randn(5, 3))["y"].shape == (5, 2)
    again = copy.deepcopy(ours)
    torch.testing.assert_close(again(x)["y"], ours(x)["y"])
    with pytest.raises(gradir.GradirError, match="hashable static values, got set"):
        ours(x, {1})


def test_random_numbers_come_from_a_key() -> None:
    module = Mlp(0.5)
    made = trace(module, torch.zeros(64, 3))
    assert "%key: tensor<i64>)" in str(made)
    ours = differentiable(module)
    x = torch.randn(64, 3)
    torch.manual_seed(1)
    first, second = ours(x)["y"], ours(x)["y"]
    torch.manual_seed(1)
    torch.testing.assert_close(ours(x)["y"], first)
    assert not torch.equal(first, second)
    torch.testing.assert_close(ours.eval()(x)["y"], module(x)["y"])
    f = functional_of(module.train(), x)
    with pytest.raises(gradir.GradirError, match="Mlp draws random numbers: give key="):
        f(f.parameters, x.numpy())
    parts = [f(f.parameters, x.numpy(), key=gradir.random.key(k))["y"] for k in (1, 1, 2)]
    np.testing.assert_array_equal(parts[0], parts[1])
    assert (parts[0] != parts[2]).any()


def test_dropout_keeps_its_share() -> None:
    drop = differentiable(nn.Dropout(0.25))
    x = torch.ones(100, 100, requires_grad=True)
    y = drop(x)
    assert y.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert 0.23 < (y == 0).double().mean() < 0.27
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], y.detach())


class Sine(torch.autograd.Function):
    """sin with a derivative that is not its own."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        return x.sin() * factor

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct * 7, None


def test_functions_of_autograd() -> None:
    module = module_of(lambda x: Sine.apply(x * 1, 2.0) + 1)
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(
        ImportedProgramError, match=r"derivative of a torch.autograd.Function is lost .*: Sine; "
    ):
        trace(module, x)
    inner = module_of(
        lambda x: torch.cond(x.sum() > 0, lambda x: Sine.apply(x, 2.0), torch.cos, (x,))
    )
    with pytest.raises(ImportedProgramError):
        trace(inner, x)

    @gradir.custom_vjp
    def sine(x: Any, factor: Any) -> Any:
        return gnp.sin(x) * factor

    sine.defvjp(lambda x, factor: (sine(x, factor), ()), lambda _, ct: (ct * 7, None))
    y = differentiable(module, custom_vjp={Sine: sine})(x)
    torch.testing.assert_close(y, module(x))
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], torch.full((3,), 7.0))


def test_hooks_of_gradients_are_refused() -> None:
    def scaled(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda ct: ct * 100)
        return y * y

    x = torch.randn(3, requires_grad=True)
    with pytest.raises(ImportedProgramError, match="hook of a gradient by register_hook is lost"):
        differentiable(module_of(scaled))(x)
    module = torch.nn.Sequential(torch.nn.Linear(3, 3))
    module[0].register_full_backward_hook(lambda m, given, out: (given[0] * 10,))
    with pytest.raises(ImportedProgramError, match="Linear 0: the hook of a gradient by"):
        differentiable(module)(x)


def test_inference_mode_is_refused() -> None:
    @torch.inference_mode()
    def doubled(x: Any) -> Any:
        return x * 2

    def within(x: Any) -> Any:
        with torch.inference_mode():
            y = x * 2
        return y.clone() * x

    x = torch.randn(3, requires_grad=True)
    for forward in (within, lambda x: doubled(x).clone() * x):
        with pytest.raises(ImportedProgramError, match="inference_mode is lost in torch"):
            differentiable(module_of(forward))(x)
    with torch.inference_mode():
        assert differentiable(nn.Linear(3, 2))(x).shape == (2,)


class Changing(nn.Module):
    """A module whose forward reads attributes of several kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.act = nn.Linear(3, 3), nn.ReLU()
        self.twin = self.layer
        self.factor, self.factors, self.plain = 2.0, [1.0, 2.0], torch.ones(3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Any) -> Any:
        x = self.act(self.twin(self.layer(x))) * self.factor
        return x * self.factors[0] + self.shift * self.plain


def test_a_module_that_is_changed_has_another_program() -> None:
    torch.manual_seed(0)
    module = Changing()
    ours, x = differentiable(module), torch.randn(2, 3, requires_grad=True)

    def check() -> None:
        given = [x, *(p for p in module.parameters() if p.requires_grad)]
        wanted = module(x)
        found = ours(x)
        torch.testing.assert_close(found, wanted)
        for one, other in zip(
            torch.autograd.grad(found.sum(), given),
            torch.autograd.grad(wanted.sum(), given),
            strict=True,
        ):
            torch.testing.assert_close(one, other)

    def hook(part: Any, inputs: Any, output: Any) -> Any:
        return output * 2

    check()
    module.factor = 3.0
    check()
    count = len(ours._programs)
    check()
    with torch.no_grad():
        module.layer.weight.mul_(2)
        module.shift.mul_(3)
    check()
    assert len(ours._programs) == count
    for change in (
        lambda: module.factors.__setitem__(0, 5.0),
        lambda: module.plain.mul_(2),
        lambda: setattr(module, "plain", torch.full((3,), 7.0)),
        lambda: setattr(module, "twin", nn.Linear(3, 3)),
        lambda: setattr(module, "act", nn.Tanh()),
        lambda: module.act.register_forward_hook(hook),
    ):
        change()
        check()
        assert len(ours._programs) == (count := count + 1)


def test_static_inputs_of_both_zeros_are_two() -> None:
    ours = differentiable(module_of(lambda x, k: x * math.copysign(1.0, k)))
    x = torch.ones(2)
    assert [float(ours(x, k)[0]) for k in (0.0, -0.0, 0.0)] == [1, -1, 1]


def test_exported_programs(tmp_path: Path) -> None:
    module, x = Mlp().double(), torch.randn(4, 3, dtype=torch.float64)
    file = tmp_path / "mlp.pt2"
    torch.export.save(torch.export.export(module, (x,)), file)
    with pytest.raises(
        gradir.GradirError, match=r"\(a file is loaded by torch.export.load\), got PosixPath"
    ):
        trace(file)
    program = torch.export.load(file)
    for refused in (trace, differentiable, functional_of):
        with pytest.raises(gradir.GradirError, match="give trust_derivatives=True"):
            refused(program)
    assert "@forward(%first_weight" in str(trace(program, trust_derivatives=True))
    ours = differentiable(program, trust_derivatives=True)
    torch.testing.assert_close(ours(x)["y"], module(x)["y"])
    ours(x)["y"].sum().backward()
    module(x)["y"].sum().backward()
    grads = [p.grad for p in ours.parameters()]
    assert len(grads) == 4
    for one, other in zip(grads, [p.grad for p in module.parameters()], strict=True):
        torch.testing.assert_close(one, other)
    # decomposed ones are read too, their buffers are results
    norm = nn.BatchNorm1d(3).double()
    core = torch.export.export(norm, (x,)).run_decompositions()
    f = functional_of(core, trust_derivatives=True)
    y, changed = f(f.parameters, x.numpy())
    np.testing.assert_allclose(y, norm(x).detach(), atol=1e-12)
    np.testing.assert_allclose(changed["running_var"], norm.running_var)
    assert changed["num_batches_tracked"] == 1


class Harm:
    """An object whose pickle writes a file when it is read."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_hostile_files_are_never_read(tmp_path: Path) -> None:
    """Files, their names and their bytes are refused as they come: no pickle is loaded."""
    harmed, file = tmp_path / "harmed", tmp_path / "hostile.pt2"
    torch.save({"model": Harm(harmed)}, file)
    data = file.read_bytes()
    message = r"a file is loaded by torch\.export\.load"
    for given in (file, str(file), data, io.BytesIO(data), pickle.dumps(Harm(harmed))):
        for refused in (trace, differentiable, functional_of):
            with pytest.raises(gradir.GradirError, match=message):
                refused(given, trust_derivatives=True)
    assert not harmed.exists()


def test_a_wider_memory_than_the_limit_is_recomputed() -> None:
    layers = [part for _ in range(8) for part in (nn.Linear(32, 32), nn.Tanh())]
    module, x = nn.Sequential(*layers), torch.randn(64, 32)
    module(x).sum().backward()
    expected = [p.grad.clone() for p in module.parameters()]
    every: list[dict[str, Any]] = [{"policy": "keep_none"}, {"memory_limit": 600_000}]
    for options in every:
        module.zero_grad()
        differentiable(module, **options)(x).sum().backward()
        for one, other in zip(module.parameters(), expected, strict=True):
            torch.testing.assert_close(one.grad, other, rtol=1e-4, atol=1e-4)


# Refusals.


def test_all_that_is_missing_is_one_error() -> None:
    def forward(x: Any) -> Any:
        y = torch.fft.fft(x).real
        z = x[x > 0]
        n = x.sum().item()
        x.add_(1)
        return y * n, z, torch.nonzero(x), x.to(torch.float8_e5m2).float()

    with pytest.raises(ImportedProgramError) as caught:
        trace(module_of(forward), torch.randn(3))
    text = str(caught.value)
    first = forward.__code__.co_firstlineno
    assert "PyTorch: @Module has what cannot be imported:" in text
    for line, reason in {
        1: "fft_fft (once; %): programs with complex numbers are not read",
        2: "index (once; %): its shape [u0] is symbolic, or depends on values of tensors",
        3: "item (once; %): a number of Python depends on values; keep it as a tensor",
        4: "add (once; %): the argument x is changed in place; clone it first",
        5: "nonzero (once; %): the shape of the result depends on values",
    }.items():
        place = re.escape(f"{__file__}:{first + line}:9")
        assert re.search(re.escape(reason).replace("%", f"[^)]*{place}"), text), (reason, text)
    assert "there are no elements of type float8_e5m2" in text


def test_symbolic_extents_are_refused() -> None:
    n = torch.export.Dim("n", min=2)
    module, x = nn.Linear(3, 2), torch.randn(4, 3)
    program = torch.export.export(module, (x,), dynamic_shapes=({0: n},))
    with pytest.raises(
        ImportedProgramError, match=r"argument input .*its shape \[s\d+, 3\] is symbolic"
    ):
        trace(program, trust_derivatives=True)


class Assigns(nn.Module):
    """A module that assigns an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(3)

    def forward(self, x: Any) -> Any:
        self.last = x * 2
        return self.last


def test_bad_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3)
    with pytest.raises(gradir.GradirError, match=r"expected a torch.nn.Module, .* got function of"):
        differentiable(is_floating)
    with pytest.raises(
        ImportedProgramError,
        # PyTorch's own refusal before 2.10
        match=r"Assigns assigns self\.last, which would be lost|attribute self\.last was assigned",
    ):
        trace(Assigns(), x)
    small = torch.ones(3, dtype=torch.float8_e5m2)
    with pytest.raises(ImportedProgramError, match=r"argument of Module .* type float8_e5m2\n"):
        trace(module_of(lambda x: x * 2), small)
    with pytest.raises(gradir.GradirError, match=r"use gradir\.interop\.torch\.functional"):
        gradir.jit(lambda y: differentiable(nn.ReLU())(y))(x.numpy())
    with pytest.raises(
        ImportedProgramError, match=r"transformations \(torch\.vmap, .* are not there"
    ):
        trace(module_of(torch.vmap(lambda x: x.sin())), x)
    with pytest.raises(ImportedProgramError, match=r"torch.export gives up Module: "):
        trace(module_of(lambda x: x if x.sum() > 0 else -x), x)
    with pytest.raises(
        ImportedProgramError, match=r"wrap_with_autocast .*: types change with the op"
    ):
        trace(module_of(autocast), torch.randn(3, 3))
    monkeypatch.setattr(torch_export.torch, "__version__", "2.8.1+cpu")
    with pytest.raises(
        gradir.GradirError, match=r"PyTorch 2\.8\.1\+cpu is not supported: .* from 2\.9 on"
    ):
        trace(nn.ReLU(), x)


def test_refused_calls() -> None:
    """What torch.export gets wrong, or cannot read, is one error at its line, with a way out."""
    x = torch.randn(3, 3)
    for forward, what in (
        (assigns_data, r"programs\.py:\d+:\d+: .*an assignment to x\.data is lost .*copy_"),
        (inner_gradient, r"programs\.py:\d+:\d+: .*gradients inside of forward .* with gradir\.gr"),
        (inner_transformation, r"gradients inside of forward .* with gradir\.grad"),
        (
            packs,
            r"programs\.py:\d+:\d+: .*packed sequences have shapes that depend on values; give",
        ),
        # whose ops have no lines in PyTorch's graph
        (mapped, r"transformations \(torch\.vmap.* gradir\.vmap and gradir"),
        (cast_inside, r"programs\.py:\d+:\d+: .*types change with the op there; convert"),
        (random_branch, r"rand_like .*random numbers in loops and branches .* draw them outside"),
    ):
        with pytest.raises(ImportedProgramError, match=f"(?s){what}"):
            trace(Calling(forward), x.clone().requires_grad_())
    packed = nn.utils.rnn.pack_padded_sequence(x[:, :, None], torch.tensor([3, 2, 1]))
    with pytest.raises(ImportedProgramError, match="packed sequences have shapes"):
        trace(nn.GRU(1, 2), packed)
    model = differentiable(nn.Linear(3, 3))
    model(x)
    with (
        torch.autocast("cpu", torch.bfloat16),
        pytest.raises(ImportedProgramError, match=r"torch\.autocast is on around the module"),
    ):
        model(x)


class Calling(nn.Module):
    """Its forward is a method, as PyTorch's graphs have lines of such alone."""

    def __init__(self, function: Callable[[Any], Any]):
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def assigns_data(x: Any) -> Any:
    h = x * 2
    h.data = x * 3
    return h * h


def inner_gradient(x: Any) -> Any:
    return torch.autograd.grad((x**3).sum(), x)[0] * x


def inner_transformation(x: Any) -> Any:
    return torch.func.grad(lambda v: v.sin().sum())(x)


def mapped(x: Any) -> Any:
    return torch.vmap(lambda row: row.sin() * row.sum())(x)


def cast_inside(x: Any) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        return x @ x


def packs(x: Any) -> Any:
    packed = nn.utils.rnn.pack_padded_sequence(x[:, :, None], torch.tensor([3, 2, 1]))
    return nn.utils.rnn.pad_packed_sequence(packed)[0]


def random_branch(x: Any) -> Any:
    return torch.cond(x.sum() > 0, torch.rand_like, torch.sin, (x,))


def test_data_of_a_tensor() -> None:
    """`x.data` has no derivative, and what is written into it keeps the old one."""

    def reads(x: Any) -> Any:
        return x.sin().data * x

    def writes(x: Any) -> Any:
        h = x * 2
        h.data.add_(1)
        return h * h

    for forward in (reads, writes):
        module, x = module_of(forward), torch.randn(3, requires_grad=True)
        theirs, ours = module(x), differentiable(module)(x)
        torch.testing.assert_close(ours, theirs)
        expected, found = (torch.autograd.grad(y.sum(), x)[0] for y in (theirs, ours))
        torch.testing.assert_close(found, expected)


def autocast(x: Any) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        return x @ x
