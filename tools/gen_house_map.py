"""Draw the rooms of gradir and who imports whom, from the imports: docs/house.svg.

`make docs` runs this; a test holds the picture to the code. Each folder is a sheet: a room stands
above those that it imports. An arrow that follows from two others is left out, and so are imports
inside of functions, which are how forward and backward ops of one family name each other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "house.svg"
SHEETS = ("gradir", "gradir/frontends", "gradir/codegen", "passes", "dialects")
OPEN_FIRST = {
    "gradir": "compiler/pipeline.py, the list of stages",
    "passes": "differentiate/reverse_mode.py, the walk back",
}
LINKS = ("dialects", "passes", "tools")
# Sizes in pixels: the text is 12 high, and a letter about 7 wide.
BOX_HEIGHT, LETTER, PADDING, GAP, FLOOR = 26, 7, 18, 16, 64

Arrows = Mapping[str, Set[str]]


@dataclass(frozen=True)
class Box:
    """The drawing of a room: its left upper corner and its width."""

    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def python_files(folder: Path) -> list[Path]:
    """The Python files below a folder, without links."""
    return sorted(p for p in folder.rglob("*.py") if p.resolve().is_relative_to(folder.resolve()))


def imported(tree: ast.Module) -> Iterator[str]:
    """The dotted names of a file's imports at load time, and of those for type checkers."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.If | ast.Try):
            pending += [*node.body, *node.orelse]


def room_of(name: str, sheet: str) -> str | None:
    """The room of a dotted name in a sheet: a folder, or a file beside the folders."""
    package = sheet.replace("/", ".") if sheet.startswith("gradir") else f"gradir.{sheet}"
    first, _, rest = name.removeprefix(package).removeprefix(".").partition(".")
    if not name.startswith(f"{package}.") or (sheet == "gradir" and first in LINKS):
        return None
    folder = ROOT / sheet / first
    if folder.is_dir():
        inner = rest.partition(".")[0]
        return f"{first}.{inner}" if (folder / inner / "__init__.py").is_file() and inner else first
    return first if folder.with_suffix(".py").is_file() else None


def arrows_of(sheet: str) -> dict[str, set[str]]:
    """The rooms of a sheet, and the rooms that each imports."""
    arrows: dict[str, set[str]] = {}
    for path in python_files(ROOT / sheet):
        parts = path.relative_to(ROOT).with_suffix("").parts
        own = ".".join(parts if parts[0] == "gradir" else ("gradir", *parts))
        room = room_of(own.removesuffix(".__init__"), sheet)
        if room is None:
            continue
        found = {room_of(name, sheet) for name in imported(ast.parse(path.read_text("utf-8")))}
        arrows.setdefault(room, set()).update(r for r in found if r is not None and r != room)
    return arrows


def reachable(arrows: Arrows, start: str) -> set[str]:
    """The rooms that a room needs, directly or through others."""
    found: set[str] = set()
    pending = [start]
    while pending:
        new = arrows.get(pending.pop(), frozenset[str]()) - found
        found |= new
        pending += new
    return found


def floors_of(arrows: Arrows) -> list[list[str]]:
    """Rooms by height: each above those that it needs; rooms of a circle share a floor."""
    needs = {room: reachable(arrows, room) for room in arrows}
    height: dict[str, int] = {}

    def height_of(room: str) -> int:
        if room not in height:
            below = [r for r in needs[room] if room not in needs[r] and r != room]
            height[room] = 1 + max(map(height_of, below), default=-1)
        return height[room]

    top = max(map(height_of, arrows))
    return [sorted(r for r in arrows if height[r] == level) for level in range(top, -1, -1)]


def without_shortcuts(arrows: Arrows) -> dict[str, set[str]]:
    """The arrows without those that follow from two others."""
    return {
        room: {
            target
            for target in targets
            if not any(target in reachable(arrows, other) for other in targets - {target})
        }
        for room, targets in arrows.items()
    }


def boxes_of(floors: Sequence[Sequence[str]], top: float, width: float) -> dict[str, Box]:
    """The boxes of a sheet, each floor in the middle of the picture."""
    boxes: dict[str, Box] = {}
    for level, rooms in enumerate(floors):
        widths = [len(room) * LETTER + PADDING for room in rooms]
        x = (width - sum(widths) - GAP * (len(rooms) - 1)) / 2
        for room, size in zip(rooms, widths, strict=True):
            boxes[room] = Box(x, top + level * FLOOR, size)
            x += size + GAP
    return boxes


def drawn(sheet: str, arrows: Arrows, boxes: Mapping[str, Box], title_y: float) -> Iterator[str]:
    """The lines of SVG of one sheet."""
    yield f'<text x="16" y="{title_y:.0f}" class="sheet">{escape(sheet)}/</text>'
    if (first := OPEN_FIRST.get(sheet)) is not None:
        yield f'<text x="120" y="{title_y:.0f}">open first: {escape(first)}</text>'
    for room, targets in sorted(without_shortcuts(arrows).items()):
        for target in sorted(targets):
            start, end = boxes[room], boxes[target]
            y1, y2 = start.y + BOX_HEIGHT, end.y
            yield (
                f'<line x1="{start.middle:.0f}" y1="{y1:.0f}" x2="{end.middle:.0f}" y2="{y2:.0f}"/>'
            )
    for room, box in boxes.items():
        yield (
            f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" '
            f'height="{BOX_HEIGHT}" rx="4"/>'
        )
        yield f'<text x="{box.middle:.0f}" y="{box.y + 17:.0f}" class="room">{escape(room)}</text>'


def picture() -> str:
    """The whole picture as SVG: one sheet below the other, used rooms below their users."""
    width, y = 1080.0, 16.0
    lines: list[str] = []
    for sheet in SHEETS:
        arrows = arrows_of(sheet)
        floors = floors_of(arrows)
        lines += drawn(sheet, arrows, boxes_of(floors, y + 24, width), y + 12)
        y += 24 + len(floors) * FLOOR
    style = (
        "text{font:12px monospace;fill:#222} .sheet{font-weight:bold;font-size:14px} "
        ".room{text-anchor:middle} rect{fill:#eef3fa;stroke:#4a6fa5} line{stroke:#9aa7b8}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {y:.0f}">'
    background = '<path d="M0 0H1080V10000H0z" fill="#fff"/>'
    return "\n".join([head, f"<style>{style}</style>", background, *lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
