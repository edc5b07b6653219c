"""The findings of `signoff doctor`: their class, and those on services and programs that agents can use."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adapters.typed.agent_templates import load_templates
from agent_core.errors import SettingsError
from agent_core.model.lines import counted
from bot.settings import Settings

LONGEST_TEST = 30.0
IN_A_BUCKET = "the agents' files are in a bucket, and programs and plugins of AutoGPT run only in a folder"
USE_A_FOLDER = "Set WORKSPACE_URL to a folder of this machine, or to one that is mounted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The state of one surface or provider. `variable` is the setting that changes it, or empty if no setting does.

    "warn": it is on, and may not work.
    """

    name: str
    state: Literal["on", "off", "warn", "fault"]
    why: str
    variable: str = ""


def templates_finding(folder: Path | None) -> Finding:
    """The finding on the templates for new agents; it names the files of the operator's folder that are left out."""
    found = load_templates(folder)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProbes:
    """Checks that only the composition root can supply. Most return what is wrong, or "".

    `sandbox`: tests the isolation by trying to escape; called only if programs are allowed.
    `readers`: why what reads documents, pages and pictures cannot be confined.
    `sandbox_tools`: names the program that the sandbox needs and the machine lacks.
    `vision`: tells whether the default model of the configured endpoint takes pictures, None if that is not known. Asks
    the endpoint, and raises SettingsError if the model cannot be made; no other check raises.
    `media`: returns the labels of the image, the transcription and the speech service, "" for one that is missing.
    """

    sandbox: Callable[[], Awaitable[str]]
    sandbox_tools: Callable[[], str]
    readers: Callable[[], str]
    browser: Callable[[], str]
    git: Callable[[], str]
    media: Callable[[], tuple[str, str, str]]
    vision: Callable[[], Awaitable[bool | None]]


async def tool_findings(settings: Settings, probes: ToolProbes) -> tuple[Finding, ...]:
    drawn, heard, spoken = probes.media()
    return (
        await _programs(settings, probes),
        _readers(probes.readers(), is_root=os.geteuid() == 0),
        _pages(probes.browser()),
        _repositories(probes.git()),
        _downloads(settings),
        _made("pictures", drawn, "IMAGE_MODEL, SD_WEBUI_URL, HUGGINGFACE_IMAGE_MODEL"),
        _made("audio", heard, "AUDIO_MODEL, HUGGINGFACE_AUDIO_MODEL"),
        _made("speech", spoken, "SPEECH_MODEL"),
        await _vision(settings, probes),
        _made("posts", "X" if settings.has_x else "", "X_API_KEY, X_API_SECRET, X_ACCESS_TOKEN, X_ACCESS_TOKEN_SECRET"),
    )


async def _programs(settings: Settings, probes: ToolProbes) -> Finding:
    if not settings.execute_local_commands:
        why = "agents propose none; true lets them, in a sandbox without network"
        if missing := probes.sandbox_tools():
            why = f"{why}. The sandbox cannot run here: {missing}"
        if not settings.workspace_folder:
            why = f"{why}. None would run now: {IN_A_BUCKET}. {USE_A_FOLDER}"
        return Finding(name="programs", state="off", why=why, variable="EXECUTE_LOCAL_COMMANDS")
    if not settings.workspace_folder:
        why = f"none will run: {IN_A_BUCKET}. {USE_A_FOLDER}"
        return Finding(name="programs", state="fault", why=why, variable="WORKSPACE_URL")
    try:
        async with asyncio.timeout(LONGEST_TEST):
            fault = await probes.sandbox()
    except TimeoutError:
        fault = f"The sandbox's test took longer than {LONGEST_TEST:.0f} seconds."
    if fault:
        return Finding(name="programs", state="fault", why=f"none will run. {fault}", variable="SANDBOX")
    why = f"in {settings.sandbox}, which passed its self-test"
    return Finding(name="programs", state="on", why=why, variable="EXECUTE_LOCAL_COMMANDS, SANDBOX")


async def _vision(settings: Settings, probes: ToolProbes) -> Finding:
    found = {True: "agents may have their model look at pictures", False: "the operator lets no model see pictures"}
    sees = settings.sees if settings.has_endpoint else False
    if not settings.has_endpoint:
        why = "only a model at an endpoint can take pictures"
    elif sees is None:
        sees, why = await _check_vision(probes)
        why = why or found[True]
    else:
        why = found[sees]
    return Finding(name="vision", state="on" if sees else "off", why=why, variable="VISION, SMART_MODEL")


async def _check_vision(probes: ToolProbes) -> tuple[bool, str]:
    """Whether the default model takes pictures, and if it does not, why."""
    try:
        sees = await probes.vision()
    except SettingsError as error:
        return False, f"not known, because the model cannot be asked: {error.variable} {error.fault.rstrip('.')}"
    if sees is None:
        return False, "not known, because the endpoint did not list its models; agents are offered no pictures"
    return sees, "" if sees else "the model takes no pictures, by its name and by what the endpoint lists"


def _readers(fault: str, *, is_root: bool) -> Finding:
    if not fault:
        return Finding(name="documents", state="on", why="read in processes without network, files and environment")
    refused = (
        "PDF, Word and OpenDocument are refused, since Signoff runs as root. Pages and pictures" if is_root else ""
    )
    why = f"{refused or 'Documents, pages and pictures'} are read by processes that are not confined: {fault}"
    return Finding(name="documents", state="warn", why=why.rstrip("."))


def _pages(fault: str) -> Finding:
    drawn = "those that need JavaScript are drawn by Chromium"
    return Finding(name="pages", state="on", why=fault.rstrip(".") or drawn, variable="ALLOW_INTERNAL_HOSTS")


def _repositories(fault: str) -> Finding:
    return Finding(name="repositories", state="off" if fault else "on", why=fault or "copied by git, without history")


def _downloads(settings: Settings) -> Finding:
    allowed = settings.allow_downloads
    why = "agents may propose them" if allowed else "agents propose none; true lets them"
    return Finding(name="downloads", state="on" if allowed else "off", why=why, variable="ALLOW_DOWNLOADS")


def _made(name: str, by: str, variables: str) -> Finding:
    why = f"by {by}" if by else "nothing is set for them" if name.endswith("s") else "nothing is set for it"
    return Finding(name=name, state="on" if by else "off", why=why, variable=variables)
