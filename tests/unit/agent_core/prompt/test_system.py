"""What the model reads and how its answers are read."""

from dataclasses import replace

import pytest

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall
from agent_core.toolset.arguments import fit_arguments
from agent_core.toolset.registry import Commands

COMMANDS = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS)


@pytest.mark.parametrize(
    ("given_call", "meant"),
    [
        (CommandCall("create_file", {"file": "a", "content": "b"}), {"filename": "a", "text": "b"}),
        (CommandCall("append_file", {"filename": "a", "text": "b"}), {"filename": "a", "text": "b"}),
        (CommandCall("Write to file", {"File Name": "a", "Text": "b"}), {"filename": "a", "text": "b"}),
        (CommandCall("read-file", {"file_path": "a", "start": "12"}), {"filename": "a", "start": 12}),
        (CommandCall("read_file", {"file": "a", "start": None}), {"filename": "a"}),
        (CommandCall("delete_file", {"file": "a", "filename": "a"}), {"filename": "a"}),
        (CommandCall("search_files", {"path": "a"}), {"directory": "a"}),
        (CommandCall("list_files", {}), {}),
        (CommandCall("shutdown", {"summary": "Done."}), {"reason": "Done."}),
    ],
)
def test_other_names_for_a_command_and_its_arguments_are_understood(
    given_call: CommandCall, meant: dict[str, str]
) -> None:
    assert COMMANDS.checked(given_call).arguments == meant


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (CommandCall("fly", {}), "there is no command 'fly'. Commands are: write_to_file"),
        (CommandCall("writ_to_fil", {}), "'writ_to_fil'. Did you mean write_to_file. Commands are: write_to_file"),
        (CommandCall("delete_files", {}), "Did you mean delete_file"),
        (CommandCall("read_file", {}), "'filename' is a required property"),
        (CommandCall("read_file", {"filename": "a", "x": 1}), "'x' was unexpected"),
        (CommandCall("read_file", {"filename": 7}), "filename: 7 is not of type 'string'"),
        (CommandCall("read_file", {"filename": None}), "filename: None is not of type 'string'"),
        (CommandCall("read_file", {"filename": "a", "start": "12b"}), "start: '12b' is not of type 'integer'"),
        (CommandCall("read_file", {"filename": "a", "x": None}), "'x' was unexpected"),
        (CommandCall("read_file", {}), "Its arguments are: filename, start .may be left out.."),
        (CommandCall("do_nothing", {"x": 1}), "It takes no arguments."),
        (CommandCall("read_file", {"file": "a", "path": "b"}), '"filename" was given under two names'),
        (CommandCall("read_file", {"filename": "x" * 9000}), "^.{300,500}$"),
    ],
)
def test_a_call_that_cannot_run_is_told_which_and_what_is_allowed(call: CommandCall, fault: str) -> None:
    with pytest.raises(UnusableReply, match=fault):
        COMMANDS.checked(call)


@pytest.mark.parametrize(
    ("kind", "given_text", "meant"),
    [
        ({"type": "integer"}, " 7 ", 7),
        ({"type": "integer"}, "7.0", "7.0"),
        ({"type": "integer"}, "9" * 30, "9" * 30),
        ({"type": "number"}, "-7.5e2", -750.0),
        ({"type": "number"}, "1e999", "1e999"),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "yes", "yes"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"type": ["integer", "string"]}, "7", "7"),
        ({"enum": ["7"]}, "7", "7"),
        ({"type": "array"}, ' ["a", 1]', ["a", 1]),
        ({"type": "array"}, "[]", []),
        ({"type": "object"}, '{"a": [true]}', {"a": [True]}),
        ({"type": "object"}, '["a"]', '["a"]'),
        ({"type": "array"}, "['a']", "['a']"),
        ({"type": "array"}, '[1], "y": [2]', '[1], "y": [2]'),
        ({"type": ["array", "string"]}, "[1]", "[1]"),
    ],
)
def test_a_number_truth_value_list_or_object_in_quotes_is_one_where_nothing_else_may_be_meant(
    kind: dict[str, object], given_text: str, meant: object
) -> None:
    spec = replace(FILE_COMMANDS[0].spec, parameters={"type": "object", "properties": {"x": kind}})
    fitting = fit_arguments(spec, {"x": given_text})["x"]
    assert (type(fitting), fitting) == (type(meant), meant)
