"""Shows and changes what agents of a channel may use: what plugins and tool servers add, and the sites they reach."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

from adapters.screens.risk_labels import labels_of, risk_text
from adapters.screens.ui_text import first_word
from adapters.screens.visible_text import readable
from agent_core.errors import InvalidInput
from agent_core.model.channel_settings import ALL_ON, Sites, ToolSwitches
from agent_core.model.origin import Origin
from agent_core.service.agent_settings import AgentSettings
from agent_core.service.reading.channel_tools import SourceInChannel, ToolCommand, ToolsInChannel
from agent_core.service.reading.views import AgentViews

HOW_TOOLS = "Tools: write off NAME, on NAME, only NAME or all on. A name is a plugin's, a server's or a command's."
NO_TOOLS = "No plugin and no tool server is connected here: agents have Signoff's own commands."
TOO_MANY = (
    "These are more than a prompt lists: each agent is told those that fit its goals best, and names of the others. "
    "Switch off what is not needed here."
)
MAX_NAMES, SHOWN_COMMANDS = 100, 20
HOW_SITES = "Sites: write allow HOST, deny HOST or clear. A host includes its subdomains, as in allow example.org."
HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
MAX_HOSTS = 100


async def set_tools(settings: AgentSettings, views: AgentViews, said: str, origin: Origin) -> str:
    """Apply `off`, `on` or `only` with names, or `all on` (or nothing, for ""), and return what is on as text.

    Raise InvalidInput for any other text, NotAllowed if the person may not change it.
    """
    if not said:
        return tools_text(await views.tools.of_channel(origin.channel))
    change = await parse_tool_change(views, said, origin)
    before = (await views.tools.of_channel(origin.channel)).switches
    after = await settings.set_tools(change, origin, said)
    changed = {*before.off, *before.only} ^ {*after.off, *after.only}
    return changed_text(await views.tools.of_channel(origin.channel), changed)


async def parse_tool_change(views: AgentViews, said: str, origin: Origin) -> Callable[[ToolSwitches], ToolSwitches]:
    """The change that a line such as `off word_counter` asks for; raise InvalidInput."""
    verb, rest = first_word(said)
    if (verb, rest.casefold()) == ("all", "on"):
        return lambda _: ALL_ON
    words = re.split(r"[\s,;]+", rest) if rest else []
    if verb not in ("off", "on", "only") or not words or len(words) > MAX_NAMES:
        raise InvalidInput({"tools": HOW_TOOLS})
    here = await views.tools.of_channel(origin.channel)
    names = _require_known(words, here)
    match verb:
        case "off":
            return lambda switches: switches.turn_off(names)
        case "on":
            _require_source_on(names, here)
            return lambda switches: switches.turn_on(names)
        case _:
            return lambda _: ToolSwitches(only=names)


def tools_text(here: ToolsInChannel) -> str:
    """The sources and their commands, a line for each source."""
    if not here.sources:
        return NO_TOOLS
    lines = ("Agents here may use, besides Signoff's own commands:", *map(_source_text, here.sources))
    return "\n".join((*lines, TOO_MANY) if here.is_chosen_by_fit else lines)


def changed_text(here: ToolsInChannel, changed: Collection[str]) -> str:
    """The sources that a change named, as they are now; all of them if it concerned others by not naming them."""
    named = [each for each in here.sources if not {each.source.name, *each.source.commands}.isdisjoint(changed)]
    if here.switches.only or not named:
        return tools_text(here)
    return "\n".join(("Now, from the next thought of an agent on:", *map(_source_text, named)))


def source_title(each: SourceInChannel) -> str:
    """Name, version and kind of a source."""
    source = each.source
    return readable(" ".join(filter(None, (source.name, source.version, f"({source.kind}, {source.place})"))))


def _source_text(each: SourceInChannel) -> str:
    state = " · ".join(filter(None, (readable(each.source.fault), "on" if each.is_on else "off here")))
    commands = [_command_text(command) for command in each.commands[:SHOWN_COMMANDS]]
    if more := len(each.commands) - len(commands):
        commands.append(f"and {more} more")
    parts = (state, *(f"left out: {readable(remark)}" for remark in each.source.remarks[:3]))
    return f"• {source_title(each)}: {' · '.join(filter(None, parts))}\n   {', '.join(commands) or 'no commands'}"


def _command_text(command: ToolCommand) -> str:
    off = "" if command.is_on else ", off here"
    return f"{command.spec.name} ({risk_text(labels_of(command.spec.risks))}{off})"


def _require_known(words: Sequence[str], here: ToolsInChannel) -> tuple[str, ...]:
    """The names in the spelling of the sources and commands; also of one that is stored and gone."""
    return tuple(dict.fromkeys(_require_name(word, here) for word in words))


def _require_name(word: str, here: ToolsInChannel) -> str:
    """The name that is written so, or the only one that is but for the case of letters."""
    names = {*here.switches.off, *here.switches.only, *here.names}
    like = sorted(name for name in names if name.casefold() == word.casefold())
    if word in names or len(like) == 1:
        return word if word in names else like[0]
    if like:
        raise InvalidInput({"tools": f"Tools: which one: {' or '.join(like)}? Write it with the same letters."})
    sources = [each.source.name for each in here.sources]
    there = f"There {'is' if len(sources) == 1 else 'are'}: {', '.join(sources)}." if sources else NO_TOOLS
    raise InvalidInput({"tools": f"Tools: {word[:60]} is no plugin, server or command of one. {there}"})


def _require_source_on(names: Sequence[str], here: ToolsInChannel) -> None:
    """Raise InvalidInput if a command is to be switched on whose source is off."""
    for each in here.sources:
        commands = [command.spec.name for command in each.commands if command.spec.name in names]
        if commands and each.source.name in here.switches.off and each.source.name not in names:
            raise InvalidInput({"tools": f"Tools: all of {each.source.name} is off here. Write on {each.source.name}."})


async def set_sites(agent_settings: AgentSettings, said: str, origin: Origin) -> str:
    """Apply `allow HOST`, `deny HOST` or `clear` (or nothing, for ""), and return the settings as text.

    Raise InvalidInput for any other text, NotAllowed if the person may not change the settings.
    """
    if not said:
        return sites_text(await agent_settings.sites(origin.channel))
    verb, rest = first_word(said)
    if verb not in ("clear", "allow", "deny") or (verb == "clear") == bool(rest):
        raise InvalidInput({"sites": HOW_SITES})
    hosts = tuple(map(_host, re.split(r"[\s,;]+", rest))) if rest else ()
    return sites_text(await agent_settings.set_sites(partial(_changed, verb=verb, hosts=hosts), origin))


def sites_text(sites: Sites) -> str:
    """The settings in one or two sentences."""
    most = f"Agents here may reach only these sites: {', '.join(sites.allow)}." if sites.allow else ""
    most = most or "Agents here may reach every public site."
    return f"{most} Denied: {', '.join(sites.deny)}." if sites.deny else most


def _changed(sites: Sites, verb: str, hosts: tuple[str, ...]) -> Sites:
    """Put the hosts on the list that `verb` names and take them off the other; raise InvalidInput beyond MAX_HOSTS."""
    if verb == "clear":
        return Sites()
    allow, deny = (_without(names, hosts) for names in (sites.allow, sites.deny))
    changed = replace(sites, allow=(*allow, *hosts), deny=deny)
    if verb == "deny":
        changed = replace(sites, allow=allow, deny=(*deny, *hosts))
    if max(len(changed.allow), len(changed.deny)) > MAX_HOSTS:
        raise InvalidInput({"sites": f"Sites: at most {MAX_HOSTS} on each list."})
    return changed


def _without(names: Iterable[str], hosts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in hosts)


def _host(word: str) -> str:
    """The host name, lower case, in a pasted host, URL or `*.example.org`; raise InvalidInput if there is none."""
    bare = re.sub(r"\A[a-z]+://|[/?#].*\Z|\A\*\.|\.\Z", "", word.strip().casefold())
    try:
        name = bare.encode("idna").decode()
    except UnicodeError:
        name = ""
    if not HOST.fullmatch(name):
        raise InvalidInput({"sites": f"Sites: {word[:60]} is not a host name. {HOW_SITES}"})
    return name
