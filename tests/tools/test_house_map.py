"""The picture of the house is what the imports say."""

from gradir.tools.gen_house_map import (
    OPEN_FIRST,
    PICTURE,
    ROOT,
    SHEETS,
    arrows_of,
    floors_of,
    picture,
    room_of,
)


def test_the_picture_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run `make docs`"


def test_the_files_to_open_first_are_there() -> None:
    for sheet, first in OPEN_FIRST.items():
        assert (ROOT / sheet / first.partition(",")[0]).is_file(), first


def test_rooms_stand_above_what_they_import() -> None:
    for sheet in SHEETS:
        arrows = arrows_of(sheet)
        level = {room: k for k, rooms in enumerate(floors_of(arrows)) for room in rooms}
        assert level.keys() == arrows.keys()
        assert all(level[room] < level[other] for room in arrows for other in arrows[room]), sheet


def test_names_are_in_rooms() -> None:
    assert room_of("gradir.passes.rules.loops.body.Body", "passes") == "rules.loops"
    assert room_of("gradir.passes.rules.calls.CallRule", "passes") == "rules"
    assert room_of("gradir.codegen.costs", "gradir/codegen") == "costs"
    assert room_of("gradir.dialects.array", "gradir") is None
    assert room_of("numpy.linalg", "gradir") is None
