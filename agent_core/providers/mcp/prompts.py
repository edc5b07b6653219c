"""The prompts of a tool server: their list and their texts, bounded. Nothing of them is trusted."""

from collections.abc import Sequence

import mcp_types
from mcp import Client

from agent_core.ports.tool_sources import PromptArgument, SourcePrompt

MAX_PROMPTS, MAX_PAGES, MAX_ARGUMENTS = 100, 10, 10
MAX_NAME_CHARACTERS, MAX_DESCRIPTION_CHARACTERS, MAX_TEXT_CHARACTERS = 200, 1_000, 20_000


async def list_prompts(client: Client) -> Sequence[SourcePrompt]:
    """The first MAX_PROMPTS prompts that a form can show; those with long names or many arguments are left out."""
    found: list[SourcePrompt] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_prompts(cursor=cursor)
        found += [_prompt(each) for each in page.prompts if _fits(each)]
        cursor = page.next_cursor
        if not cursor or len(found) >= MAX_PROMPTS:
            break
    return found[:MAX_PROMPTS]


def text_of_prompt(result: mcp_types.GetPromptResult) -> str:
    """The texts of the messages, a blank line between them; pictures and sounds are left out."""
    texts = (each.content.text for each in result.messages if isinstance(each.content, mcp_types.TextContent))
    return "\n\n".join(texts)[:MAX_TEXT_CHARACTERS]


def _fits(prompt: mcp_types.Prompt) -> bool:
    names = [prompt.name, *(each.name for each in prompt.arguments or ())]
    return len(names) <= MAX_ARGUMENTS + 1 and all(0 < len(name) <= MAX_NAME_CHARACTERS for name in names)


def _prompt(prompt: mcp_types.Prompt) -> SourcePrompt:
    return SourcePrompt(
        name=prompt.name,
        title=(prompt.title or "")[:MAX_NAME_CHARACTERS],
        description=(prompt.description or "")[:MAX_DESCRIPTION_CHARACTERS],
        arguments=tuple(
            PromptArgument(
                name=each.name,
                description=(each.description or "")[:MAX_DESCRIPTION_CHARACTERS],
                is_required=bool(each.required),
            )
            for each in prompt.arguments or ()
        ),
    )
