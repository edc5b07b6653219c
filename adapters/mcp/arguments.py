"""The arguments of the MCP tools as checked, typed classes, and the sentences on wrong ones."""

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.screens.text_fit import cut
from adapters.screens.visible_text import one_line
from agent_core.errors import InvalidInput

DEFAULT_WAIT_SECONDS, MAX_WAIT_SECONDS = 50, 600  # many clients give a call up after 60 seconds
MAX_NAME_CHARACTERS, MAX_PATH_CHARACTERS = 200, 4_096
CURSOR = r"^$|^[0-9]{0,9}\.[0-9a-z~]{1,64}$"  # the page of turns before a number, and in it the entries before an id
MAX_PROBLEMS, MAX_PROBLEM_CHARACTERS = 5, 200

AgentName = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS, description="The agent's id, or its name.")
]
A = TypeVar("A", bound="Arguments")


class Arguments(BaseModel):
    """The arguments of a tool. Unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ListAgents(Arguments):
    """Which agents to list."""

    archived: bool = Field(False, description="List archived agents instead of the others.")
    after: str = Field("", max_length=MAX_NAME_CHARACTERS, description="The value of `next` of the page before.")


class CreateAgent(Arguments):
    """The form of a new agent. The service checks the texts."""

    name: str = Field(description="At most 80 characters; no other agent of the channel may have it.")
    role: str = Field("", description="What the agent is, in at most 1,000 characters.")
    goals: list[str] = Field(description="One to five goals of at most 2,000 characters each.")


class ReadThread(Arguments):
    """Which part of a thread to read."""

    agent: AgentName
    before: str = Field("", pattern=CURSOR, description="The value of `earlier` of the page after.")


class ReadTurn(Arguments):
    """Which turn to read."""

    agent: AgentName
    turn: int = Field(ge=1, description="The turn's number.")


class Wait(Arguments):
    """For what to wait, and how long."""

    agent: AgentName
    until: Literal["approval", "end"] = Field(
        "approval",
        description="`approval`: until it needs people, or is at rest. `end`: until it is at rest.",
    )
    seconds: int = Field(DEFAULT_WAIT_SECONDS, ge=1, le=MAX_WAIT_SECONDS, description="The longest wait.")


class AddNote(Arguments):
    """A note. The service checks its text."""

    agent: AgentName
    text: str = Field(description="At most 20,000 characters.")


class ListFiles(Arguments):
    """Which files to list."""

    agent: AgentName
    after: str = Field("", max_length=MAX_PATH_CHARACTERS, description="The value of `next` of the page before.")


class ReadFile(Arguments):
    """Which part of a file to read, and in which form."""

    agent: AgentName
    path: str = Field(min_length=1, max_length=MAX_PATH_CHARACTERS, description="As list_files gives it.")
    offset: int = Field(0, ge=0, description="Begin at this character: `next` of the part before.")
    base64: bool = Field(False, description="Give the exact bytes of the whole file in base64, as for a picture.")


def parse(kind: type[A], given: object) -> A:
    """The arguments of a call; raise InvalidInput with a sentence for each wrong one."""
    try:
        return kind.model_validate(given or {})
    except ValidationError as wrong:
        faults = wrong.errors(include_url=False, include_input=False, include_context=False)[:MAX_PROBLEMS]
        sentences = ((".".join(map(str, fault["loc"])), fault["msg"]) for fault in faults)
        raise InvalidInput({name: _sentence(name, said) for name, said in sentences}) from None


def _sentence(name: str, said: str) -> str:
    shown = cut(one_line(name), MAX_PROBLEM_CHARACTERS) or "arguments"
    return f"{shown}: {cut(one_line(said), MAX_PROBLEM_CHARACTERS)}."
