"""Program text that wants memory which is not its own: refused, or run safely.

What could end the process runs in another one, between pages that nobody may touch.
"""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hostile_programs import GROWS, NESTS, PROVEN, REFUSED, UNPROVEN, program, store
from xdsl.printer import Printer

import gradir
from gradir.dialects.loopnest.loopnest import NestOp
from gradir.errors import ArgumentTypeError, GradirError, IndexOutOfRange
from gradir.tools.gradir_opt import main as gradir_opt
from gradir.tools.gradir_run import main as gradir_run

pytestmark = pytest.mark.usefixtures("native_calls")

GUARDED = Path(__file__).parents[1] / "support" / "guarded_memory.py"


def in_subprocess(*arguments: str) -> str:
    """What the program of guarded_memory.py prints; a failure where it is ended by a signal."""
    command = [sys.executable, str(GUARDED), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("name", UNPROVEN)
def test_accesses_that_are_not_proven_are_refused(name: str):
    """Located at the access, with the known facts of the index and both ways out."""
    module = gradir.parse(program(UNPROVEN[name]))
    message = r"<string>:\d+:\d+: error: loopnest\.(load|store|lanes): .* must be proven to be"
    with pytest.raises(GradirError, match=message) as caught:
        gradir.compile(module, "f")
    assert "loopnest.check_index" in str(caught.value)
    assert "trusted=True" in str(caught.value) and "--trust-input" in str(caught.value)


@pytest.mark.parametrize("name", PROVEN)
def test_accesses_that_are_proven_run(name: str):
    compiled = gradir.compile(gradir.parse(program(PROVEN[name])), "f", threads=1)
    for number in (0, 3, 4, -1, -(2**63), 2**63 - 1):
        try:
            (found,) = compiled(np.zeros(4), np.array([number]))
        except GradirError:
            assert name == "checked" and not -4 <= number < 4
            continue
        assert found.shape == (4,)


@pytest.mark.parametrize("name", NESTS)
def test_nests_and_buffers_that_are_not_proven_are_refused(name: str):
    text, message = NESTS[name]
    with pytest.raises(GradirError, match=message):
        gradir.compile(gradir.parse(text + "\n"), "f")


# Where a module is from.

WRITES = program(store("%n"))


def test_trust():
    """The caller's word, for one text; it goes on to modules made of it."""
    module = gradir.parse(WRITES, trusted=True)
    gradir.compile(module, "f")
    gradir.compile(module.run_passes("gradir-fuse"), "f")
    with pytest.raises(ArgumentTypeError, match="trusted: expected a bool, got 1"):
        gradir.parse(WRITES, trusted=1)  # pyrefly: ignore[bad-argument-type]


def test_doubts_go_on_to_what_is_made_of_a_module():
    """What passes make of text that is not proven is not proven, even if it is gone."""
    text = WRITES + "func.func @g(%x: tensor<f64>) -> tensor<f64> {\n  return %x : tensor<f64>\n}\n"
    module = gradir.parse(text)
    gradir.compile(module, "g")
    for passes in ("gradir-fuse", "gradir-gradient{function=g mode=grad}"):
        made = module.run_passes(passes)
        with pytest.raises(GradirError, match=r"loopnest.store: index 0"):
            gradir.compile(made, made.functions[-1])


def test_doubts_stay_where_modules_are_merged():
    """Proven modules beside them run; a module made of both does not."""
    safe = "func.func @g(%x: tensor<f64>) -> tensor<f64> {\n  return %x : tensor<f64>\n}\n"
    both = gradir.parse(safe).merge(gradir.parse(WRITES))
    assert gradir.compile(both, "g")(2.0)
    made = both.append_loss("g", "g")
    for module, function in ((both, "f"), (made, "g_loss")):
        with pytest.raises(GradirError, match=r"loopnest.store: index 0"):
            gradir.compile(module, function)
    gradir.compile(gradir.parse(safe).merge(gradir.parse(WRITES, trusted=True)), "f")


BESIDE = (
    WRITES
    + """func.func @g(%x: tensor<f64>) -> tensor<f64> {
  %y = array.square %x : tensor<f64>
  return %y : tensor<f64>
}
func.func @h(%x: tensor<f64>) -> tensor<f64> {
  %y = func.call @g(%x) : (tensor<f64>) -> tensor<f64>
  %z = array.sin %y : tensor<f64>
  return %z : tensor<f64>
}
"""
)


def test_derivatives_of_functions_that_do_not_call_what_is_doubted() -> None:
    """One function of a text that is not proven does not keep the others from their gradients."""
    module = gradir.parse(BESIDE)
    made = module.gradient("h", mode="grad").gradient("g", mode="vjp")
    np.testing.assert_allclose(gradir.compile(made, "h_grad")(2.0)[1], 4 * np.cos(4.0))
    np.testing.assert_allclose(gradir.compile(made, "g_vjp")(2.0, 1.0)[1], 4.0)
    twice = made.run_passes("cse,canonicalize").gradient("h_grad", of=[1], mode="grad")
    assert gradir.compile(twice, "h_grad_grad")(2.0)
    # doubts stay, also of all that other passes make: they may take code anywhere
    for doubted, function in ((made, "f"), (made.run_passes("gradir-lower"), "h_grad")):
        with pytest.raises(GradirError, match="trust the text"):
            gradir.compile(doubted, function)


def test_derivatives_that_may_hold_what_is_doubted() -> None:
    """Callers of it, though the call may be inlined, and what refers to functions otherwise."""
    caller = """func.func @k(%x: tensor<f64>, %t: tensor<4xf64>) -> tensor<f64> {
  %y = func.call @h(%x) : (tensor<f64>) -> tensor<f64>
  %u = func.call @doubted(%t) : (tensor<4xf64>) -> tensor<4xf64>
  return %y : tensor<f64>
}
"""
    doubted = """func.func @doubted(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = array.sin %x {gradir.claim} : tensor<4xf64>
  return %y : tensor<4xf64>
}
"""
    module = gradir.parse(BESIDE[len(WRITES) :] + doubted + caller)
    with pytest.raises(GradirError, match="trust the text"):
        gradir.compile(module, "k")
    assert gradir.compile(module.gradient("h", mode="grad"), "h_grad")(2.0)
    made = module.gradient("h", mode="grad")
    for one, name in ((made, "k"), (module.gradient("k", wrt=[0], mode="grad"), "k_grad")):
        with pytest.raises(GradirError, match="trust the text"):
            gradir.compile(one, name)


def test_what_passes_make_of_safe_text_runs_and_its_text_does_not():
    """Provenance is the module's, not the text's."""
    text = """func.func @f(%x: tensor<4xf64>, %i: index) -> f64 {
  %y = array.exp %x : tensor<4xf64>
  %v = tensor.extract %y[%i] : tensor<4xf64>
  return %v : f64
}
"""
    module = gradir.parse(text)
    lowered = module.run_passes("gradir-lower,gradir-fuse")
    assert gradir.compile(lowered, "f")(np.zeros(4), 3) == (1.0,)
    buffers = lowered.run_passes("gradir-bufferize")
    with pytest.raises(GradirError, match=r"no op on buffers is proven|gradir.inputs"):
        gradir.compile(gradir.parse(str(buffers)), "f")
    # subscripts are affine: the text is proven
    gradir.compile(gradir.parse(str(lowered)), "f")


def test_a_function_is_refused_for_what_it_calls():
    calls = """func.func @g(%x: tensor<4xf64>, %k: tensor<1xi64>) -> tensor<4xf64> {
  %y = func.call @f(%x, %k) : (tensor<4xf64>, tensor<1xi64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}
"""
    with pytest.raises(GradirError, match=r"loopnest.store: index 0"):
        gradir.compile(gradir.parse(WRITES + calls), "g")


def test_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """gradir-run refuses unless it is told to trust; gradir-opt has the proof as a pass."""
    file = tmp_path / "writes.mlir"
    file.write_text(WRITES)
    arguments = [str(file), "--function", "f", "--random-inputs", "0"]
    assert gradir_run(arguments) == 1
    assert "loopnest.store: index 0 (%n) must be proven" in capsys.readouterr().err
    assert gradir_run([*arguments, "-p", "gradir-fuse"]) == 1
    # a random index below 8: harmless, or caught by nobody; so a text that writes inside
    file.write_text(program("%c = arith.remsi %n, %four : i64\n" + store("%c")))
    assert gradir_run(arguments) == 1
    assert gradir_run([*arguments, "--trust-input"]) == 0
    capsys.readouterr()
    options = [str(file), "-p", "gradir-prove-bounds"]
    assert gradir_opt(options) == 1
    assert "must be proven to be in [0, 4), got numbers from -3 to 3" in capsys.readouterr().err
    assert gradir_opt([*options, "--trust-input"]) == 0


def test_errors_do_not_control_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Comments and names are shown without escape sequences."""
    file = tmp_path / "escapes.mlir"
    file.write_text('func.func @"\\1B[31m"() -> f64 { // \x1b[2J\n  return // \x1b[2J\x9b1A\n}\n')
    for tool, arguments in ((gradir_opt, ()), (gradir_run, ("--function", "no\x1b[2J"))):
        assert tool([str(file), *arguments]) == 1
        shown = capsys.readouterr().err
        assert "error" in shown and not {"\x1b", "\x9b"} & set(shown)


# Memory that nobody may touch.


def test_guards_end_a_process_that_reads_outside():
    """So that the tests below would see it."""
    text = program(store("%n"))
    code = (
        f"import sys; sys.path.insert(0, {str(GUARDED.parent)!r})\n"
        "import gradir, numpy as np\nfrom guarded_memory import guarded\n"
        f"f = gradir.compile(gradir.parse({text!r}, trusted=True), 'f')\n"
        "f(np.zeros(4), np.array([4]), out=guarded(np.zeros(4), False))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode < 0


def test_random_nests_stay_inside():
    """Each is proven by its subscripts, and runs between guards."""
    assert in_subprocess("nests", "0", "40").strip() == "{'ran': 40}"


def test_many_random_nests_stay_inside():
    assert in_subprocess("nests", "1000", "600").strip() == "{'ran': 600}"


def test_narrow_writes_stay_inside():
    """The last vector of a row with one lane, of bf16 and other truncated numbers."""
    assert in_subprocess("narrow").strip() == "{'ran': 16}"


def test_hostile_indices_stay_inside():
    """Any numbers as indices, keys, targets, labels: an error, or numbers."""
    assert "IndexOutOfRange" in in_subprocess("indices", "9")


def test_all_ops_with_hostile_indices_stay_inside():
    assert "IndexOutOfRange" in in_subprocess("indices", "1")


# Ops on tensors: what text can claim.


@pytest.mark.parametrize("name", REFUSED)
def test_claims_of_text_are_refused(name: str):
    text, message = REFUSED[name]
    with pytest.raises(GradirError, match=message):
        gradir.compile(gradir.parse(text + "\n"), "f")


@pytest.mark.parametrize("index", [0, -1, 5, 2**62])
def test_an_empty_tensor_has_no_element(index: int):
    module = gradir.parse("""func.func @f(%x: tensor<0xf64>, %i: index) -> (f64, tensor<0xf64>) {
  %r = tensor.extract %x[%i] : tensor<0xf64>
  %u = tensor.insert %r into %x[%i] : tensor<0xf64>
  return %r, %u : f64, tensor<0xf64>
}
""")
    with pytest.raises(IndexOutOfRange, match=f"index {index} is out of range for a size of 0"):
        gradir.compile(module, "f")(np.zeros(0), index)


def test_a_start_of_another_size_is_refused():
    """In the generic form an output could start from a smaller tensor, and be written there."""
    text = """func.func @f(%x: tensor<2xf64>, %z: tensor<4xf64>) -> tensor<4xf64> {
  %y = loopnest.nest [4] (%a = %z[d0] : tensor<4xf64>) -> ([d0] init %z : tensor<4xf64>) {
    loopnest.yield %a : f64
  }
  return %y : tensor<4xf64>
}
"""
    module = gradir.parse(text).op.clone()
    nest = next(op for op in module.walk() if isinstance(op, NestOp))
    function = nest.parent_op()
    assert function is not None
    nest.operands = [nest.operands[0], function.regions[0].block.args[0]]
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    message = r"outputs must start from \(tensor<4xf64>\), got \(tensor<2xf64>\)"
    with pytest.raises(GradirError, match=message):
        gradir.parse(stream.getvalue())


@pytest.mark.parametrize("count", [2**58 + 1, 2**61 + 1, 2**63 - 1])
def test_a_tape_whose_bytes_overflow_finds_no_memory(count: int):
    """8 bytes for each of 2**61 records are none in 64 bits; there was room for one then."""
    code = f"import gradir; gradir.compile(gradir.parse({GROWS!r}), 'f')({count}, 3)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 1, done.returncode
    assert "grad.tape_push: the tape finds no memory" in done.stderr


def test_names_do_not_reach_the_native_text():
    """A symbol, a location and a message may hold quotes and new lines."""
    name = 'f"\n}\ndefine void @evil() {'
    text = (
        'func.func @"f\\22\\0A}\\0Adefine void @evil() {"(%x: tensor<4xf64>, %i: index) -> f64 {\n'
        "  %v = tensor.extract %x[%i] : tensor<4xf64>\n  return %v : f64\n}\n"
    )
    module = gradir.parse(text, filename='e"\n@evil = external global i8\n')
    compiled = gradir.compile(module, name)
    assert "evil" not in compiled.llvm_ir and "evil" not in compiled.asm
    assert compiled(np.arange(4.0), 2) == (2.0,)
    with pytest.raises(GradirError, match="index 4 is out of range"):
        compiled(np.arange(4.0), 4)


def test_derived_text_is_text_at_tensor_level() -> None:
    """What a gradient is printed as is read again and runs, with the names of ops for messages."""
    text = """func.func @f(%table: tensor<4x3xf32>, %ids: tensor<2xi32>) -> tensor<2x3xf32> {
  %y = nn.embedding %table, %ids {padding_idx = 1}
      : tensor<4x3xf32>, tensor<2xi32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}"""
    printed = str(gradir.parse(text).gradient("f", mode="grad"))
    assert "gradir.source" in printed
    arrays = np.ones((4, 3), np.float32), np.array([1, 2], np.int32)
    _, grad = gradir.compile(gradir.parse(printed), "f_grad")(*arrays)
    assert grad.tolist() == [[0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0]]


def test_a_location_opens_no_file(tmp_path: Path) -> None:
    """What a text names as its place is not read, nor shown."""
    secret = tmp_path / "secret.txt"
    secret.write_text("first line\nSECRET\n")
    text = f"""func.func @f(%x: tensor<4xf64>) -> tensor<5xf64> {{
  %y = "array.exp"(%x) : (tensor<4xf64>) -> tensor<5xf64> loc("{secret}":2:1)
  return %y : tensor<5xf64>
}}"""
    with pytest.raises(gradir.GradirError) as caught:
        gradir.parse(text)
    assert f"{secret}:2:1" in str(caught.value) and "SECRET" not in str(caught.value)


REWRITTEN = """
func.func @f(%x: tensor<4xf64>, %k: tensor<i64>) -> tensor<f64> {
  %y = loopnest.nest [] (%all = %x : tensor<4xf64>, %n = %k[] : tensor<i64>)
      -> ([] : tensor<f64>) {
    %i = loopnest.check_index %n bound 4 message "m"
    %v = loopnest.load %all[%i] : tensor<4xf64> -> f64
    loopnest.yield %v : f64
  }
  return %y : tensor<f64>
}
pdl.pattern : benefit(1) {
  %t = pdl.type
  %v = pdl.operand : %t
  %op = pdl.operation "loopnest.check_index" (%v : !pdl.value) -> (%t : !pdl.type)
  pdl.rewrite %op {
    pdl.replace %op with (%v : !pdl.value)
  }
}
"""


def test_rewrites_in_a_text_are_not_trusted() -> None:
    module = gradir.parse(REWRITTEN)
    gradir.compile(module, "f")
    gradir.compile(module.run_passes("cse,gradir-simplify"), "f")
    with pytest.raises(gradir.GradirError, match="must be proven"):
        gradir.compile(module.run_passes("apply-pdl"), "f")
    with pytest.raises(gradir.GradirError, match="must be proven"):
        gradir.compile(pickle.loads(pickle.dumps(module)).run_passes("apply-pdl"), "f")
    vouched = gradir.parse(REWRITTEN, trusted=True)
    gradir.compile(vouched.run_passes("apply-pdl"), "f")
