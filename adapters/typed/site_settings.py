"""Shows and changes which sites the agents of a channel may reach."""

import re
from collections.abc import Iterable
from dataclasses import replace

from adapters.screens.ui_text import first_word
from agent_core.errors import InvalidInput
from agent_core.model.channel_settings import Sites
from agent_core.model.origin import Origin
from agent_core.service.agent_settings import AgentSettings

HOW = "Sites: write allow HOST, deny HOST or clear. A host includes its subdomains, as in allow example.org."
HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
MAX_HOSTS = 100


async def set_sites(agent_settings: AgentSettings, said: str, origin: Origin) -> str:
    """Apply `allow HOST`, `deny HOST` or `clear` (or nothing, for ""), and return the settings as text.

    Raise InvalidInput for any other text, NotAllowed if the person may not change the settings.
    """
    sites = await agent_settings.sites(origin.channel)
    if not said:
        return sites_text(sites)
    verb, rest = first_word(said)
    match verb:
        case "clear" if not rest:
            changed = Sites()
        case "allow" | "deny" if rest:
            changed = _with(sites, verb, tuple(map(_host, re.split(r"[\s,;]+", rest))))
        case _:
            raise InvalidInput({"sites": HOW})
    return sites_text(await agent_settings.set_sites(changed, origin))


def sites_text(sites: Sites) -> str:
    """The settings in one or two sentences."""
    most = f"Agents here may reach only these sites: {', '.join(sites.allow)}." if sites.allow else ""
    most = most or "Agents here may reach every public site."
    return f"{most} Denied: {', '.join(sites.deny)}." if sites.deny else most


def _with(sites: Sites, verb: str, hosts: tuple[str, ...]) -> Sites:
    """Put the hosts on the list that `verb` names and take them off the other; raise InvalidInput beyond MAX_HOSTS."""
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
        raise InvalidInput({"sites": f"Sites: {word[:60]} is not a host name. {HOW}"})
    return name
