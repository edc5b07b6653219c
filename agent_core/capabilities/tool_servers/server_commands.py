"""Makes commands of a server's tools and resources: adapts schemas and names, runs calls, previews with warnings."""

import asyncio
import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from agent_core.capabilities.tool_servers.attachments import keep_attachments
from agent_core.capabilities.tool_servers.attended_questions import CallQuestions
from agent_core.errors import CommandError
from agent_core.model.command import Arguments, CommandSpec, Preview, RiskClass, replace_lone_surrogates
from agent_core.plugins.declaring import MAX_COMMANDS, taken_commands
from agent_core.plugins.loaded import LoadedPlugin, one_line, title_of
from agent_core.plugins.plugin import Plugin
from agent_core.plugins.schemas import ARGUMENT_NAME, own_schema
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.tool_servers import ServerAnswer, ServerTool, ToolServer
from agent_core.text.lines import counted
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, NoArguments, declare

OBJECT = "arguments"  # the one argument of a tool whose arguments cannot be declared one by one
# What may take for ever, and is checked by the server.
UNCHECKED = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "uniqueItems")
NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
MOST_NAMES, MAX_ARGUMENT_NAME_CHARACTERS = 12, 80
MAX_GIVEN_CHARACTERS, MAX_TEXT_CHARACTERS = 200_000, 500  # before descriptions are shortened


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """`parameters`: the JSON Schema of the command. `names`: the server's name of each argument that got another.

    `why_object`: why all arguments are one JSON object, or "".
    """

    parameters: Mapping[str, object]
    names: Mapping[str, str] = field(default_factory=dict)
    why_object: str = ""

    @classmethod
    def of(cls, schema: Mapping[str, object], spell_out: Callable[[str], str]) -> "ToolArguments":
        """The arguments that a tool's schema declares; as one object where they cannot be declared one by one."""
        try:
            _require_size(schema)
            plain = _plain(dict(schema), spell_out)
            renamed, names = _renamed(plain)
            return cls(own_schema(renamed), names)
        except (ValueError, TypeError, RecursionError) as why:
            return cls(_as_object(schema), why_object=str(why) or "it is nested too deeply")

    def for_server(self, given: Arguments) -> dict[str, object]:
        """The arguments of a call as the server knows them."""
        if self.why_object:
            meant = given.get(OBJECT)
            return dict(meant) if isinstance(meant, dict) else {}
        return {self.names.get(name, name): value for name, value in given.items()}


def _require_size(schema: Mapping[str, object]) -> None:
    length = len(json.dumps(dict(schema)))
    if length > MAX_GIVEN_CHARACTERS:
        raise ValueError(f"its arguments take {length:,} characters of JSON, of {MAX_GIVEN_CHARACTERS:,}")


def _plain(part: object, spell_out: Callable[[str], str], *, is_named: bool = False) -> object:
    """The schema without patterns, with references that commands know, and descriptions without hidden characters."""
    if isinstance(part, list):
        return [_plain(each, spell_out) for each in part]
    if not isinstance(part, dict):
        return part
    kept: dict[str, object] = {}
    for key, value in part.items():
        if is_named or key in NAMED:
            kept["$defs" if key == "definitions" and not is_named else key] = _plain(
                value, spell_out, is_named=not is_named
            )
        elif key in ("description", "title") and isinstance(value, str):
            kept[key] = spell_out(value[:MAX_TEXT_CHARACTERS])
        elif key == "$ref" and isinstance(value, str):
            kept[key] = value.replace("#/definitions/", "#/$defs/")
        elif key not in UNCHECKED:
            kept[key] = _plain(value, spell_out)
    return kept


def _renamed(schema: object) -> tuple[dict[str, object], dict[str, str]]:
    """The schema with names that commands can have, and the server's name of each that is new.

    Raise ValueError if two names become one.
    """
    given = schema if isinstance(schema, dict) else {}
    properties = given.get("properties")
    if not isinstance(properties, dict) or all(map(ARGUMENT_NAME.fullmatch, properties)):
        return given, {}
    if any(len(name) > MAX_ARGUMENT_NAME_CHARACTERS for name in properties):
        raise ValueError(f"a name of its arguments has more than {MAX_ARGUMENT_NAME_CHARACTERS} characters")
    new = {name: name if ARGUMENT_NAME.fullmatch(name) else _argument_name(name) for name in properties}
    if len({*new.values()}) < len(new) or not all(new.values()):
        raise ValueError("its arguments have names that are not told apart by letters, digits and _")
    required = given.get("required")
    renamed = {
        **given,
        "properties": {new[name]: value for name, value in properties.items()},
        "required": [new.get(str(name), name) for name in required] if isinstance(required, list) else [],
    }
    return renamed, {own: name for name, own in new.items() if own != name}


def _argument_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:40]
    return f"_{plain}"[:40] if plain[:1].isdigit() else plain


def _as_object(schema: Mapping[str, object]) -> dict[str, object]:
    properties = schema.get("properties")
    names = [*properties][:MOST_NAMES] if isinstance(properties, dict) else []
    told = f"; names: {', '.join(json.dumps(name[:MAX_ARGUMENT_NAME_CHARACTERS]) for name in names)}" if names else ""
    about = {"type": "object", "description": f"all arguments of the tool as one JSON object{told}"}
    return own_schema(
        {"type": "object", "properties": {OBJECT: about}, "required": [OBJECT], "additionalProperties": False}
    )


CATEGORY = "tool servers"
MAX_NAME_CHARACTERS, DIGEST_DIGITS = 64, 6
MAX_QUOTED_CHARACTERS, MAX_TITLE_CHARACTERS = 2_000, 60
MAX_SHOWN_RESOURCES, MAX_SHOWN_CHARACTERS = 200, 200_000
UNLESS_TOLD: tuple[RiskClass, ...] = ("publish",)  # nobody knows what it sends, and to whom


class ResourceAddress(BaseModel):
    """What is read from a tool server."""

    uri: str = Field(description="the address of a resource, as the list of resources has it", max_length=1_000)


@dataclass(frozen=True, slots=True)
class ServerCommands:
    """The commands of one server. `spell_out`: writes invisible characters as marks that people and models see.

    `database`, `clock`: with both, people can answer what a server asks.
    """

    server: ToolServer
    spell_out: Callable[[str], str]
    database: Database | None = None
    clock: Clock | None = None

    def loaded(self, taken: dict[str, str]) -> LoadedPlugin:
        """The commands that take part, and a remark on each tool that does not; `taken`: names of others' commands."""
        entry = self.server.entry
        loaded = LoadedPlugin(
            name=entry.name, version="(tool server)", source=f"tool server {entry.name}", plugin=Plugin()
        )
        offered = self.server.tools
        for name in self.server.unmatched:
            said = "stands in tools or exclude of its entry, and it has no such tool"
            loaded.remarks.append(f"{self._line(name)} {said}")
        for name in self.server.unreadable:
            loaded.remarks.append(f"{self._line(name)} is left out: the server does not describe it as MCP asks")
        if len(offered) > MAX_COMMANDS:
            loaded.remarks.append(f"{len(offered) - MAX_COMMANDS:,} tools beyond the first {MAX_COMMANDS} are left out")
        commands = [self._command(tool, loaded) for tool in offered[:MAX_COMMANDS]]
        loaded.commands = tuple(taken_commands(loaded, [*commands, *self._of_resources()], taken))
        return loaded

    def _command(self, tool: ServerTool, loaded: LoadedPlugin) -> Command:
        entry = self.server.entry
        arguments = ToolArguments.of(tool.schema, self.spell_out)
        if arguments.why_object:
            why = self._line(arguments.why_object)
            loaded.remarks.append(f"{self._line(tool.name)} takes its arguments as one JSON object: {why}")
        risks, always_asks = self._caution(tool)
        spec = CommandSpec(
            name=f"{entry.name}.{legible_name(tool.name, MAX_NAME_CHARACTERS - len(entry.name) - 1)}",
            label=self._line(tool.title or tool.name)[:MAX_TITLE_CHARACTERS],
            description=self._line(f"{entry.name} says: {tool.description or tool.title or tool.name}"),
            parameters=arguments.parameters,
            aliases={name: own for own, name in arguments.names.items()},  # nothing is sent under a name of its own
            risks=risks,
            category=CATEGORY,
            outside=True,
            always_asks=always_asks,
        )
        shown = "\0".join((entry.name, entry.place, tool.digest, *risks, str(always_asks)))
        preview = self._preview(spec.name, tool, hashlib.sha256(shown.encode()).hexdigest())

        async def show(given: Arguments, _context: CommandContext) -> Preview:
            title = title_of(spec.label, given)
            return replace(preview, title=title, body=f"{preview.body}{_renamed_text(arguments, given)}")

        return Command(spec=spec, run=partial(self._run, tool, arguments, preview), preview=show)

    async def _run(
        self, tool: ServerTool, sent: ToolArguments, preview: Preview, given: Arguments, context: CommandContext
    ) -> CommandOutput:
        if context.approved_basis not in (None, preview.basis) or tool not in self.server.tools:
            raise CommandError(f"{tool.name!a} changed after this was approved, so it was not called. Propose it anew.")

        def report(text: str) -> None:
            context.report(self.spell_out(text))

        asked = self._questions(context)
        call = partial(
            self.server.call,
            tool.name,
            sent.for_server(given),
            report,
            tool.digest,
            ask_people=asked.ask if asked else None,
        )
        told = asked.told if asked else ()  # also where the call fails: the server has what people answered
        try:
            output = await self._output(await call(), context)
        except CommandError as failed:
            raise CommandError(" ".join((str(failed), *told))) from None
        return replace(output, text="\n".join((output.text, *told)))

    def _questions(self, context: CommandContext) -> CallQuestions | None:
        entry = self.server.entry
        if self.database is None or self.clock is None or not entry.asks_people:
            return None
        return CallQuestions(
            database=self.database, clock=self.clock, entry=entry, context=context, spell_out=self.spell_out
        )

    async def _output(self, answer: ServerAnswer, context: CommandContext) -> CommandOutput:
        text = await asyncio.to_thread(self._readable, answer.text)
        if answer.is_error:
            raise CommandError(f"The tool failed, and says: {text or 'nothing'}")
        told, files = await keep_attachments(answer.attachments, self.server.entry, context.files)
        return CommandOutput(text="\n".join(filter(None, (text, *told))) or "It answered nothing.", files=files)

    def _readable(self, answer: str) -> str:
        """An answer with hidden letters spelled out, which makes it up to eight times longer; bounded again."""
        text = self.spell_out(str(replace_lone_surrogates(answer)))
        lost = len(text) - MAX_SHOWN_CHARACTERS
        return f"{text[:MAX_SHOWN_CHARACTERS]}\n({lost:,} more characters are left out.)" if lost > 0 else text

    def _preview(self, name: str, tool: ServerTool, basis: str) -> Preview:
        entry = self.server.entry
        whole = self.spell_out(tool.description).strip() or "(nothing)"
        quoted = whole[:MAX_QUOTED_CHARACTERS]
        quoted += " … (The rest is left out.)" if whole != quoted else ""
        said = "\n".join(f"> {line}" for line in quoted.splitlines())
        whose = f"Tool: {self._line(tool.name)}, of the tool server {entry.name}"
        body = f"{whose}\nGoes to: {entry.place}\nThe server says about it:\n{said}"
        return Preview(title=name, body=body, target=name, basis=basis)

    def _caution(self, tool: ServerTool) -> tuple[tuple[RiskClass, ...], bool]:
        """The classes of a tool, and whether neither a lease nor the policy covers it."""
        entry = self.server.entry
        if entry.is_trusted and tool.read_only and not tool.destructive:
            return entry.classes or ("read", "network"), False
        is_destructive = tool.destructive is True or (tool.destructive is None and not entry.classes)
        is_unknown = not entry.is_trusted and not entry.classes
        risks = entry.classes or UNLESS_TOLD
        if is_destructive and risks == ("read",):
            risks = ("read", "network")  # what only reads is run again after a crash, and nobody is asked
        return risks, is_destructive or is_unknown

    def _of_resources(self) -> Iterator[Command]:
        if not self.server.has_resources:
            return
        entry = self.server.entry
        risks: tuple[RiskClass, ...] = entry.classes or (("read", "network") if entry.is_trusted else UNLESS_TOLD)
        asks = not entry.is_trusted and not entry.classes
        facts: dict[str, Any] = {"risks": risks, "category": CATEGORY, "outside": True, "always_asks": asks}
        listing = declare(NoArguments, self.resources, self.preview_resources, label="List resources", **facts)
        reading = declare(ResourceAddress, self.read, self.preview_read, label="Read a resource", **facts)
        for command in (listing, reading):
            named = replace(
                command.spec,
                name=f"{entry.name}.{command.spec.name}",
                description=command.spec.description.replace("the server", entry.name),
            )
            yield replace(command, spec=named)

    async def resources(self, _given: NoArguments, _context: CommandContext) -> str:
        """List the resources that the server offers to read."""
        every = await self.server.list_resources()
        shown = [f"{each.uri} · {each.name} · {each.description}" for each in every[:MAX_SHOWN_RESOURCES]]
        lines = await asyncio.to_thread(lambda: [*map(self._line, shown)])
        if lost := len(every) - MAX_SHOWN_RESOURCES:
            lines += [f"({counted(lost, 'more resource')} left out.)"] if lost > 0 else []
        return "\n".join(lines) or "It offers no resources."

    async def read(self, given: ResourceAddress, context: CommandContext) -> CommandOutput:
        """Read a resource of the server by its address."""
        return await self._output(await self.server.read(given.uri), context)

    async def preview_resources(self, _given: NoArguments, _context: CommandContext) -> Preview:
        """The server."""
        return self._preview_of("the list of resources")

    async def preview_read(self, given: ResourceAddress, _context: CommandContext) -> Preview:
        """The server and the address."""
        return self._preview_of(f"the resource {self._line(given.uri)}")

    def _preview_of(self, what: str) -> Preview:
        entry = self.server.entry
        body = f"Reads {what}.\nGoes to: {entry.place}"
        return Preview(title=f"a question to the tool server {entry.name}", body=body, target=f"{entry.name}.read")

    def _line(self, text: str) -> str:
        return one_line(self.spell_out(text[: 2 * MAX_QUOTED_CHARACTERS]), 300)


def legible_name(name: str, most: int) -> str:
    """A name of letters, digits, `_`, `.` and `-`; where others are lost, the beginning of a hash follows."""
    plain = re.sub(r"\s+", "_", name.strip())
    ascii_form = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    legible = re.sub(r"[^A-Za-z0-9_.-]+", "_", ascii_form).strip("_.-")
    if legible == plain and 0 < len(legible) <= most:
        return legible
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGEST_DIGITS]
    return f"{legible[: most - DIGEST_DIGITS - 1] or 'tool'}_{digest}"


def _renamed_text(arguments: ToolArguments, given: Arguments) -> str:
    """A line on the arguments that the server knows by other names."""
    renamed = {own: name for own, name in arguments.names.items() if own in given}
    return f"\nThe server's names of arguments: {json.dumps(renamed)}" if renamed else ""
