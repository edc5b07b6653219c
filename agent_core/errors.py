"""All errors of Signoff as one tree of classes, sorted by who has to act: a person, the model, the operator.

SignoffError
├── PersonError                the person who asked reads it
│   ├── InvalidInput           a form field or argument is invalid
│   ├── NotFound               the record is not in this channel
│   ├── NotAllowed             they lack the right
│   ├── AlreadyDecided         another decision was first
│   ├── ChangedSinceShown      the card shows something else than what would run
│   ├── SearchTooLong          there is too much to search
│   ├── UnreadableRecord       a newer release saved the record in a form that this one does not know
│   └── NotPossible            the state of the agent or turn does not allow it
├── ModelError                 the loop waits, pauses or tells the model
│   ├── ModelUnavailable       retry, after `retry_after` seconds if given
│   ├── ModelRefused           a retry will not help
│   │   └── PromptTooLong      a shorter prompt may, within the window that the model names now
│   ├── OverBudget             the call was not made
│   └── UnusableReply          the message tells the model what was wrong
├── MemoryAway                 the agent continues without long-term memory, which is updated later
├── CommandError               the model reads it as the command's result
│   ├── NothingReceived        nothing from outside was received before
│   └── OutsideWorkspace       a path that leaves the agent's folder
├── SurfaceError               refused for good: the loop goes on without what was to be shown
│   ├── SurfaceBusy            retry, after `retry_after` seconds if given
│   └── ThreadGone             the thread, the channel or the right to write is gone: the agent pauses
├── Conflict                   the unit of work is repeated
├── NewerTables                the operator installs the newer release, or uses another database
├── WorkersAtWork              the operator stops the workers of the release before
├── TransferRefused            the operator reads why an export or import was not done
│   └── FilesTaken             the operator adds --take-files, or names a place that no other database uses
├── DatabaseAway               the work is retried; nothing unsaved took effect
│   └── CommitUnknown          the answer to a commit was lost: what was saved may have taken effect
├── EngineTaken                another process advances the agents of this database, so this one ends
├── Superseded                 another worker took the agent, so this worker stops
└── SettingsError              the operator reads one line and the process exits
    └── DatabaseUnreachable    a worker, or a process that serves pages, waits for a server at its start; others end
"""

import math
from datetime import datetime


class SignoffError(Exception):
    """Base class of the errors that Signoff raises on purpose."""


class PersonError(SignoffError):
    """A request cannot be fulfilled; the message is for the person who made it."""


class InvalidInput(PersonError):
    """A form or argument is invalid: `problems` maps each field to a sentence."""

    def __init__(self, problems: dict[str, str]) -> None:
        self.problems = problems
        super().__init__(" ".join(problems.values()))


class NotFound(PersonError):
    """There is no such record in this channel."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"There is no {kind} {name} in this channel.")


class NotAllowed(PersonError):
    """The person does not have the right; `why` completes the sentence "you may not …"."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"you may not {why}")


class AlreadyDecided(PersonError):
    """Another decision was first: `verb` says which (approved, rejected, withdrawn)."""

    def __init__(self, verb: str, by: str, at: datetime) -> None:
        self.verb, self.by, self.at = verb, by, at
        super().__init__(f"already {verb} by {by}, {at:%H:%M} UTC")


class ChangedSinceShown(PersonError):
    """The control that was used shows an older state of the turn; nothing was decided. `remark` says what changed."""

    def __init__(self, number: int, remark: str = "") -> None:
        self.number, self.remark = number, remark
        what = remark or "It would not run what was shown to you."
        super().__init__(f"Nothing was decided: turn {number} changed after this was shown to you. {what} Look again.")


class SearchTooLong(PersonError):
    """There is too much to search in `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The search was ended after {seconds:g} seconds. Choose one channel to search in.")


class UnreadableRecord(PersonError):
    """A record cannot be read: a newer release saved it in a form that this one does not know, or it is damaged."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"This {kind} was saved by a newer release of Signoff, or it is damaged. This release leaves it as it is."
        )


class NotPossible(PersonError):
    """The agent or turn is in a state that does not allow this."""


class ModelError(SignoffError):
    """The language model gave no usable reply."""


class ModelUnavailable(ModelError):
    """The endpoint cannot answer now; retry after `retry_after` seconds if it said so.

    `latest`: in how many seconds a retry is due at the latest, because another model may answer then.
    """

    def __init__(self, why: str, retry_after: float | None = None, latest: float = math.inf) -> None:
        self.retry_after, self.latest = retry_after, latest
        super().__init__(why)


class RateLimited(ModelUnavailable):
    """The endpoint's rate limit is used up; retry after `retry_after` seconds if it said so."""


class ModelRefused(ModelError):
    """The endpoint will not answer, even on a retry, because of a wrong key or an unknown model, for example."""


class PromptTooLong(ModelRefused):
    """The request is too large for the model; its `window` is smaller now, so a shorter prompt may fit."""


class OverBudget(ModelError):
    """The call was not made because it may cost more than a budget leaves; the message says what to do."""


class UnusableReply(ModelError):
    """The reply holds no runnable command; the message is for the model, `brief` for people."""

    def __init__(self, why: str, brief: str = "") -> None:
        self.brief = brief or why
        super().__init__(why)


class MemoryAway(SignoffError):
    """The index of long-term memory is unreachable or refuses; the message gives the reason, without keys."""


class CommandError(SignoffError):
    """A command failed; the message is one sentence for the model."""


class NothingReceived(CommandError):
    """A command failed before it received anything from outside. The message is Signoff's own and quotes nobody."""


class OutsideWorkspace(CommandError):
    """A path that is not inside the agent's workspace."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path!r} is not a path inside the workspace: use a relative path without '..' or links out.")


class SurfaceError(SignoffError):
    """The chat platform refused a message."""


class SurfaceBusy(SurfaceError):
    """The platform cannot take a message now; retry after `retry_after` seconds if it said so."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(why)


class ThreadGone(SurfaceError):
    """The agent's thread cannot be written to any more; the message gives the reason."""


class Conflict(SignoffError):
    """Another unit of work saved a record that this one read; this one saved nothing."""


class NewerTables(SignoffError):
    """A newer release created the tables of the database."""


class WorkersAtWork(SignoffError):
    """Workers of an earlier release are at work on the database and cannot work on the tables of this one."""


class TransferRefused(SignoffError):
    """An export or import is not possible; the message is one line."""


class FilesTaken(TransferRefused):
    """The files at the place of an import belong to another database."""


class DatabaseAway(SignoffError):
    """The database cannot be reached."""


class CommitUnknown(DatabaseAway):
    """The database went away during a commit, which may have taken effect."""


class EngineTaken(SignoffError):
    """Another process advances the agents of this database."""


class Superseded(SignoffError):
    """Another worker has taken the agent; nothing was saved."""


class SettingsError(SignoffError):
    """A setting is missing or wrong: the message names the variable, the fault and, if a value can help, an example."""

    def __init__(self, variable: str, fault: str, example: str = "") -> None:
        self.variable, self.fault, self.example = variable, fault, example
        super().__init__(f"{variable}: {fault}" + (f" Example: {variable}={example}" if example else ""))


class DatabaseUnreachable(SettingsError):
    """The database does not answer at the start."""
