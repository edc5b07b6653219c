"""Calls the hooks of AutoGPT's plugins around thoughts and runs, as AutoGPT 0.3.1 unless that breaks an approval.

pre_command and the hooks of instructions run before the card is shown, so that people approve what they made of it.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.model.command import CommandCall, Failed, Result, Succeeded, Thoughts
from agent_core.model.model_calls import Message
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.toolset.registry import CommandContext

MAX_ADDED_CHARACTERS, MAX_CHANGED_CHARACTERS = 4_000, 150_000
TEXTS = ("text", "reasoning", "plan", "criticism", "speak")
INSTRUCTIONS = {"start_agent": "prompt", "message_agent": "message"}  # the argument that holds what the helper is told
MAX_REPLY_TOKENS, MAX_MESSAGES = 4_000, 100

RunCall = Callable[[CommandCall, CommandContext], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class AutoGptThoughts:
    """Implements `ThoughtHooks`, and is a hook around runs. `keys`: what plugins are not told."""

    plugins: Sequence[AutoGptPlugin]
    keys: Secrets = NO_SECRETS

    async def before_thinking(self, messages: Sequence[Message], context: CommandContext) -> tuple[str, ...]:
        told, texts = [_as_dict(each) for each in messages], []
        for plugin in self._with("on_planning"):
            text = await plugin.hook("on_planning", [told], context)
            if isinstance(text, str) and text.strip():
                texts.append(text[:MAX_ADDED_CHARACTERS])
        return tuple(texts)

    async def answer(self, messages: Sequence[Message], context: CommandContext) -> str | None:
        model = {"model": context.agent.model, "temperature": 0.0, "max_tokens": MAX_REPLY_TOKENS}
        given = {"messages": [_as_dict(each) for each in messages], **model}
        for plugin in self._with("chat_completion"):
            if isinstance(text := await plugin.hook("chat_completion", [given], context), str):
                return text
        return None

    async def after_reply(self, reply: str, context: CommandContext) -> str:
        return await self._chain("on_response", reply, lambda text: [text], context)

    async def after_parsing(
        self, thoughts: Thoughts, call: CommandCall, context: CommandContext
    ) -> tuple[Thoughts, CommandCall]:
        for plugin in self._with("post_planning"):
            told = {name: getattr(thoughts, name) for name in TEXTS}
            reply = {"thoughts": told, "command": {"name": call.name, "args": dict(call.arguments)}}
            thoughts, call = _planned(await plugin.hook("post_planning", [reply], context), thoughts, call)
        return thoughts, call

    async def before_card(self, call: CommandCall, context: CommandContext) -> CommandCall:
        for plugin in self._with("pre_command"):
            made = await plugin.hook("pre_command", [call.name, dict(call.arguments)], context)
            call = _called(made) or call
        return await self._instruct(call, context)

    async def around_run(self, call: CommandCall, context: CommandContext, following: RunCall) -> Result:
        """Run the command, and give plugins its result. A hook of `CommandRunner`; the call stays as it is."""
        line = f"COMMAND = {call.name}  ARGUMENTS = {json.dumps(dict(call.arguments), ensure_ascii=False)}"
        await self._report(f"NEXT ACTION: {line}", context)
        result = await following(call, context)
        if self.had_folder(context) and not context.agent.folder_tainted:
            result = replace(result, outside=True)  # what it read may be a file of a plugin
        if isinstance(result, Succeeded | Failed):
            result = await self._after_run(call, result, context)
            await self._report(f"SYSTEM: {_text_of(result)}", context)
        return result

    def had_folder(self, context: CommandContext) -> bool:
        return any(each.pool.had_folder(context.agent) for each in self.plugins)

    async def _after_run(self, call: CommandCall, result: Succeeded | Failed, context: CommandContext) -> Result:
        text = before = self.keys.redact(_returned(call.name, result))
        if call.name in INSTRUCTIONS:
            text = await self._chain("post_instruction", text, lambda told: [told], context)
        text = await self._chain("post_command", text, lambda told: [call.name, told], context)
        if text == before:
            return result
        changed = replace(result, outside=True)
        return replace(changed, output=text) if isinstance(changed, Succeeded) else replace(changed, error=text)

    async def _instruct(self, call: CommandCall, context: CommandContext) -> CommandCall:
        """The call with what plugins add to the instruction of a helper."""
        argument = INSTRUCTIONS.get(call.name, "")
        told = call.arguments.get(argument, "")
        if not argument or not isinstance(told, str):
            return call
        added = [text for plugin in self.plugins for text in [*await _instructions(plugin, told, context)]]
        if not added:
            return call
        return CommandCall(call.name, {**call.arguments, argument: "\n".join(filter(None, (told, *added)))})

    async def _chain(
        self, hook: str, text: str, given: Callable[[str], Sequence[object]], context: CommandContext
    ) -> str:
        """The text after each plugin's hook in turn."""
        for plugin in self._with(hook):
            made = await plugin.hook(hook, given(text), context)
            if isinstance(made, str) and len(made) <= MAX_CHANGED_CHARACTERS:
                text = made
        return text

    async def _report(self, line: str, context: CommandContext) -> None:
        for plugin in self._with("report"):
            await plugin.hook("report", [self.keys.redact(line)], context)

    def _with(self, hook: str) -> Iterator[AutoGptPlugin]:
        return (each for each in self.plugins if each.has(hook))


async def _instructions(plugin: AutoGptPlugin, told: str, context: CommandContext) -> list[str]:
    """What one plugin adds: the messages that pre_instruction appends, and the text of on_instruction."""
    messages: list[dict[str, str]] = [{"role": "user", "content": told}]
    texts = []
    if plugin.has("pre_instruction"):
        made = await plugin.hook("pre_instruction", [messages], context)
        every = made[:MAX_MESSAGES] if isinstance(made, list) else []
        texts = [each["content"] for each in every if each not in messages and _is_message(each)]
    if plugin.has("on_instruction"):
        text = await plugin.hook("on_instruction", [messages], context)
        texts += [text] if isinstance(text, str) else []
    return [text[:MAX_ADDED_CHARACTERS] for text in texts if text.strip()]


def _as_dict(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


def _is_message(given: object) -> bool:
    return isinstance(given, Mapping) and isinstance(given.get("content"), str)


def _called(made: object) -> CommandCall | None:
    """What a plugin's pre_command gave, if it is a name with arguments."""
    match made:
        case [str(name), dict(arguments)] if _is_short(arguments):
            return CommandCall(name, arguments)
        case _:
            return None


def _is_short(arguments: object) -> bool:
    return len(json.dumps(arguments)) <= MAX_CHANGED_CHARACTERS


def _planned(made: Any, thoughts: Thoughts, call: CommandCall) -> tuple[Thoughts, CommandCall]:
    """What a plugin's post_planning made of a reply, as far as it can be read; it may be JSON, as the template says."""
    if isinstance(made, str):
        try:
            made = from_json(made[: MAX_CHANGED_CHARACTERS + 1].encode("utf-8", "replace"))
        except ValueError:
            return thoughts, call
    match made:
        case {"command": {"name": str(name), "args": dict(arguments)}} if _is_short(made):
            told = made.get("thoughts")
            texts = {each: told[each] for each in TEXTS if isinstance(told, dict) and isinstance(told.get(each), str)}
            return replace(thoughts, **texts), CommandCall(name, arguments)
        case _:
            return thoughts, call


def _text_of(result: Result) -> str:
    return result.output if isinstance(result, Succeeded) else getattr(result, "error", "")


def _returned(name: str, result: Succeeded | Failed) -> str:
    return f"Command {name} returned: {_text_of(result)}"
