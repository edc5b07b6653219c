"""The prompts of a tool server: their list and their texts, bounded. Nothing of them is trusted."""

from collections.abc import Sequence

import mcp_types
from mcp import Client

from agent_core.ports.tool_sources import PromptArgument, SourcePrompt

MAX_PROMPTS, MAX_PAGES, MAX_ARGUMENTS = 100, 10, 10
MAX_NAME_CHARACTERS, MAX_DESCRIPTION_CHARACTERS, MAX_TEXT_CHARACTERS = 200, 1_000, 20_000


async def list_prompts(client: Client) -> Sequence[SourcePrompt]:
    """The first MAX_PROMPTS prompts. One that no form can show has a fault; of two with one name the first stays."""
    found: dict[str, SourcePrompt] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_prompts(cursor=cursor)
        for each in map(_prompt, page.prompts):
            found.setdefault(each.name, each)
        cursor = page.next_cursor
        if not cursor or len(found) >= MAX_PROMPTS:
            break
    return [*found.values()][:MAX_PROMPTS]


def text_of_prompt(result: mcp_types.GetPromptResult) -> str:
    """The texts of the messages, a blank line between them; pictures and sounds are left out."""
    texts = (each.content.text for each in result.messages if isinstance(each.content, mcp_types.TextContent))
    return "\n\n".join(texts)[:MAX_TEXT_CHARACTERS]


def _fault(prompt: mcp_types.Prompt) -> str:
    names = [each.name for each in prompt.arguments or ()]
    if not prompt.name.strip():
        return "has no name"
    if len(prompt.name) > MAX_NAME_CHARACTERS:
        return f"has a name of {len(prompt.name):,} characters, and {MAX_NAME_CHARACTERS} are the most"
    if len(names) > MAX_ARGUMENTS:
        return f"asks for {len(names):,} arguments, and {MAX_ARGUMENTS} are the most"
    if len({*names}) < len(names) or not all(0 < len(name) <= MAX_NAME_CHARACTERS for name in names):
        return f"has arguments without a name of their own of at most {MAX_NAME_CHARACTERS} characters"
    return ""


def _prompt(prompt: mcp_types.Prompt) -> SourcePrompt:
    fault = _fault(prompt)
    return SourcePrompt(
        name=_cut(prompt.name),
        title=_cut(prompt.title or ""),
        description=(prompt.description or "")[:MAX_DESCRIPTION_CHARACTERS],
        arguments=() if fault else tuple(map(_argument, prompt.arguments or ())),
        fault=fault,
    )


def _argument(argument: mcp_types.PromptArgument) -> PromptArgument:
    return PromptArgument(
        name=argument.name,
        description=(argument.description or "")[:MAX_DESCRIPTION_CHARACTERS],
        is_required=bool(argument.required),
    )


def _cut(name: str) -> str:
    """The name, with a mark that no whole name has if it is cut."""
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:MAX_NAME_CHARACTERS]}…"
