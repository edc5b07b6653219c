"""Converts what a tool server sends from the SDK's types, within limits: tools, resources, results, prompts."""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import mcp_types
from mcp import Client

from agent_core.ports.tool_servers import (
    AnswerFile,
    PromptArgument,
    ServerAnswer,
    ServerResource,
    ServerTool,
    SourcePrompt,
)

MAX_ANSWER_CHARACTERS = 150_000
MAX_PIECES = 20_000  # of structured content: a bracket, or a value with what is before it
MAX_NAME_CHARACTERS = 1_000
MAX_DESCRIPTION_CHARACTERS = 10_000


def tool_of(tool: mcp_types.Tool) -> ServerTool:
    """The tool with texts of bounded length."""
    hints = tool.annotations or mcp_types.ToolAnnotations()
    return ServerTool(
        name=tool.name[:MAX_NAME_CHARACTERS],
        title=(tool.title or hints.title or "")[:MAX_NAME_CHARACTERS],
        description=(tool.description or "")[:MAX_DESCRIPTION_CHARACTERS],
        schema=tool.input_schema,
        read_only=hints.read_only_hint,
        destructive=hints.destructive_hint,
    )


def resource_of(resource: mcp_types.Resource) -> ServerResource:
    """The resource with texts of bounded length."""
    return ServerResource(
        uri=str(resource.uri)[:MAX_NAME_CHARACTERS],
        name=(resource.title or resource.name)[:MAX_NAME_CHARACTERS],
        description=(resource.description or "")[:MAX_NAME_CHARACTERS],
        media_type=(resource.mime_type or "")[:MAX_NAME_CHARACTERS],
    )


def answer_of(result: mcp_types.CallToolResult) -> ServerAnswer:
    """The answer of a tool. What is sent both as text and as structured content is shown once."""
    texts = [*_texts(result.content)]
    if result.structured_content is not None and not _is_told(result.structured_content, texts):
        texts.append(written(result.structured_content))
    return _answer(texts, _attachments(result.content), is_error=bool(result.is_error))


def contents_of(result: mcp_types.ReadResourceResult) -> ServerAnswer:
    """The contents of a resource."""
    blocks = [mcp_types.EmbeddedResource(type="resource", resource=each) for each in result.contents]
    return _answer([*_texts(blocks)], _attachments(blocks))


def _answer(texts: Sequence[str], attachments: Iterable[AnswerFile], *, is_error: bool = False) -> ServerAnswer:
    text = "\n\n".join(texts)
    lost = len(text) - MAX_ANSWER_CHARACTERS
    shown = f"{text[:MAX_ANSWER_CHARACTERS]}\n({lost:,} more characters are left out.)" if lost > 0 else text
    return ServerAnswer(text=shown, attachments=tuple(attachments), is_error=is_error)


def written(structured: object) -> str:
    """The beginning of the content as JSON."""
    pieces = json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(structured)
    text = "".join(islice(pieces, MAX_PIECES))
    return f"{text}\n(The rest is left out.)" if next(pieces, "") else text


def _is_told(structured: object, texts: Sequence[str]) -> bool:
    """Whether the texts say the same as the structured content, or as its only value."""
    if texts and isinstance(structured, dict) and len(structured) == 1:
        (result,) = structured.values()
        values = _listed(result)
        if len(values) == len(texts) and all(map(_says, texts, values)):
            return True
        if "\n\n".join(texts) == result or (len(texts) == 1 and texts[0] == json.dumps(result)):
            return True
    return any(_parsed(text) == structured for text in texts)


def _says(text: str, value: object) -> bool:
    return text == (value if isinstance(value, str) else json.dumps(value))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _texts(blocks: Iterable[mcp_types.ContentBlock]) -> Iterator[str]:
    for block in blocks:
        match block:
            case mcp_types.TextContent(text=text):
                yield text
            case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents(text=text)):
                yield text
            case mcp_types.ResourceLink(uri=uri, name=name):
                yield f"A resource: {name} ({uri})"
            case _:
                continue


def _attachments(blocks: Iterable[mcp_types.ContentBlock]) -> Iterator[AnswerFile]:
    for block in blocks:
        match block:
            case mcp_types.ImageContent(data=data, mime_type=kind) | mcp_types.AudioContent(data=data, mime_type=kind):
                yield AnswerFile(media_type=kind[:MAX_NAME_CHARACTERS], data=_decoded(data))
            case mcp_types.EmbeddedResource(resource=mcp_types.BlobResourceContents(blob=data, mime_type=kind)):
                yield AnswerFile(media_type=(kind or "")[:MAX_NAME_CHARACTERS], data=_decoded(data))
            case _:
                continue


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return b""


MAX_PROMPTS, MAX_PAGES, MAX_ARGUMENTS = 100, 10, 10
MAX_PROMPT_NAME_CHARACTERS, MAX_PROMPT_DESCRIPTION_CHARACTERS, MAX_TEXT_CHARACTERS = 200, 1_000, 20_000


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
    if len(prompt.name) > MAX_PROMPT_NAME_CHARACTERS:
        return f"has a name of {len(prompt.name):,} characters, and {MAX_PROMPT_NAME_CHARACTERS} are the most"
    if len(names) > MAX_ARGUMENTS:
        return f"asks for {len(names):,} arguments, and {MAX_ARGUMENTS} are the most"
    if len({*names}) < len(names) or not all(0 < len(name) <= MAX_PROMPT_NAME_CHARACTERS for name in names):
        return f"has arguments without a name of their own of at most {MAX_PROMPT_NAME_CHARACTERS} characters"
    return ""


def _prompt(prompt: mcp_types.Prompt) -> SourcePrompt:
    fault = _fault(prompt)
    return SourcePrompt(
        name=_cut(prompt.name),
        title=_cut(prompt.title or ""),
        description=(prompt.description or "")[:MAX_PROMPT_DESCRIPTION_CHARACTERS],
        arguments=() if fault else tuple(map(_argument, prompt.arguments or ())),
        fault=fault,
    )


def _argument(argument: mcp_types.PromptArgument) -> PromptArgument:
    return PromptArgument(
        name=argument.name,
        description=(argument.description or "")[:MAX_PROMPT_DESCRIPTION_CHARACTERS],
        is_required=bool(argument.required),
    )


def _cut(name: str) -> str:
    """The name, with a mark that no whole name has if it is cut."""
    return name if len(name) <= MAX_PROMPT_NAME_CHARACTERS else f"{name[:MAX_PROMPT_NAME_CHARACTERS]}…"
