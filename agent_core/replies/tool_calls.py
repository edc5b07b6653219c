"""Reads native tool calls. Some models make them although they were asked for JSON."""

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall, Thoughts
from agent_core.model.model_calls import Reply
from agent_core.replies.json_extraction import require_short, strict_object
from agent_core.replies.json_values import require_numbers
from agent_core.replies.turn_tool import bare_name
from agent_core.text.lines import one_line

MAX_NAMED, MAX_NAME_CHARACTERS = 5, 80


def parse_tool_call(reply: Reply) -> tuple[Thoughts, CommandCall]:
    """The reply's only tool call as a command, and its text as thoughts; raise UnusableReply for several calls."""
    names = [one_line(call.name, MAX_NAME_CHARACTERS) or "a tool without a name" for call in reply.tool_calls]
    if len(names) > 1:
        listed = ", ".join(names[:MAX_NAMED])
        raise UnusableReply(f"it called {len(names)} tools at once ({listed}). Choose the one that comes first.")
    (call,) = reply.tool_calls
    require_short(call.arguments)
    arguments = strict_object(call.arguments.strip() or "{}")
    if arguments is None or not call.name:
        raise UnusableReply(f"it called {names[0]} with arguments that are no whole JSON object.")
    require_numbers(arguments)
    return Thoughts(text=reply.answer), CommandCall(bare_name(call.name), arguments)
