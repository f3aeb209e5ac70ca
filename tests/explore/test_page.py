"""Pages of gradir.explore: what they hold, that nothing in them is read as HTML, and their size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explore.programs import (
    DEEP_SPECS,
    HOSTILE,
    LAYER,
    deep,
    facts_of,
    outside_addresses,
    read_page,
    stage_text,
    values_named,
)

import gradir
import gradir.numpy as gnp
from gradir.compiler.pipeline import STAGES
from gradir.errors import ArgumentError, ArgumentTypeError, PassError
from gradir.explore import facts as facts_file
from gradir.explore.page import ExplorerPage
from gradir.frontends.training.history import History, Table


@pytest.fixture(scope="module")
def gradient() -> gradir.Module:
    return gradir.parse(LAYER, "layer.mlir").gradient("layer", wrt=[1], mode="grad")


@pytest.fixture(scope="module")
def facts(gradient: gradir.Module) -> Any:
    return facts_of(gradient.explore("layer_grad"))


def test_every_stage_is_there_in_order(facts: Any) -> None:
    names = [name for name, _, _ in facts["stages"]]
    first = ["program", "gradient of @layer", "the function alone"]
    assert names == [*first, *(stage.name for stage in STAGES)]
    changes = [text for _, text, changed in facts["stages"] if changed]
    assert changes == list(range(len(facts["texts"])))


def test_texts_are_the_stages_own(facts: Any, gradient: gradir.Module) -> None:
    assert stage_text(facts, "program") == str(gradir.parse(LAYER)).rstrip("\n")
    assert stage_text(facts, "gradient of @layer") == str(gradient).rstrip("\n")
    alone = gradir.parse(stage_text(facts, "the function alone"))
    for name in ("gradir-decompose", "gradir-lower", "gradir-fuse", "gradir-bufferize"):
        wanted = str(alone.run_passes(f"gradir-stages{{until={name}}}"))
        assert stage_text(facts, name) == wanted.rstrip("\n"), name


def test_each_printed_value_has_a_token(facts: Any) -> None:
    for text in facts["texts"]:
        tokens = [text["tokens"][k : k + 4] for k in range(0, len(text["tokens"]), 4)]
        printed = sum(len(re.findall(r"%\w", line)) for line in text["lines"])
        assert len(tokens) == printed > 0
        for line, column, length, _ in tokens:
            assert re.fullmatch(r"%\w+", text["lines"][line][column : column + length])


def test_links_resolve(facts: Any) -> None:
    """Each link goes to a value that the next text shows, and %w is followed to the end."""
    counts = [1 + max(text["tokens"][3::4]) for text in facts["texts"]]
    assert len(facts["links"]) == len(counts) - 1
    for k, links in enumerate(facts["links"]):
        assert len(links) == counts[k]
        assert all(0 <= target < counts[k + 1] for each in links for target in each)
    found = values_named(facts, 2, "w")
    for k in range(2, len(facts["links"])):
        found = {target for value in found for target in facts["links"][k][value]}
    assert found == values_named(facts, len(counts) - 1, "w")


def test_a_fused_value_is_found_in_the_body(facts: Any) -> None:
    """%y is the tanh in a body then, or still the result of a nest."""
    names = {name: text for name, text, changed in facts["stages"] if changed}
    text = names["gradir-decompose"] if "gradir-decompose" in names else 2
    value = values_named(facts, text, "y").pop()
    found = {value}
    for k in range(text, names["gradir-fuse"]):
        found = {target for each in found for target in facts["links"][k][each]}
    assert found
    of = facts["texts"][names["gradir-fuse"]]
    lines = {
        of["lines"][t[0]]
        for k in range(0, len(of["tokens"]), 4)
        if (t := of["tokens"][k : k + 4])[3] in found
    }
    assert any("tanh" in line or "%y" in line for line in lines)


def test_source_lines_are_those_of_the_program(facts: Any) -> None:
    [file] = facts["files"]
    assert file["name"] == "layer.mlir"
    lines = LAYER.split("\n")
    assert [[n, lines[n - 1]] for n, _ in file["lines"]] == file["lines"]
    rows = [row for row in facts["texts"][0]["sources"] if row[1:] == [0, 3]]
    assert rows and "tanh" in facts["texts"][0]["lines"][rows[0][0]]


def test_memory_and_kernels_are_the_compiled_ones(facts: Any, gradient: gradir.Module) -> None:
    fn = gradir.compile(gradient, "layer_grad", wait=True)
    plan = facts["memory"]["plan"]
    assert plan["peak"] == fn.plan.peak_bytes and len(plan["buffers"]) == len(fn.plan.buffers)
    assert len(facts["memory"]["points"]) >= plan["steps"]
    planned = facts["texts"][facts["memory"]["text"]]
    assert all("alloc" not in planned["lines"][p] or p >= 0 for p in facts["memory"]["points"])
    values = [buffer[6] for buffer in plan["buffers"]]
    assert all(value in planned["tokens"][3::4] for value in values)
    assert [k["name"] for k in facts["kernels"]] == [k.name for k in fn.program.kernels]
    for kernel in facts["kernels"]:
        assert "\n".join(kernel["asm"]["lines"]) == fn.kernel_asm(kernel["name"])
        assert f"@{kernel['name']}" in kernel["llvm"]["lines"][0]
        assert 'target-features"="+' not in kernel["llvm"]["lines"][0]


def test_plans_within_limits() -> None:
    module = gradir.trace(deep, *DEEP_SPECS).gradient("deep", wrt=[0], mode="grad")
    memory = facts_of(module.explore("deep_grad"))["memory"]
    limits = [plan["limit"] for plan in memory["limited"]]
    assert len(limits) >= 2 and limits == sorted(set(limits), reverse=True)
    assert any(b[5] == "recomputed" for b in memory["limited"][-1]["buffers"])
    for plan in memory["limited"]:
        again = gradir.compile(module_within(plan["limit"]), "deep_grad")
        assert again.plan.peak_bytes == plan["peak"] <= plan["limit"]
    assert memory["end"].endswith(f"minimum is {limits[-1]} bytes")
    with pytest.raises(PassError):
        module_within(limits[-1] - 1)


def module_within(limit: int) -> gradir.Module:
    traced = gradir.trace(deep, *DEEP_SPECS)
    return traced.gradient("deep", wrt=[0], mode="grad", memory_limit=limit)


def test_jitted_functions() -> None:
    arrays = [np.ones(spec.shape, np.float32) / 64 for spec in DEEP_SPECS]
    function = gradir.jit(gradir.value_and_grad(deep))
    page = function.explore(*arrays)
    facts = facts_of(page)
    assert facts["function"] == "value_and_grad_deep"
    assert facts["files"][0]["name"] == __file__.replace("test_page", "programs")
    assert len(facts["memory"]["limited"]) >= 2
    assert facts["profile"]["function"] == "value_and_grad_deep"
    without = facts_of(gradir.jit(deep).explore(*DEEP_SPECS))
    assert without["profile"] is None and without["memory"]["limited"] == []


OPEN = gradir.parse(
    "func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {\n"
    "  %y = array.tanh %x : tensor<?xf64>\n  func.return %y : tensor<?xf64>\n}"
)


def test_dynamic_shapes() -> None:
    page = gradir.compile(OPEN, "f").explore(np.ones(5))
    assert "tensor<5xf64>" in stage_text(facts_of(page), "shapes of the arguments")
    with pytest.raises(ArgumentTypeError, match="expected 1 arguments"):
        OPEN.explore("f")
    named = gradir.jit(lambda x: gnp.sum(x * x), shapes=("n",))
    assert "tensor<7xf64>" in stage_text(facts_of(named.explore(np.ones(7))), "cse")


def test_profiles_need_arrays(gradient: gradir.Module) -> None:
    arrays = np.ones((8, 3), np.float32), np.ones((3, 2), np.float32)
    page = gradir.compile(gradient, "layer_grad").explore(*arrays)
    said = facts_of(page)["profile"]
    assert said["limits"]["bytes_per_second"] > 0 and said["parts"]
    assert page.exploration.profile is not None
    assert page.exploration.profile._repr_html_().startswith("<svg")


def test_hostile_names_and_strings_are_text() -> None:
    module = gradir.parse(HOSTILE, "<b onclick=alert(3)>.mlir")
    page = module.explore()
    kinds, facts = read_page(page.html)
    assert (kinds.count("script"), kinds.count("b"), kinds.count("img")) == (5, 1, 0)
    assert facts["function"] == module.functions[0]
    assert any("<script>alert(2)" in line for line in facts["texts"][0]["lines"])
    assert outside_addresses(page.html) == []
    assert "default-src 'none'" in page.html
    cell = module._repr_html_()
    assert "<img" not in cell and "<script" not in cell and "&lt;script&gt;" in cell
    frame = page._repr_html_()
    assert frame.count("<") == 2 and 'sandbox="allow-scripts"' in frame


def test_huge_modules_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page stays below its bound whatever the program is, and says how much is left out."""
    lines = ["  %y0 = array.tanh %x : tensor<4xf64>"]
    lines += [f"  %y{k} = array.tanh %y{k - 1} : tensor<4xf64>" for k in range(1, 600)]
    text = "\n".join([
        "func.func @long(%x: tensor<4xf64>) -> tensor<4xf64> {", *lines,
        "  func.return %y599 : tensor<4xf64>", "}",
    ])  # fmt: skip
    module = gradir.parse(text)
    whole = module.explore()
    monkeypatch.setattr(facts_file, "MOST_BYTES", 60_000)
    page = ExplorerPage(whole.exploration, module._sources)
    facts = facts_of(page)
    assert len(json.dumps(facts, separators=(",", ":"))) <= 60_000 < len(whole.html)
    first = facts["texts"][0]
    shown, (at, left_out) = first["lines"], first["fold"]
    assert len(shown) + left_out == len(str(module).rstrip("\n").split("\n"))
    assert 0 < at < len(shown)
    for k, links in enumerate(facts["links"]):
        most = max(facts["texts"][k + 1]["tokens"][3::4])
        assert all(target <= most for each in links for target in each)


def test_long_lines_are_cut() -> None:
    constant = ", ".join(str(float(k)) for k in range(1000))
    module = gradir.parse(
        "func.func @f(%x: tensor<1000xf64>) -> tensor<1000xf64> {\n"
        f"  %c = arith.constant dense<[{constant}]> : tensor<1000xf64>\n"
        "  %y = array.add %x, %c : tensor<1000xf64>\n  func.return %y : tensor<1000xf64>\n}"
    )
    line = next(t for t in facts_of(module.explore())["texts"][0]["lines"] if "dense" in t)
    assert len(line) < 1100 and line.endswith("more characters)")


def test_choosing_a_function(gradient: gradir.Module) -> None:
    with pytest.raises(ArgumentError, match="which one to explore"):
        gradient.explore()
    with pytest.raises(ArgumentError, match="no function @other"):
        gradient.explore("other")


def test_saving(tmp_path: Path, gradient: gradir.Module) -> None:
    page = gradient.explore("layer_grad")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page.html
    assert repr(page).startswith("<gradir page on @layer_grad, ")
    with pytest.raises(ArgumentError, match="cannot write"):
        page.save(tmp_path / "no" / "page.html")


def test_what_notebooks_show(gradient: gradir.Module) -> None:
    fn = gradir.compile(gradient, "layer_grad")
    assert fn.plan._repr_html_() == fn.plan.svg()
    assert (
        repr(fn.plan)
        == f"<gradir memory plan: {len(fn.plan.buffers)} buffers, {fn.plan.peak_bytes} bytes>"
    )
    assert "layer_grad(%x" in fn._repr_html_() and "<svg" in fn._repr_html_()
    assert "array.tanh %z" in gradient._repr_html_()
    several = gradir.compile(OPEN, "f")
    assert "<svg" not in several._repr_html_()
    several(np.ones(3))
    assert "<svg" in several._repr_html_()
    history = History(Table({"epoch": [1, 2], "loss": [2.0, 1.0]}), Table())
    assert history._repr_html_().startswith("<svg") and ">loss<" in history._repr_html_()
    for picture in (fn._repr_html_(), fn.plan._repr_html_()):
        assert "<style" not in picture  # it would be the notebook's, too
