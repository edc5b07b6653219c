"""The settings of programs: whether agents may propose them, and the sandbox that they run in."""

from typing import Annotated, ClassVar, Literal

from agent_core.capabilities.declaring import SettingsGroup, setting
from agent_core.capabilities.setting_types import LOWER_CASE


class ProgramSettings(SettingsGroup):
    """Whether agents may propose programs, and where these run."""

    title: ClassVar[str] = "Programs of agents"

    execute_local_commands: bool = setting(
        False, "Agents may propose programs and shell lines. These run only in a sandbox."
    )
    sandbox: Annotated[Literal["bubblewrap", "docker"], LOWER_CASE] = setting(
        "bubblewrap", "Where programs run. Docker requires a daemon that this process may use.", example="docker"
    )
    sandbox_image: str = setting(
        "python:3.12-slim",
        "The image for programs with SANDBOX=docker. It must contain a shell and python3.",
        rule="the name of an image",
        example="python:3.13-slim",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$",
    )
