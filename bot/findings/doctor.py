"""What `signoff doctor` finds of surfaces, database, files, retention and workers, with what the features find."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from adapters.screens.visible_text import one_line
from adapters.typed.agent_templates import AgentTemplates
from agent_core.capabilities.capability import Capability, Finding, answer_or, silent
from agent_core.capabilities.models.settings import FEATURE as MODELS
from agent_core.text.lines import counted, listed
from agent_core.text.own_commands import command_text
from bot.capabilities import Capabilities
from bot.findings.mcp_clients import mcp_finding
from bot.findings.plugins import disabled_finding, plugins_finding
from bot.platforms.chat_platforms import PLATFORMS, guide
from bot.platforms.platform import ChatPlatform
from bot.private_files import paths_open_to_others
from bot.settings import Settings, unread_text
from bot.wiring.collectors import telemetry_finding
from bot.wiring.models import choose_templates
from bot.wiring.tool_servers import tool_servers_finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The result of a database check: the `version` of the schema ("" before the first migration), or a `fault`.

    `is_newer`: a newer release made the tables, and this one can work on them.
    `workers`: the number of workers that take agents, None if that was not asked.
    """

    version: str = ""
    fault: str = ""
    is_newer: bool = False
    workers: int | None = None


async def no_fault() -> str:
    """Nothing is tested."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Checks that only the composition root can supply. No check raises. Waits for servers end after 3 to 4 seconds.

    `platforms`: what is wrong with the token of each chat platform, or None; called only if a token is set.
    `database`: the result of the database check; for SQLite called only if the file exists.
    `capabilities`: the capabilities, not opened.
    `files`: what keeps the bucket of the agents' files from being used, to complete "The storage …", or "".
    `sign_in`: why nobody can sign in to the page, or ""; called only if there is a provider.
    `unread_names`: names that are set and not read, each with the variable that is probably meant.
    """

    database: Callable[[], Awaitable[Tables]]
    platforms: Mapping[str, Callable[[], Awaitable[str | None]]]
    capabilities: Capabilities
    files: Callable[[], Awaitable[str]] = no_fault
    sign_in: Callable[[], Awaitable[str]] = no_fault
    unread_names: Callable[[], Mapping[str, str]] = dict


async def findings(settings: Settings, probes: Probes) -> tuple[Finding, ...]:
    """The findings for the surfaces, then for models, database and files, then for each feature."""
    sign_in, platforms, (database, files), (features, servers) = await asyncio.gather(
        _sign_in(settings, probes),
        asyncio.gather(*(_platform(settings, platform, probes) for platform in PLATFORMS)),
        asyncio.gather(_database(settings, probes), _files(settings, probes)),
        asyncio.gather(_findings_of(probes.capabilities.every), tool_servers_finding(settings)),
    )
    return (
        _web(settings),
        *sign_in,
        Finding(name="terminal", state="on", why=command_text("solo")),
        *platforms,
        mcp_finding(settings),
        telemetry_finding(),
        *map(unread_finding, probes.unread_names().items()),
        *features.pop(MODELS),
        *database,
        _retention(settings),
        *_two_people(settings),
        _data_folder(settings.home),
        *files,
        *_open_files(settings),
        templates_finding(choose_templates(settings)),
        *filter(None, [await plugins_finding(probes.capabilities), disabled_finding(probes.capabilities), servers]),
        *chain.from_iterable(features.values()),
    )


async def _findings_of(features: Sequence[Capability]) -> dict[str, Iterable[Finding]]:
    """The findings of each feature, by its name."""
    found = await asyncio.gather(*(each.findings() for each in features))
    return {feature.name: findings for feature, findings in zip(features, found, strict=True)}


def report(found: Sequence[Finding]) -> str:
    """A sentence on the whole, then a line for each finding: name, state, reason, and what changes it."""
    width = max((len(finding.name) for finding in found), default=0)
    return "\n".join((_summary(found), "", *(_line(finding, width) for finding in found)))


def _summary(found: Sequence[Finding]) -> str:
    faults, warnings = ([each.name for each in found if each.state == state] for state in ("fault", "warn"))
    looks = f"{counted(len(warnings), 'thing')} to look at: {listed(warnings)}." if warnings else ""
    begins = f"Not ready. {counted(len(faults), 'thing')} to mend: {listed(faults)}." if faults else "Ready."
    return " ".join(filter(None, (begins, looks)))


async def _platform(settings: Settings, platform: ChatPlatform, probes: Probes) -> Finding:
    if not platform.is_on(settings):
        why = f"{guide(platform)} turns it on"
        return Finding(name=platform.name, state="off", why=why, variable=platform.switch)
    status = platform.status(settings)
    late = f"{platform.title} {silent()}"
    if status.tested and (fault := await answer_or(late, probes.platforms[platform.name])):
        return Finding(name=platform.name, state="fault", why=fault, variable=status.tested)
    return Finding(name=platform.name, state="on", why=status.reached, variable=status.variables)


def unread_finding(name: tuple[str, str]) -> Finding:
    return Finding(name="name", state="warn", why=unread_text(*name), variable=name[1])


async def _database(settings: Settings, probes: Probes) -> tuple[Finding, ...]:
    """The finding on the database and, on PostgreSQL, one on the workers."""
    found = Finding(name="database", state="on", why=settings.shown_database, variable="DATABASE_URL")
    if settings.sqlite_file and not settings.sqlite_file.exists():
        return (replace(found, why=f"{found.why}, made at the first start"),)
    tables = await answer_or(Tables(fault=silent()), probes.database)
    if tables.fault:
        return (replace(found, state="fault", why=f"{found.why} {tables.fault}"),)
    version = f"tables of version {tables.version}" if tables.version else "its tables are made at the first start"
    found = replace(found, why=f"{found.why}, {version}")
    if tables.is_newer:
        found = replace(found, state="warn", why=f"{found.why}, extended by a newer release: use that one soon")
    return (found,) if tables.workers is None else (found, workers_finding(tables.workers))


def _retention(settings: Settings) -> Finding:
    agents = f"agents at rest for {counted(settings.history_days, 'day')} are deleted" if settings.history_days else ""
    log = f"the decision log keeps {counted(settings.audit_days, 'day')}" if settings.audit_days else ""
    why = ", ".join(filter(None, (agents, log))) or "everything is kept until people delete it"
    return Finding(name="retention", state="on", why=why, variable="HISTORY_DAYS, AUDIT_DAYS")


def _two_people(settings: Settings) -> tuple[Finding, ...]:
    if not settings.two_people:
        return ()
    why = f"every command of class {', '.join(settings.two_people)} needs the approval of two people"
    return (Finding(name="two people", state="on", why=why, variable="TWO_PEOPLE"),)


def _web(settings: Settings) -> Finding:
    token = "for everyone with WEB_TOKEN" if settings.web_token else "for this machine only, by the key in its address"
    members = f"in one of these groups: {', '.join(settings.oidc_groups)}" if settings.oidc_groups else "all of them"
    whom = f"for people with an account at {settings.oidc_issuer}, {members}" if settings.oidc_issuer else token
    variable = "HOST, PORT, OIDC_ISSUER" if settings.oidc_issuer else "HOST, PORT, WEB_TOKEN"
    return Finding(name="web", state="on", why=f"{settings.address}, {whom}", variable=variable)


async def _sign_in(settings: Settings, probes: Probes) -> tuple[Finding, ...]:
    """The finding on the provider of the page's accounts, if there is one."""
    if not settings.oidc_issuer:
        return ()
    fault = await answer_or(f"{settings.oidc_issuer} {silent()}", probes.sign_in)
    why = fault or f"the provider at {settings.oidc_issuer} answers"
    return (Finding(name="sign-in", state="fault" if fault else "on", why=why, variable="OIDC_ISSUER"),)


def _data_folder(folder: Path) -> Finding:
    standing = next(path for path in (folder, *folder.parents) if path.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
        why = f"{folder} cannot be written to"
        return Finding(name="data folder", state="fault", why=why, variable="SIGNOFF_HOME")
    made = "" if standing == folder else ", made at the first start"
    return Finding(name="data folder", state="on", why=f"{folder}{made}", variable="SIGNOFF_HOME")


async def _files(settings: Settings, probes: Probes) -> tuple[Finding, ...]:
    """A finding on WORKSPACE_URL; without it, only if the files in the data folder belong to another database."""
    if not settings.workspace_url:
        fault = await answer_or(silent(), probes.files, more=1)
        return (Finding(name="files", state="fault", why=fault),) if fault else ()
    where = settings.shown_workspaces
    if folder := settings.workspace_folder:
        return (replace(_data_folder(folder), name="files", variable="WORKSPACE_URL"),)
    if fault := await answer_or(silent(), probes.files, more=1):
        return (Finding(name="files", state="fault", why=f"{where} {fault}", variable="WORKSPACE_URL"),)
    return (Finding(name="files", state="on", why=f"{where}, tested by writing there", variable="WORKSPACE_URL"),)


def _open_files(settings: Settings) -> tuple[Finding, ...]:
    """A finding on Signoff's files that other accounts of the machine can open; none if there are no such files."""
    every = paths_open_to_others(settings)
    if not every:
        return ()
    others = [path for path in every if path.stat().st_uid != os.geteuid()]
    if not others or os.geteuid() == 0:
        why = f"other accounts of this machine can open {', '.join(map(str, every))}; the next start closes them"
        return (Finding(name="privacy", state="off", why=why),)
    named = ", ".join(map(str, others))
    why = f"other accounts of this machine can open {named}, owned by another account; chmod go-rwx closes them"
    return (Finding(name="privacy", state="fault", why=why),)


def _line(finding: Finding, width: int) -> str:
    told = " · ".join(filter(None, (one_line(finding.why), finding.variable)))
    return f"{finding.name:<{width}}  {finding.state:<5}  {told}"


def templates_finding(found: AgentTemplates) -> Finding:
    """The finding on the templates for new agents; it names the files of the operator's folder that are left out."""
    why = f"{counted(len(found.every), 'template')} for new agents"
    if found.faults:
        left_out = f"{why}. Left out: {'; '.join(found.faults)}"
        return Finding(name="templates", state="warn", why=left_out, variable="TEMPLATES_DIR")
    return Finding(name="templates", state="on", why=why, variable="TEMPLATES_DIR")


def workers_finding(number: int) -> Finding:
    """The finding on the number of workers that take agents."""
    if not number:
        return Finding(name="workers", state="warn", why="0: agents wait until `run` or `worker` runs")
    return Finding(name="workers", state="on", why=f"{number} that take agents")
