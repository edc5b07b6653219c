"""Reads what a server asks a model for (`sampling/createMessage`), and writes the answer. Budgets are not here."""

from collections.abc import Sequence

import mcp_types
from mcp.client.context import ClientRequestContext
from mcp.client.session import SamplingFnT

from agent_core.errors import CommandError
from agent_core.model.messages import Message
from agent_core.providers.mcp.sampling_turns import SamplingTurns

MAX_MESSAGES, MAX_CHARACTERS = 20, 40_000
MODEL = "the model of the agent"
REFUSED = -1  # the code that the protocol gives for what people refuse


def sampling_callback(turns: SamplingTurns) -> SamplingFnT:
    """What the SDK calls when the server asks for a completion."""

    async def answer(
        context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        try:
            text = await turns.ask(_messages(params), max(1, params.max_tokens))
        except CommandError as refused:
            return mcp_types.ErrorData(code=REFUSED, message=str(refused))
        content = mcp_types.TextContent(type="text", text=text)
        return mcp_types.CreateMessageResult(role="assistant", content=content, model=MODEL, stop_reason="endTurn")

    return answer


def _messages(asked: mcp_types.CreateMessageRequestParams) -> Sequence[Message]:
    """The messages, of texts alone; raise CommandError for others, and for too many or too long ones."""
    if asked.tools:
        raise CommandError("The model is given no tools.")
    if not asked.messages or len(asked.messages) > MAX_MESSAGES:
        raise CommandError(f"Send 1 to {MAX_MESSAGES} messages.")
    found = [Message("system", asked.system_prompt)] if asked.system_prompt else []
    for each in asked.messages:
        texts = [part.text for part in each.content_as_list if isinstance(part, mcp_types.TextContent)]
        if len(texts) < len(each.content_as_list):
            raise CommandError("The model is given texts only.")
        found.append(Message("assistant" if each.role == "assistant" else "user", "\n".join(texts)))
    if sum(len(each.content) for each in found) > MAX_CHARACTERS:
        raise CommandError(f"Send at most {MAX_CHARACTERS:,} characters.")
    return found
