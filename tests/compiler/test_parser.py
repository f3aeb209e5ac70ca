"""Parsing: locations, limits, and that no text whatever gives anything but a located error."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Operation

from gradir.diagnostics import Diagnostic, Sources, render
from gradir.dialects.base.diagnostics import (
    LocatedError,
    PassError,
    file_location,
    location_of,
    value_name,
)
from gradir.errors import (
    ArgumentTypeError,
    GradirError,
    ParseError,
    VerifyError,
    gradir_errors,
    translate,
)
from gradir.passes.analysis.regions import MAX_REGION_DEPTH
from gradir.passes.verify.verify import dominator_tree, verify
from gradir.registry import make_context
from gradir.text.parser import MAX_DENSE_ELEMENTS, parse_module
from gradir.text.source_text import decode

ATTRIBUTES = r"""#map = affine_map<(d0, d1)[s0] -> (d0 + s0 * 2, d1 floordiv 3)>
!pair = tuple<f32, i64>
func.func @f(%x: tensor<2x3xf32> {a.b = "w"}, %c: i1) -> (tensor<2x3xf32>)
    attributes {k = [1, 2.5, "s\n\41", unit, @sym::@q, #map]} {
  // comment
  %0 = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %1:2 = "test.op"(%0, %x) ({
  ^bb0(%a: index):
    "test.termop"(%a) [^bb1] : (index) -> ()
  ^bb1:
    "test.termop"() : () -> ()
  }) {dense = dense<"0x00000000"> : tensor<1xf32>, arr = array<i64: 1, 2>, d = {x = 1 : i8, y}}
     : (tensor<2x3xf32>, tensor<2x3xf32>) -> (f32, !pair)
  %r = scf.if %c -> (tensor<2x3xf32>) {
    scf.yield %x : tensor<2x3xf32>
  } else {
    scf.yield %0 : tensor<2x3xf32>
  } loc("a.py":3:4)
  func.return %r : tensor<2x3xf32>
}
"""
CONTROL_FLOW = r"""builtin.module attributes {sym = @f} {
  func.func private @g(f64, memref<?x4xf32, strided<[4, 1], offset: 2>>) -> f64
  func.func @main(%n: index, %m: memref<16xf64>) -> f64 {
    %z = arith.constant 0.0 : f64
    %zero = arith.constant 0 : index
    %true = arith.constant true
    %one = arith.constant 1 : index
    %s = scf.for %i = %zero to %n step %one iter_args(%acc = %z) -> (f64) {
      %v = memref.load %m[%i] : memref<16xf64>
      %w = arith.addf %acc, %v fastmath<contract> : f64
      %e = math.exp %w : f64
      scf.yield %e : f64
    }
    %k:2 = scf.while (%p = %s, %q = %zero) : (f64, index) -> (f64, index) {
      %t = arith.cmpf olt, %p, %z : f64
      scf.condition(%t) %p, %q : f64, index
    } do {
    ^bb0(%u: f64, %l: index):
      scf.yield %u, %l : f64, index
    }
    cf.cond_br %true, ^a(%s : f64), ^b
  ^a(%y: f64):
    func.return %y : f64
  ^b:
    func.return %k#0 : f64
  }
}
"""
TEXTS = [ATTRIBUTES, CONTROL_FLOW]
FRAGMENTS = [
    *'"{}<>()[]%@#!^:,=?*+\\ \n\0é²',
    *("%x", "%k#7", "^bb0", "!foo.bar<", "i32", "i0", "i999999999", "tensor<", "0x", "->", "::"),
    *("dense<", "1e400", "99999999999999999999", "//", "loc(", "affine_map<", "func.func"),
    *("scf.if", '"test.op"', "vector<[4]xf32>", "f80", "memref<2xf32", "complex<f32>", "array<i1:"),
    *('opaque<"a","b">', "{-#", "#-}", "strided<[", "-1", "tuple<", "index", "unit", "\ufeff"),
]

CONTEXT = make_context()
LENIENT_CONTEXT = make_context(allow_unregistered=True)


def parse(text: str, *, lenient: bool = False) -> Operation:
    """Parse and verify, as the tools do."""
    module = parse_module(text, "f.mlir", LENIENT_CONTEXT if lenient else CONTEXT)
    with gradir_errors(Sources({"f.mlir": text})):
        verify(module)
    return module


@st.composite
def broken_texts(draw: st.DrawFn) -> str:
    """A valid program with a few random edits."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, len(text)))
        match draw(st.sampled_from(["cut", "delete", "insert", "replace", "lines"])):
            case "cut":
                text = text[:position]
            case "delete":
                text = text[:position] + text[position + draw(st.integers(1, 8)) :]
            case "insert":
                text = text[:position] + draw(st.sampled_from(FRAGMENTS)) + text[position:]
            case "replace":
                character = chr(draw(st.integers(0, 255)))
                text = text[:position] + character + text[position + 1 :]
            case _:
                lines = text.split("\n")
                source, target = draw(st.integers(0, 60)), draw(st.integers(0, 60))
                line = lines.pop(source % len(lines))
                lines.insert(target % (len(lines) + 1), line)
                text = "\n".join(lines)
    return text


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken_texts(), st.booleans())
def test_broken_text_gives_a_located_error(text: str, lenient: bool) -> None:
    """Either the text is a program, which prints and parses again, or the error has a place."""
    try:
        module = parse(text, lenient=lenient)
    except (ParseError, VerifyError) as error:
        assert error.diagnostic is not None
        assert error.diagnostic.file == "f.mlir" or "loc(" in text
        assert str(error).startswith(("f.mlir:", "a.py:"))
    else:
        parse(str(module), lenient=lenient)


@pytest.mark.parametrize("text", TEXTS)
def test_every_truncation_is_refused(text: str) -> None:
    """A program that ends too early is never taken for a whole one."""
    whole = text.rstrip()
    accepted: list[str] = []
    for end in range(0, len(whole), 3):
        try:
            parse_module(whole[:end], "f.mlir", CONTEXT)
        except ParseError:
            continue
        accepted.append(whole[:end])
    # before its body, a function is a whole declaration
    assert all("  // comment" not in prefix for prefix in accepted)
    assert text is ATTRIBUTES or not accepted


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_are_decoded_or_refused(data: bytes) -> None:
    """Any bytes at all."""
    try:
        with gradir_errors():
            parse_module(decode(data, "f.mlir"), "f.mlir", CONTEXT)
    except ParseError as error:
        assert str(error).startswith("f.mlir:")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_texts_are_parsed_or_refused(text: str) -> None:
    """Any text at all, lone surrogates included."""
    try:
        parse_module(text, "f.mlir", CONTEXT)
    except ParseError as error:
        assert str(error).startswith("f.mlir:")


@pytest.mark.parametrize("text", TEXTS)
def test_valid_texts_parse(text: str) -> None:
    """The programs that the other tests break are whole."""
    module = parse(text)
    assert str(parse(str(module))) == str(module)


def position_of(op: Operation) -> tuple[int, int]:
    """Line and column of an operation."""
    location = op.location
    assert isinstance(location, FileLineColLoc)
    return location.line.data, location.column.data


def test_locations() -> None:
    """Operations and arguments have the place of their first character, unless the text says."""
    module = parse_module(ATTRIBUTES, "f.mlir", CONTEXT)
    lines = ATTRIBUTES.split("\n")
    names = {op.name: op for op in module.walk()}
    line, column = position_of(names["func.return"])
    assert lines[line - 1][column - 1 :].startswith("func.return %r")
    line, column = position_of(names["test.op"])
    assert lines[line - 1][column - 1 :].startswith("%1:2")
    assert position_of(names["scf.if"]) == (3, 4)
    function = names["func.func"]
    place = function.regions[0].block.args[1].location
    assert isinstance(place, FileLineColLoc)
    assert lines[place.line.data - 1][place.column.data - 1 :].startswith("%c: i1")
    place = names["test.op"].regions[0].blocks[0].args[0].location
    assert isinstance(place, FileLineColLoc)
    assert lines[place.line.data - 1][place.column.data - 1 :].startswith("%a: index")


def test_nested_ifs_up_to_the_limit() -> None:
    """More than a hundred nested ifs work, in threads and on deep stacks too."""

    def nested(depth: int) -> str:
        return f"func.func @f(%c: i1) {{ {'scf.if %c {' * depth}{'}' * depth} func.return }}"

    deepest = MAX_REGION_DEPTH - 1
    assert deepest >= 100
    limit = sys.getrecursionlimit()
    results: list[Operation] = []
    threads = [
        threading.Thread(target=lambda: results.append(parse(nested(deepest)))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert sys.getrecursionlimit() == limit

    def from_below(frames: int) -> Operation:
        return from_below(frames - 1) if frames else parse(nested(deepest))

    from_below(500)
    for depth in (deepest + 1, 5000, 100_000):
        with pytest.raises(ParseError, match=f"the limit is {MAX_REGION_DEPTH}"):
            parse(nested(depth))


def test_generic_nesting() -> None:
    """The generic form of a hundred nested ifs stays within the limits too."""
    depth = 120
    opening = '"scf.if"(%c) ({' * depth
    closing = '"scf.yield"() : () -> () }, {}) : (i1) -> ()' * depth
    parse(f"func.func @f(%c: i1) {{ {opening} {closing} func.return }}")


@pytest.mark.parametrize("opener, closer", ["[]", "()", "<>"])
def test_deep_brackets_are_refused(opener: str, closer: str) -> None:
    """Brackets that no region holds have a limit of their own."""
    text = f'"test.op"() {{a = {opener * 5000}{closer * 5000}}} : () -> ()'
    with pytest.raises(ParseError, match="brackets are nested too deeply"):
        parse(text)


def test_comparisons_are_no_brackets() -> None:
    """`<=` and `->` in attributes do not add up to a nesting."""
    sets = ", ".join(["affine_set<(d0) : (d0 >= 0, 7 >= d0)>"] * 200)
    parse(f'"test.op"() {{a = [{sets}]}} : () -> ()')


def test_splat_constants() -> None:
    """A splat is built from its bytes; above the limit it is refused, whatever its spelling."""
    module = parse("%c = arith.constant dense<2.0> : tensor<1024x1024xf32>")
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    value = constant.properties["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    assert value.data.data == b"\x00\x00\x00\x40" * 1024 * 1024
    assert str(module).count("dense<2.000000e+00>") == 1
    for literal in ("1.0", '"0x00000000"'):
        with pytest.raises(ParseError, match="expected at most"):
            parse(f"%c = arith.constant dense<{literal}> : tensor<{MAX_DENSE_ELEMENTS + 1}xf32>")


@pytest.mark.parametrize(
    "literal, type",
    [
        ("true", "tensor<4xi1>"),
        ("-3", "tensor<2x2xi64>"),
        ("5", "tensor<3xindex>"),
        ("(1.0, 2.0)", "tensor<2xcomplex<f32>>"),
        ("1.5", "vector<2xbf16>"),
        ("7", "tensor<i8>"),
    ],
)
def test_splats_are_what_xdsl_reads(literal: str, type: str) -> None:
    """Our own reading of splats agrees with xDSL's."""
    from xdsl.parser import Parser

    text = f'"test.op"() {{a = dense<{literal}> : {type}}} : () -> ()'
    assert str(parse(text)) == str(Parser(CONTEXT, text).parse_module())


def test_huge_numbers() -> None:
    """Numbers beyond what Python converts are located errors."""
    for text in ("%c = arith.constant " + "1" * 10_000 + " : i32", "%x:" + "9" * 5000 + ' = "a"()'):
        with pytest.raises(ParseError):
            parse(text)


def test_unclosed_string_of_any_length() -> None:
    """xDSL's lexer takes exponential time on it."""
    with pytest.raises(ParseError, match="a string that ends on its line"):
        parse('"test.op"() {a = "' + "a" * 10_000)


def test_encoding() -> None:
    """Bytes that are not UTF-8 are located; a byte order mark and CR LF are accepted."""
    with pytest.raises(ParseError, match=r"f.mlir:2:4: error: expected UTF-8 text, got byte 0xff"):
        with gradir_errors():
            decode("// é\n// ".encode() + b"\xff", "f.mlir")
    text = decode(b"\xef\xbb\xbffunc.func @f() {\r\n  func.return\r\n}\r\n", "f.mlir")
    module = parse(text)
    assert [position_of(op) for op in module.walk()] == [(1, 1), (1, 1), (2, 3)]
    with pytest.raises(ParseError, match=r"^f.mlir:1:3: error: .* a NUL character"):
        parse("//\0")


def test_empty_input() -> None:
    """No program is an error, unless the caller allows it."""
    with pytest.raises(ParseError, match="got an empty input"):
        parse("// nothing\n")
    assert str(parse_module("", allow_empty=True)) == "builtin.module {\n}"


def test_implicit_module() -> None:
    """Without an implicit module, one module has to hold everything."""
    parse_module("builtin.module {}", implicit_module=False)
    for text in ('"test.op"() : () -> ()', "builtin.module {}\nbuiltin.module {}"):
        with pytest.raises(ParseError, match="expected one builtin"):
            parse_module(text, implicit_module=False)


def test_error_text() -> None:
    """Place, message, source line, caret; notes likewise."""
    with pytest.raises(ParseError) as caught:
        parse_module("\n  \t]", "f.mlir")
    assert str(caught.value) == "f.mlir:2:4: error: expected an operation, got ']'\n  \t]\n  \t^"
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_long_lines_are_cut() -> None:
    """A line of a megabyte does not fill the screen; the caret stays under its character."""
    line = " " * 500_000 + "]" + " " * 500_000
    head, shown, caret = render(
        Diagnostic("error", "text", "f", 1, 500_001), Sources({"f": line})
    ).split("\n")
    assert head == "f:1:500001: error: text"
    assert len(shown) < 200 and shown[caret.index("^")] == "]"


def test_located_error() -> None:
    """Operations, values and locations can be named as the place; unknown places are inherited."""
    module = parse_module(CONTROL_FLOW, "f.mlir", CONTEXT)
    ops = {op.name: op for op in module.walk()}
    load = ops["memref.load"]
    error = PassError("memref.load: no", load, [("here", load.operands[1]), ("there", load)])
    assert isinstance(error, LocatedError) and error.op is load and error.location == load.location
    with pytest.raises(GradirError) as caught, gradir_errors(Sources({"f.mlir": CONTROL_FLOW})):
        raise error
    line = "      %v = memref.load %m[%i] : memref<16xf64>\n      ^"
    assert str(caught.value) == (
        f"f.mlir:9:7: error: memref.load: no\n{line}\n"
        "f.mlir:8:18: note: here\n"
        "    %s = scf.for %i = %zero to %n step %one iter_args(%acc = %z) -> (f64) {\n"
        f"{'^':>18}\n"
        f"f.mlir:9:7: note: there\n{line}"
    )
    copy = load.clone()
    copy.location = UnknownLoc()
    assert load.parent is not None
    load.parent.insert_op_after(copy, load)
    assert location_of(copy) == ops["scf.for"].location
    assert value_name(load.results[0]) == "%v"
    assert file_location(NameLoc(StringAttr("x"), load.location)) == load.location


def test_translate_leaves_bugs_alone() -> None:
    """Only errors about the program become GradirErrors."""
    assert translate(KeyError("bug")) is None
    assert isinstance(translate(RecursionError()), GradirError)
    with pytest.raises(KeyError), gradir_errors():
        raise KeyError("bug")
    error = ArgumentTypeError("x")
    assert translate(error) is error
    assert isinstance(error, ValueError) and isinstance(error, TypeError)


def test_dominator_tree() -> None:
    """A diamond, a loop and a block that nothing reaches."""
    module = parse_module(
        """func.func @f(%c: i1) {
          cf.cond_br %c, ^a, ^b
        ^a: cf.br ^join
        ^b: cf.br ^join
        ^join: cf.cond_br %c, ^a, ^exit
        ^dead: cf.br ^exit
        ^exit: func.return
        }"""
    )
    function = next(op for op in module.walk() if op.name == "func.func")
    entry, a, b, join, dead, leave = function.regions[0].blocks
    tree = dominator_tree(function.regions[0])
    assert set(tree[entry]) == {a, b, join} and tree[join] == [leave]
    assert tree[a] == tree[b] == tree[leave] == [] and dead not in tree
