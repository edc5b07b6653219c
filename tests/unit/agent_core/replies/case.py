"""One reply and what must come of it."""

from dataclasses import dataclass

from agent_core.model.command import CommandCall
from agent_core.model.model_calls import Reply, Usage


@dataclass(frozen=True, slots=True)
class Case:
    """A reply. It `gives` a call, or is unusable with a sentence that `says` these words."""

    name: str
    text: str
    gives: CommandCall | None = None
    says: str = ""
    finish_reason: str = "stop"

    @property
    def reply(self) -> Reply:
        """As it comes from the model."""
        return Reply(text=self.text, usage=Usage(), finish_reason=self.finish_reason)

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def write(text: str, filename: str = "a.txt") -> CommandCall:
    """The call that most of the replies mean."""
    return CommandCall("write_to_file", {"filename": filename, "text": text})


def shell(line: str) -> CommandCall:
    """The call that must never be got wrong."""
    return CommandCall("execute_shell", {"command_line": line})
