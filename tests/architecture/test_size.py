"""How large the house may be, room by room."""

from tests.architecture.size import ROOMS, code_lines, room_of, sizes


def test_no_room_has_more_code_than_it_may() -> None:
    over = {room: lines for room, lines in sizes().items() if lines > ROOMS[room].most}
    assert not over


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    assert code_lines('"""Says."""\n\n# why\ndef one():\n    """One."""\n    return """a\nb"""\n') == 3


def test_the_longest_path_names_the_room() -> None:
    rooms = {"toolset/registry": "toolset", "capabilities/files/commands": "capabilities", "assembly": "assembly"}
    assert {name: room_of(f"agent_core/{name}.py") for name in rooms} == rooms
