"""Every error raised on purpose, sorted by who has to act on it.

SignoffError
├── PersonError                the person at the surface reads it
│   ├── InvalidInput           a field they filled
│   ├── NotFound               what they asked for is not in this channel
│   ├── NotAllowed             they may not
│   ├── AlreadyDecided         somebody was faster
│   ├── ChangedSinceShown      they pressed a card that shows something else than what would run
│   └── NotPossible            the agent is in another state
├── ModelError                 the loop waits, pauses or tells the model
│   ├── ModelUnavailable       try again, perhaps at a told time
│   ├── ModelRefused           trying again will not help
│   ├── OverBudget             the call was not made
│   └── UnusableReply          the model is told what was wrong
├── MemoryAway                 the agent goes on without its long-term memory, which catches up
├── CommandError               the model reads it as the command's result
│   └── OutsideWorkspace       a path that leaves the agent's folder
├── SurfaceError               the loop shows it later or pauses the agent
│   ├── SurfaceBusy            try again, perhaps at a told time
│   └── ThreadGone             the thread, the channel or the right to write is gone
├── Conflict                   a unit of work is repeated
├── DatabaseAway               it is tried again; what was not saved was not done
├── Superseded                 another worker took the agent: this one stands back
└── SettingsError              the operator reads one line and the process ends
"""

from datetime import datetime


class SignoffError(Exception):
    """Something Signoff expected could go wrong did."""


class PersonError(SignoffError):
    """What was asked cannot be done; the message is for the person who asked."""


class InvalidInput(PersonError):
    """What was filled in cannot be used: `problems` maps each field to a sentence."""

    def __init__(self, problems: dict[str, str]) -> None:
        self.problems = problems
        super().__init__(" ".join(problems.values()))


class NotFound(PersonError):
    """There is no such thing in this channel."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"There is no {kind} {name} in this channel.")


class NotAllowed(PersonError):
    """The person does not have the right; `why` completes the sentence."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"you may not {why}")


class AlreadyDecided(PersonError):
    """Somebody decided the turn before: `verb` is what became of it (approved, rejected, withdrawn)."""

    def __init__(self, verb: str, by: str, at: datetime) -> None:
        self.verb, self.by, self.at = verb, by, at
        super().__init__(f"already {verb} by {by}, {at:%H:%M} UTC")


class ChangedSinceShown(PersonError):
    """What was used shows another state of the turn, so nothing was decided. `remark` says what changed."""

    def __init__(self, number: int, remark: str = "") -> None:
        self.number, self.remark = number, remark
        what = remark or "What it would run is not what was shown there."
        super().__init__(
            f"Nothing was decided: turn {number} changed after what you used was shown. {what} Look again."
        )


class NotPossible(PersonError):
    """The agent or turn is in a state in which this means nothing."""


class ModelError(SignoffError):
    """The language model did not give a reply that can be used."""


class ModelUnavailable(ModelError):
    """The endpoint asks to be tried again, after `retry_after` seconds if it said so."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(why)


class ModelRefused(ModelError):
    """The endpoint will not answer this however often it is asked: a wrong key, an unknown model."""


class OverBudget(ModelError):
    """The call may cost more than a budget leaves, so it was not made; the message says what to do."""


class UnusableReply(ModelError):
    """The reply holds no command that can be run; the message tells the model what was wrong, `brief` tells people."""

    def __init__(self, why: str, brief: str = "") -> None:
        self.brief = brief or why
        super().__init__(why)


class MemoryAway(SignoffError):
    """The index of long-term memory cannot be reached, or refuses; the message says why, without a key."""


class CommandError(SignoffError):
    """A command could not do its work; the message is one sentence for the model."""


class OutsideWorkspace(CommandError):
    """A path that is not inside the agent's workspace."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path!r} is not a path inside the workspace: use a relative path without '..' or links out.")


class SurfaceError(SignoffError):
    """The chat platform did not take what was to be shown."""


class SurfaceBusy(SurfaceError):
    """The platform asks to be tried again, after `retry_after` seconds if it said so."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(why)


class ThreadGone(SurfaceError):
    """The agent's thread cannot be written to any more; the message says why."""


class Conflict(SignoffError):
    """A record read in this unit of work was saved elsewhere since: nothing of the unit was saved."""


class DatabaseAway(SignoffError):
    """The database cannot be reached at the moment."""


class Superseded(SignoffError):
    """Another worker has taken the agent; what this one was about to save is void."""


class SettingsError(SignoffError):
    """A setting is missing or wrong: the message names the variable, the fault and an example."""

    def __init__(self, variable: str, fault: str, example: str) -> None:
        self.variable, self.fault, self.example = variable, fault, example
        super().__init__(f"{variable}: {fault} Example: {variable}={example}")
