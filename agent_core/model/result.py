"""What became of a command."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.actors import Actor


@dataclass(frozen=True, slots=True)
class Succeeded:
    """It ran and this is what it gave.

    `files` of the workspace are offered in the thread, pictures shown. `outside` says that others than the agent and
    its people wrote some of the output: it is material, and never an instruction.
    """

    output: str
    files: tuple[str, ...] = ()
    outside: bool = False
    kind: Literal["succeeded"] = "succeeded"


@dataclass(frozen=True, slots=True)
class Failed:
    """It ran, or tried to, and this is what went wrong: one sentence for the model."""

    error: str
    outside: bool = False
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """It may have run in part. `by` ended it; nobody did when the process died. `output` is what it gave until then."""

    by: Actor | None = None
    output: str = ""
    outside: bool = False
    kind: Literal["interrupted"] = "interrupted"


Result: TypeAlias = Succeeded | Failed | Interrupted
