"""Plugins: registration, entry points, universes, --plugin, names that clash, and the template."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.passes import ModulePass
from xdsl.traits import Pure

import gradir
from gradir import plugins
from gradir.build import UnaryOp, Value, array, body
from gradir.checking import ops
from gradir.checking.random_programs import check_random_programs
from gradir.dialects.base import op_rules
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError
from gradir.testing import GradientMismatch, OpCase, check_grads, check_op
from gradir.text.fingerprint import fingerprint
from gradir.tools import gradir_opt, gradir_run

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples" / "plugin"
Capture = pytest.CaptureFixture[str]

PROGRAM = """\
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = NAME %x : tensor<4xf64>
  func.return %y : tensor<4xf64>
}
"""


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test registers for itself."""
    for table in ("_ops", "_dialects", "_passes"):
        monkeypatch.setattr(plugins, table, dict(getattr(plugins, table)))
    yield
    forget_entry_points()


def forget_entry_points() -> None:
    plugins._found_dialects.cache_clear()
    plugins._found_passes.cache_clear()


def softsign(name: str, slope: float = 1.0) -> type[UnaryOp]:
    """An op class of ten lines, with a right derivative or a wrong one."""
    called = name

    @irdl_op_definition
    class SoftsignOp(UnaryOp):
        """x / (1 + |x|), elementwise.   vjp: ct / (1 + |x|)**2"""

        name = called

        def vjp(self, ct: Value, y: Value, x: Value) -> list[Value]:
            size = 1 + array.elementwise.AbsOp.on(x)
            return [slope * ct / (size * size)]

        def body(self, x: Any) -> Any:
            return x / (body.constant(x, 1) + body.absolute(x))

        def numpy(self, x: Any) -> Any:
            return x / (1 + np.abs(x))

    return SoftsignOp


# Ops.


def test_an_op_class_has_everything() -> None:
    op = gradir.register_op(softsign("first.softsign"))
    module = gradir.parse(PROGRAM.replace("NAME", "first.softsign"))
    x = np.array([0.5, -1.0, 2.0, -3.0])
    check_grads((module, "f"), [x], order=3)
    rows = gradir.compile(module.vmap("f", 2), "f_vmap")(np.stack([x, 2 * x]))[0]
    np.testing.assert_allclose(rows, np.stack([x, 2 * x]) / (1 + np.abs(np.stack([x, 2 * x]))))
    function = gradir.op_function(op)
    np.testing.assert_allclose(function(x), x / (1 + np.abs(x)))
    second = gradir.vmap(gradir.grad(gradir.grad(function)))(x)
    np.testing.assert_allclose(second, -2 * np.sign(x) / (1 + np.abs(x)) ** 3)
    assert "first.softsign" in str(gradir.trace(function, x))
    # what its class says is not in the program: it is not kept
    assert fingerprint(module.op.ops) is None


def test_check_op_holds_it_against_our_own_checks() -> None:
    cases = [OpCase("second.softsign", [s], kinks=[0]) for s in ((3, 4), (), (0,), (17,))]
    check_op(softsign("second.softsign"), cases, programs=1)  # which registers it
    wrong = [OpCase("third.softsign", [(3,)], kinks=[0])]
    with pytest.raises(GradientMismatch, match="gradient of order 1") as caught:
        check_op(softsign("third.softsign", slope=2.0), wrong)
    assert caught.value.__notes__ == ["check_op: gradients of third.softsign-3"]
    reference = [OpCase("fourth.softsign", [(3,)], reference=np.tanh)]
    with pytest.raises(AssertionError) as other:
        check_op(softsign("fourth.softsign"), reference)
    assert other.value.__notes__ == ["check_op: value of fourth.softsign-3"]
    with pytest.raises(ArgumentError, match=r"cases: expected cases of fourth\.softsign, got none"):
        check_op(softsign("fourth.softsign"), [])
    with pytest.raises(ArgumentError, match="expected cases of fifth"):
        check_op(softsign("fifth.softsign"), cases)


def test_check_op_runs_random_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong derivative is found by a program alone, which a note names."""
    monkeypatch.setattr(ops.checks, "OF_CASES", {})
    monkeypatch.setattr(ops.checks, "OF_OPS", {})
    case = OpCase("tenth.softsign", [(3,)], kinks=[0])
    with pytest.raises(GradientMismatch) as caught:
        check_op(softsign("tenth.softsign", slope=2.0), [case], programs=9, seed=5)
    [note] = caught.value.__notes__
    assert note.startswith("check_op: program ") and note.endswith(str(case))
    turned = OpCase("array.exp", [np.array([0.3 + 1j, -0.5j])])
    assert len([*check_random_programs([turned], 2, 0)]) == 2  # complex: both parts count
    found = [*check_random_programs([OpCase("array.argmax", [(3,)])], 6, 0)]
    assert len({name.split(": ")[1] for name in found}) == 6


def test_names_that_are_taken() -> None:
    with pytest.raises(ArgumentError, match="gradir or xDSL has a dialect 'nn'"):
        gradir.register_op(softsign("nn.softersign"))
    with pytest.raises(ArgumentError, match="gradir or xDSL has a dialect 'arith'"):
        gradir.register_dialect(Dialect("arith", []))
    with pytest.raises(ArgumentError, match=r"needs a name as .dialect\.op."):
        gradir.register_op(type("Nameless", (UnaryOp,), {}))
    with pytest.raises(ArgumentTypeError, match="expected a class of ops, got 3"):
        gradir.register_op(3)  # pyrefly: ignore[bad-specialization]
    first = gradir.register_op(softsign("sixth.softsign"))
    again = gradir.register_op(softsign("sixth.softsign"))  # of the same name, as in a notebook
    assert plugins.op_class_of("sixth.softsign") is again is not first

    @irdl_op_definition
    class OtherOp(UnaryOp):
        """Another."""

        name = "sixth.softsign"

    with pytest.raises(ArgumentError, match=r"sixth\.softsign of .* is taken by"):
        gradir.register_op(OtherOp)
    with pytest.raises(ArgumentError, match=r"no tensor op 'sixth\.sign'"):
        plugins.op_class_of("sixth.sign")


# Passes, and rules of ops that are no TensorOps.


class EmptyPass(ModulePass):
    """Remove everything."""

    name = "seventh-empty"

    def apply(self, ctx: Any, op: ModuleOp) -> None:
        for each in list(op.ops):
            each.detach()


def test_passes(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(PROGRAM.replace("NAME", "array.sin"))
    assert gradir_opt.main([str(path), "-p", "seventh-empty"]) == 1
    assert "unknown pass 'seventh-empty'" in capsys.readouterr().err
    gradir.register_pass(EmptyPass)
    assert gradir.parse(path).run_passes("seventh-empty").functions == ()
    assert gradir_opt.main([str(path), "-p", "seventh-empty"]) == 0
    assert "func.func" not in capsys.readouterr().out
    assert gradir_opt.main(["--list-passes"]) == 0
    assert "seventh-empty" in capsys.readouterr().out
    with pytest.raises(ArgumentError, match="gradir or xDSL has a pass 'cse'"):
        gradir.register_pass(type("Cse", (ModulePass,), {"name": "cse"}))


@irdl_op_definition
class ForeignCube(IRDLOperation):
    """x**3, of a dialect that knows nothing of gradir."""

    name = "eighth.cube"

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x) `->` type($y)"


@irdl_op_definition
class ForeignSquare(IRDLOperation):
    """x**2, whose rule is wrong."""

    name = "eighth.square"

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x) `->` type($y)"


def test_rules_for_ops_of_other_dialects() -> None:
    gradir.register_op(ForeignCube)
    text = PROGRAM.replace("%y = NAME %x : tensor<4xf64>", "%y = eighth.cube %x : T -> T")
    module = gradir.parse(text.replace(" T", " tensor<4xf64>"))
    x = np.array([0.5, -1.0, 2.0, -3.0])
    with pytest.raises(GradirError, match=r"eighth\.cube"):
        gradir.compile(module, "f")
    gradir.register_rule(
        ForeignCube,
        vjp=lambda op, cts, results, operands: [cts[0] * 3 * operands[0] * operands[0]],
        decompose=lambda op, x: x * x * x,
        numpy=lambda op, x: x**3,
    )
    try:
        np.testing.assert_allclose(gradir.compile(module, "f")(x)[0], x**3)
        np.testing.assert_allclose(gradir.interpret(module, "f", x)[0], x**3)
        check_grads((module, "f"), [x], order=2)
        assert fingerprint(module.op.ops) is None
    finally:
        op_rules._DECOMPOSITIONS.pop(ForeignCube)
    with pytest.raises(ArgumentError, match="is a TensorOp; write its methods"):
        gradir.register_rule(softsign("ninth.softsign"))
    from xdsl.dialects.arith import AddfOp

    with pytest.raises(ArgumentError, match=r"gradir has rules for arith\.addf itself"):
        gradir.register_rule(AddfOp, inactive=True)


@irdl_op_definition
class ForeignWeightedCube(IRDLOperation):
    """x**3 and x * w, of a dialect that knows nothing of gradir; n has no derivative."""

    name = "eighth.weighted"

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    n = operand_def(TensorType)
    cube = result_def(TensorType)
    product = result_def(TensorType)
    traits = traits_def(Pure())


WEIGHTED = """
func.func @f(%x: T, %w: T, %n: N) -> (T, T) {
  %y, %z = "eighth.weighted"(%x, %w, %n) : (T, T, N) -> (T, T)
  func.return %y, %z : T, T
}
""".replace("T", "tensor<4xf64>").replace("N", "tensor<4xi64>")


@pytest.mark.parametrize("has_vjp", [False, True])
def test_a_jvp_serves_both_modes(has_vjp: bool) -> None:
    gradir.register_op(ForeignWeightedCube)
    seen: list[str] = []

    def vjp(op: Any, cts: Any, results: Any, operands: Any) -> Any:
        seen.append("vjp")
        (x, w, _), (of_cube, of_product) = operands, cts
        parts = [] if of_cube is None else [of_cube * 3 * x * x]
        parts += [] if of_product is None else [of_product * w]
        return [sum(parts[1:], parts[0]), None if of_product is None else of_product * x, None]

    def jvp(op: Any, tangents: Any, results: Any, operands: Any) -> Any:
        seen.append("jvp")
        (x, w, _), (of_x, of_w, of_n) = operands, tangents
        assert of_n is None
        return [3 * x * x * of_x, of_x * w + x * of_w]

    gradir.register_rule(
        ForeignWeightedCube,
        vjp=vjp if has_vjp else None,
        jvp=jvp,
        decompose=lambda op, x, w, n: [x * x * x, x * w],
        numpy=lambda op, x, w, n: (x**3, x * w),
    )
    try:
        module = gradir.parse(WEIGHTED)
        x, w, n = np.array([0.5, -1.0, 2.0, -3.0]), np.linspace(1, 2, 4), np.arange(4)
        check_grads((module, "f"), [x, w, n], order=2)
        assert set(seen) == {"vjp" if has_vjp else "jvp"} or has_vjp
        seen.clear()
        forward = module.gradient("f", mode="jvp")
        assert set(seen) == {"jvp"}
        moved = gradir.compile(forward, "f_jvp")(x, w, n, np.ones(4), np.full(4, 0.5))[2:]
        np.testing.assert_allclose(moved[0], 3 * x**2)
        np.testing.assert_allclose(moved[1], w + 0.5 * x)
        # derivatives in one operand, of one result; and of the tangents
        alone = gradir.compile(module.gradient("f", wrt=1, of=1, mode="grad"), "f_grad")
        np.testing.assert_allclose(alone(x, w, n)[-1], x)
        check_grads((forward, "f_jvp"), [x, w, n, np.ones(4), np.full(4, 0.5)], order=1)
    finally:
        for table in (op_rules._DECOMPOSITIONS, op_rules._VJP_RULES, op_rules._JVP_RULES):
            table.pop(ForeignWeightedCube)


def test_a_jvp_that_is_not_linear_is_an_error() -> None:
    gradir.register_op(ForeignSquare)
    gradir.register_rule(
        ForeignSquare, jvp=lambda op, tangents, results, operands: [tangents[0] * tangents[0]]
    )
    text = PROGRAM.replace("%y = NAME %x : tensor<4xf64>", "%y = eighth.square %x : T -> T")
    module = gradir.parse(text.replace(" T", " tensor<4xf64>"))
    try:
        with pytest.raises(
            GradirError, match=r"3: error: eighth\.square: its jvp is not linear in the t"
        ):
            module.gradient("f", mode="vjp")
    finally:
        op_rules._VJP_RULES.pop(ForeignSquare), op_rules._JVP_RULES.pop(ForeignSquare)


# Files and modules of --plugin.

FILE = """
import gradir
from gradir.build import UnaryOp, body
from xdsl.irdl import irdl_op_definition

@gradir.register_op
@irdl_op_definition
class TwiceOp(UnaryOp):
    '''2 x.   vjp: 2 ct'''
    name = "tenth.twice"
    def vjp(self, ct, y, x): return [2 * ct]
    def body(self, x): return x + x
    def numpy(self, x): return x + x
"""


def test_the_option_plugin(tmp_path: Path, capsys: Capture) -> None:
    program, plugin = tmp_path / "f.mlir", tmp_path / "twice.py"
    program.write_text(PROGRAM.replace("NAME", "tenth.twice"))
    plugin.write_text(FILE)
    assert gradir_opt.main([str(program)]) == 1
    assert "unknown dialect 'tenth' of operation 'tenth.twice'" in capsys.readouterr().err
    gradient = "gradir-gradient{function=f wrt=x mode=vjp}"
    assert gradir_opt.main([str(program), "--plugin", str(plugin), "-p", gradient]) == 0
    assert "array.multiply" in capsys.readouterr().out
    run = [str(program), "--plugin", str(plugin), "--random-inputs", "0"]
    assert gradir_run.main(run) == 0
    assert "result0: float64[4]" in capsys.readouterr().out
    for tool in (gradir_opt, gradir_run):
        assert tool.main([str(program), "--plugin", "no.such.module"]) == 1
        assert "plugin no.such.module: ModuleNotFoundError" in capsys.readouterr().err
    plugin.write_text("1 / 0")
    assert gradir_opt.main([str(program), "--plugin", str(plugin)]) == 1
    assert f"plugin {plugin}: ZeroDivisionError: division by zero" in capsys.readouterr().err


# Entry points.


def install(folder: Path, package: str, source: str, groups: dict[str, dict[str, str]]) -> None:
    """An installed package: a module, and its entry points."""
    (folder / f"{package}.py").write_text(source)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    forget_entry_points()


DIALECT = """
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.irdl import irdl_op_definition
from gradir.build import UnaryOp

@irdl_op_definition
class SameOp(UnaryOp):
    '''x.   vjp: ct'''
    name = "NAME.same"
    def vjp(self, ct, y, x): return [ct]
    def body(self, x): return x
    def numpy(self, x): return x

class NamePass(ModulePass):
    name = "NAME-pass"
    def apply(self, ctx, op): pass

Made = Dialect("NAME", [SameOp])
UNIVERSE = Universe(all_dialects={"NAME": lambda: Made}, all_passes={"NAME-pass": lambda: NamePass})
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.mark.parametrize("by_universe", [False, True])
def test_installed_packages_are_found(packages: Path, capsys: Capture, by_universe: bool) -> None:
    name = "eleventh" if by_universe else "twelfth"
    groups = (
        {"xdsl.universe": {name: f"{name}pack:UNIVERSE"}}
        if by_universe
        else {
            "gradir.dialects": {name: f"{name}pack:Made"},
            "gradir.passes": {f"{name}-pass": f"{name}pack:NamePass"},
        }
    )
    install(packages, f"{name}pack", DIALECT.replace("NAME", name), groups)
    program = packages / "f.mlir"
    program.write_text(PROGRAM.replace("NAME", f"{name}.same"))
    module = gradir.parse(program).run_passes(f"{name}-pass")
    x = np.arange(4.0)
    np.testing.assert_array_equal(gradir.compile(module, "f")(x)[0], x)
    assert gradir_run.main([str(program), "-p", f"{name}-pass", "--random-inputs", "0"]) == 0
    assert gradir_opt.main([str(program), "-p", f"{name}-pass"]) == 0
    assert f"{name}.same" in capsys.readouterr().out
    check_op(plugins.op_class_of(f"{name}.same"), [[(3,)]])


def test_what_clashes_or_fails_is_named_and_the_rest_goes_on(
    packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = DIALECT.replace("NAME", "thirteenth")
    install(packages, "apack", good, {"gradir.dialects": {"thirteenth": "apack:Made"}})
    install(packages, "bpack", good, {"gradir.dialects": {"thirteenth": "bpack:Made"}})
    install(packages, "cpack", "1 / 0", {"gradir.dialects": {"fourteenth": "cpack:Made"}})
    install(packages, "dpack", good, {"gradir.dialects": {"nn": "dpack:Made"}})
    install(packages, "epack", "import nothing_", {"xdsl.universe": {"e": "epack:UNIVERSE"}})
    install(packages, "fpack", good, {"gradir.dialects": {"fifteenth": "fpack:Made"}})
    with caplog.at_level(logging.WARNING, "gradir"):
        gradir.parse(PROGRAM.replace("NAME", "thirteenth.same"))
    said = caplog.text
    assert "dialect 'thirteenth' of bpack (bpack:Made) is left out: apack (apack:Made) has" in said
    assert "dialect 'nn' of dpack (dpack:Made) is left out: gradir or xDSL has one" in said
    assert "epack (epack:UNIVERSE) is left out: ModuleNotFoundError" in said
    for name, message in (
        ("fourteenth", "dialect 'fourteenth' of cpack .* cannot be imported: ZeroDivisionError"),
        ("fifteenth", "dialect 'fifteenth' of fpack .* is not one of this name"),
    ):
        with pytest.raises(GradirError, match=message):
            gradir.parse(PROGRAM.replace("NAME", f"{name}.same"))


# The template.


def test_the_template_package(tmp_path: Path) -> None:
    """It is built, installed, and passes its own tests."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    source = tmp_path / "source"
    ignored = subprocess.run(["cp", "-r", str(TEMPLATE), str(source)], check=True)
    assert ignored.returncode == 0
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    paths = os.pathsep.join([str(target), str(ROOT)])
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": paths, "PATH": found}
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(source / "tests")]
    done = subprocess.run(
        tests, cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
