"""gradir-opt: read IR, run passes over it, print it. Every flag of xdsl-opt, and

`-` for standard input, any file extension, `--list-passes`, `--verify-diagnostics` that matches
`// expected-error` comments, located errors on standard error without traceback, exit code 1.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import IO, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.diagnostic import Diagnostic as XdslDiagnostic
from xdsl.utils.exceptions import ArgSpecParseError, ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from gradir import __version__, registry
from gradir.compiler.measured_gradient import MeasuredGradientPass
from gradir.compiler.measured_step import MeasuredTrainStepPass
from gradir.compiler.specialize_pass import SpecializePass
from gradir.diagnostics import Diagnostic, Sources, render
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.errors import ArgumentError, GradirError, ParseError, gradir_errors
from gradir.gc_pause import paused_gc
from gradir.passes.gradient.gradient import Observer
from gradir.passes.recompute.costs import Costs
from gradir.passes.recompute.explain_saved import explain
from gradir.passes.verify.prove_bounds import ProveBoundsPass
from gradir.passes.verify.verify import verify
from gradir.text.parser import parse_module
from gradir.text.printer import FaithfulPrinter, FaithfulTarget
from gradir.text.source_text import decode
from gradir.tools.closed_output import drop_output
from gradir.tools.expected_diagnostics import compare, expectations
from gradir.tools.mlir_options import (
    Dumps,
    add_mlir_options,
    in_own_spelling,
    require_roundtrip,
)
from gradir.tools.native_targets import AssemblyTarget, LlvmTextTarget
from gradir.tools.near_options import name_nearest
from gradir.tools.plugin_option import load_plugins, plugin_option
from gradir.universe import installed_universes

STANDARD_INPUT = "<stdin>"

_SEPARATOR = re.compile(r"^[ \t]*// -----[ \t]*\r?$", re.MULTILINE)


class Chunk(NamedTuple):
    """One program of the input; blank lines replace the text before it, to keep line numbers."""

    text: str
    may_be_empty: bool


class GradirOpt(xDSLOptMain):
    """The driver. It differs from xDSL's in its input, its errors and its verifier."""

    def __init__(self, args: Sequence[str] | None = None) -> None:
        self.version_format = f"gradir-opt {__version__} built on xDSL {{xdsl_version}}"  # pyrefly: ignore[read-only]
        self.sources = Sources()
        self.current_pass: str | None = None
        self.pass_start = 0.0
        self.dumps: Dumps | None = None
        super().__init__("Differentiate, transform and print programs in MLIR syntax.", args)

    # Registration

    def register_all_dialects(self) -> None:
        """Register gradir's, xDSL's and the plugins' dialects."""
        self.ctx = registry.make_context()

    def register_all_passes(self) -> None:
        """Register gradir's, xDSL's and the plugins' passes."""
        self.available_passes = registry.passes()

    def register_all_targets(self) -> None:
        """Register gradir's, xDSL's and the plugins' output formats; an earlier one keeps its
        name."""
        self.available_targets["mlir"] = lambda: FaithfulTarget.eliding(
            self.args.mlir_elide_elementsattrs_if_larger
        )
        self.available_targets["llvm"] = lambda: LlvmTextTarget
        self.available_targets["asm"] = lambda: AssemblyTarget
        for universe in installed_universes():
            self.available_targets = universe.all_targets | self.available_targets

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """Add gradir's flags to xdsl-opt's."""
        super().register_all_arguments(arg_parser)
        name_nearest(arg_parser).prog = "gradir-opt"
        arg_parser.epilog = (
            "Other than in xdsl-opt, --verify-diagnostics matches errors and notes with "
            "`// expected-error @+1 {{text}}` comments and exits with code 1 where they differ, "
            "and --time-passes writes to standard error. `-` reads standard input."
        )
        plugin_option(arg_parser)
        arg_parser.add_argument(
            "--pass-pipeline",
            dest="passes",
            metavar="PIPELINE",
            type=_of_mlir,
            default=argparse.SUPPRESS,
            help="As -p, in mlir-opt's spelling: 'builtin.module(gradir-simplify,cse)'",
        )
        add_mlir_options(arg_parser)
        arg_parser.add_argument(
            "--list-passes",
            action="store_true",
            help="List every pass with a line on what it does",
        )
        arg_parser.add_argument(
            "--traceback",
            action="store_true",
            help="Show where in gradir an error comes from (for work on gradir itself)",
        )

        arg_parser.add_argument(
            "--trust-input",
            action="store_true",
            help="Accept what gradir-prove-bounds cannot prove. gradir-opt itself runs no program; "
            "gradir-run has a flag of this name for what it reads",
        )
        arg_parser.add_argument(
            "--explain-saved",
            action="store_true",
            help="Instead of the program, print what each gradir-gradient keeps of the forward "
            "code: bytes, where it is made and read, and what it would cost to recompute",
        )

    def setup_pipeline(self) -> None:
        """Read the pass pipeline; the module is verified before it and after each pass."""
        self.pipeline = registry.parse_passes(
            self.args.passes, self.available_passes, self._between_passes
        )
        if self.args.trust_input:
            wanted = (p for p in self.pipeline.passes if not isinstance(p, ProveBoundsPass))
            self.pipeline = PassPipeline(tuple(wanted), self._between_passes)

    # The stages of a run

    def run(self) -> int:
        """Process every chunk of the input; 0 if all went well, else 1."""
        if self.args.list_passes or self.args.show_dialects:
            names = sorted(self.ctx.registered_dialect_names)
            print(self._pass_list() if self.args.list_passes else "\n".join(names))
            return 0
        if self.args.dump_pass_pipeline:
            passes = ",".join(str(each.pipeline_pass_spec()) for each in self.pipeline.passes)
            print(f"Pass Manager: builtin.module({passes})", file=sys.stderr)
        chunks = self._read_chunks()
        output: IO[str] = sys.stdout if self._writes_to_standard_output() else StringIO()
        succeeded = True
        for index, chunk in enumerate(chunks):
            output.write("// -----\n" if index else "")
            result, errors = self._process(chunk)
            output.write(result or "")
            # before the errors, so that both are in order in a common stream
            output.flush()
            succeeded = self._judge(chunk, errors) and succeeded
        if isinstance(output, StringIO) and succeeded:
            _write(self.args.output_file, output.getvalue())
        if self.args.shrink:
            print("Failure, can't shrink")
            return 1
        return 0 if succeeded else 1

    def _explained(self, module: ModuleOp) -> str:
        """The explanations of the pipeline's derivatives: their kept values."""
        tables: list[str] = []
        costs = Costs()
        self._apply_observed(module, lambda made: tables.append(explain(made, costs) + "\n"))
        if any(isinstance(op, DerivativeOp) for op in module.walk()):
            tables.append("a derivative waits for shapes: add gradir-specialize to the pipeline\n")
        return "\n".join(tables) or "no gradir-gradient in the pipeline\n"

    def _apply_observed(self, module: ModuleOp, observe: Observer) -> None:
        """Apply the pipeline; `observe` is called with each derivative, before its functions."""
        previous: ModulePass | None = None
        for each in self.pipeline.passes:
            self._between_passes(previous, module, each)
            if isinstance(each, MeasuredGradientPass | MeasuredTrainStepPass | SpecializePass):
                each.run(module, observe)
            else:
                each.apply(self.ctx, module)
            previous = each
        self._between_passes(previous, module, None)

    def _writes_to_standard_output(self) -> bool:
        return self.args.output_file in (None, "-")

    def _read_chunks(self) -> list[Chunk]:
        data = _read(self.args.input_file)
        with gradir_errors(Sources({self.get_input_name(): data.decode("utf-8", "replace")})):
            text = decode(data, self.get_input_name())
        self.sources.add(self.get_input_name(), text)
        if not self.args.split_input_file:
            return [Chunk(text, may_be_empty=False)]
        return list(_split(text))

    def get_input_name(self) -> str:
        """The input as locations name it."""
        return STANDARD_INPUT if self.args.input_file in (None, "-") else self.args.input_file

    def _process(self, chunk: Chunk) -> tuple[str | None, list[Diagnostic]]:
        """The resulting program, or None, and the errors on the way."""
        try:
            with gradir_errors(self.sources), paused_gc():
                module = parse_module(
                    chunk.text,
                    self.get_input_name(),
                    self.ctx,
                    implicit_module=not self.args.no_implicit_module,
                    allow_empty=chunk.may_be_empty,
                )
                self.current_pass = None
                if self.args.explain_saved:
                    return self._explained(module), []
                self._apply(module)
                return self._output(module), []
        except ShrinkException:
            raise
        except GradirError as error:
            self._trace()
            if isinstance(error, ParseError) and self.args.parsing_diagnostics:
                print(error)
                return None, []
            return None, [error.diagnostic or Diagnostic("error", str(error))]
        except (BrokenPipeError, MemoryError):
            raise
        except Exception as error:
            self._trace()
            return None, [Diagnostic("error", self._internal_error(error))]

    def _apply(self, module: ModuleOp) -> None:
        """Run the pipeline, with the dumps that are asked for."""
        self.dumps = Dumps(self.args)
        try:
            self.pipeline.apply(self.ctx, module)
        except Exception:
            self.dumps.failed(self.current_pass, module)
            raise

    def _output(self, module: ModuleOp) -> str:
        text = self.output_resulting_program(module)
        if self.args.verify_roundtrip:
            require_roundtrip(text, self._read_again)
        return text

    def _read_again(self, text: str) -> str:
        return self.output_resulting_program(parse_module(text, "<output>", self.ctx))

    def _between_passes(
        self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
    ) -> None:
        if previous is not None and self.args.time_passes:
            seconds = time.perf_counter() - self.pass_start
            print(f"Pass {previous.name} took {seconds} seconds", file=sys.stderr)
        if not self.args.disable_verify:
            verify(module)
        if self.dumps is not None:
            if previous is not None:
                self.dumps.after(previous.name, module)
            if following is not None:
                self.dumps.before(following.name, module)
        if previous and following and self.args.print_between_passes:
            print(f"IR after {previous.name}:")
            FaithfulPrinter(stream=sys.stdout).print_op(module)
            print("\n\n\n")
        self.current_pass = None if following is None else following.name
        self.pass_start = time.perf_counter()

    # Errors

    def _judge(self, chunk: Chunk, errors: list[Diagnostic]) -> bool:
        """Print the errors, or under --verify-diagnostics how they differ from the comments."""
        if self.args.verify_diagnostics:
            wanted, malformed = expectations(chunk.text, self.get_input_name())
            errors = malformed + compare(wanted, errors, self.get_input_name())
        for error in errors:
            print(render(error, self.sources), file=sys.stderr)
        return not errors

    def _internal_error(self, error: Exception) -> str:
        hint = "" if self.args.traceback else "; --traceback shows where"
        said, name = f"{type(error).__name__}: {error}{hint}", self.current_pass
        if name is None:
            return f"internal error: {said}"
        if _is_ours(name):
            return f"internal error in pass '{name}': {said}"
        if isinstance(error, NotImplementedError):
            return f"pass '{name}', which is not gradir's, does not take this program: {error}"
        return f"error in pass '{name}', which is not gradir's: {said}"

    def _trace(self) -> None:
        if self.args.traceback:
            traceback.print_exc()

    def _pass_list(self) -> str:
        names = sorted(self.available_passes, key=lambda name: (not _is_ours(name), name))
        width = max(map(len, names))
        lines = [f"{name:{width}}  {self._summary(name)}".rstrip() for name in names]
        return "\n".join(lines)

    def _summary(self, name: str) -> str:
        """The first line of a pass's docstring."""
        try:
            text = self.available_passes[name]().__doc__ or ""
        except ImportError as error:
            return f"(not available: {error})"
        # a dataclass without docstring gets its signature for one
        is_signature = re.match(r"\w+\(", text) is not None
        return "" if is_signature else text.strip().partition("\n")[0]


def _is_ours(name: str) -> bool:
    return name.startswith("gradir-")


def _of_mlir(pipeline: str) -> str:
    """A pipeline in mlir-opt's spelling as one of -p."""
    match = re.fullmatch(r"\s*(?:any|builtin\.module)\((.*)\)\s*", pipeline, re.DOTALL)
    inner = pipeline if match is None else match[1]
    if "(" in inner:
        raise argparse.ArgumentTypeError(
            f"passes are for whole modules: expected 'builtin.module(a,b{{x=1}})', got {pipeline!r}"
        )
    return inner


def _split(text: str) -> Iterator[Chunk]:
    """The programs between lines `// -----`."""
    begin = 0
    for match in [*_SEPARATOR.finditer(text), None]:
        end = len(text) if match is None else match.start()
        yield Chunk("\n" * text.count("\n", 0, begin) + text[begin:end], may_be_empty=True)
        begin = end if match is None else match.end()


def _read(file: str | None) -> bytes:
    if file in (None, "-"):
        return sys.stdin.buffer.read()
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ArgumentError(f"error: cannot read '{file}': {reason}") from None


def _write(file: str, text: str) -> None:
    try:
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ArgumentError(f"error: cannot write '{file}': {reason}") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run gradir-opt with these arguments; the exit code."""
    # xDSL's --disable-verify and --syntax-highlight set these for the whole process
    checks, colored = Attribute.__post_init__, XdslDiagnostic.colored
    try:
        return _run(argv)
    except BrokenPipeError:
        drop_output()
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        Attribute.__post_init__, XdslDiagnostic.colored = checks, colored


def _run(argv: Sequence[str] | None) -> int:
    try:
        load_plugins(argv)
        arguments = sys.argv[1:] if argv is None else argv
        driver = GradirOpt(in_own_spelling(arguments, registry.passes()))
        code = driver.run()
        sys.stdout.flush()
        return code
    except ShrinkException:
        print("Success, can shrink")
        return 0
    except ArgSpecParseError as error:
        print(registry.syntax_error(error), file=sys.stderr)
    except GradirError as error:
        print(error, file=sys.stderr)
    except MemoryError:
        print("error: not enough memory", file=sys.stderr)
    except SystemExit as error:
        # argparse: 0 for --help and --version, 2 for arguments it does not understand
        return 0 if not error.code else 1
    return 1


if __name__ == "__main__":
    sys.exit(main())
