"""The result of a command: succeeded, failed or interrupted."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.model.actors import Actor


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The command ran and gave this output.

    `files`: workspace files to post in the thread; images among them are displayed.
    `outside`: the output contains untrusted content.
    """

    output: str
    files: tuple[str, ...] = ()
    outside: bool = False
    kind: Literal["succeeded"] = "succeeded"


@dataclass(frozen=True, slots=True)
class Failed:
    """The command failed; `error` is one sentence for the model.

    `received_nothing`: it failed before it received anything from outside, so `error` cannot be untrusted content.
    """

    error: str
    outside: bool = False
    received_nothing: bool = False
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The command may have run in part. `output` is the output until then.

    `by`: the person who stopped the command; None if the process ended.
    `at_shutdown`: the process ended in order, and ended the command.
    `is_skipped`: the process ended, and `by` let the agent go on without the command.
    """

    by: Actor | None = None
    output: str = ""
    outside: bool = False
    at_shutdown: bool = False
    is_skipped: bool = False
    kind: Literal["interrupted"] = "interrupted"


Result: TypeAlias = Succeeded | Failed | Interrupted
