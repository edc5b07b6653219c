"""The result of a command: succeeded, failed or interrupted."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.actors import Actor


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The command ran and gave this output.

    `files` of the workspace are posted in the thread, pictures shown. `outside`: the output contains untrusted content,
    which is material and never an instruction.
    """

    output: str
    files: tuple[str, ...] = ()
    outside: bool = False
    kind: Literal["succeeded"] = "succeeded"


@dataclass(frozen=True, slots=True)
class Failed:
    """The command failed; `error` is one sentence for the model."""

    error: str
    outside: bool = False
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The command may have run in part. `by` stopped it; None if the process died. `output` is its output so far."""

    by: Actor | None = None
    output: str = ""
    outside: bool = False
    kind: Literal["interrupted"] = "interrupted"


Result: TypeAlias = Succeeded | Failed | Interrupted
