"""Classes of what a message is made of, such as headings, facts, rows and controls. All texts are plain strings."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from adapters.screens.buttons import ViewButton
from adapters.screens.cards import Card
from adapters.screens.turn_lines import TurnLine
from adapters.screens.ui_text import HelpText
from agent_core.model.agent import Agent
from agent_core.model.turn import Turn


class Pressable(Protocol):
    """A button: `label` stands on it, and `str` is what a click sends back."""

    @property
    def label(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Opens:
    """A button that opens a web address. `subject`: the agent or turn that it is about."""

    label: str
    url: str
    subject: str


@dataclass(frozen=True, slots=True)
class Strong:
    """A text that stands out, such as a name."""

    text: str


@dataclass(frozen=True, slots=True)
class Mono:
    """A text to type, such as a command."""

    text: str


@dataclass(frozen=True, slots=True)
class Mentioned:
    """Calls a person or a group, by the platform's id. `name` stands there if the id is not one."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Since:
    """A time since when something holds: "2 hours ago" where the platform can say so."""

    at: datetime


Words: TypeAlias = tuple[str | datetime | Strong | Mono | Mentioned | Since, ...]
# What a text is for: each platform has a limit for each.
Role: TypeAlias = Literal[
    "headline", "state", "says", "plan", "detail", "review", "remark", "footer", "outcome",
    "ended says", "arguments", "ended outcome",
    "name", "role", "goals", "text", "quote", "short", "row", "called", "line",
]  # fmt: skip
# plain: a paragraph. small: less important, on one line. aside: a remark of Signoff beside the conversation.
# said: what a model said, which must not look like Signoff's own words. quote: what a person said.
Style: TypeAlias = Literal["plain", "small", "aside", "said", "quote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A paragraph, with a button beside it where the platform has room for one.

    `opens`: the button that shows the whole text if it is cut. `left`: how many characters `fit` cut away.
    """

    words: Words
    role: Role = "text"
    style: Style = "plain"
    button: Pressable | Opens | None = None
    opens: ViewButton | None = None
    left: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether `fit` cut any of it away."""
        return self.left > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The headline of a card and, below its sign, the state. `is_asked`: its buttons say already that it waits.

    `opens`: the button that shows it whole if `fit` cut it (`is_cut`).
    """

    text: str
    sign: str
    state: Words
    opens: ViewButton
    is_asked: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class About:
    """An agent's name, role and goals."""

    name: str
    role: str
    goals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Help:
    """The commands that people can type."""

    help: HelpText


@dataclass(frozen=True, slots=True)
class Fact:
    """An argument or a preview. `language`: for syntax highlighting. `instead`: a line that stands for the text, or "".

    `left`: how many characters of the text `fit` cut away. `is_block`: shown as a block even if it is short.
    """

    label: str
    text: str
    instead: str = ""
    language: str = ""
    is_block: bool = False
    left: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What a command was called with. `more`: shown below if `is_cut`. `beyond`: how many `fit` left out."""

    facts: tuple[Fact, ...]
    more: Text
    beyond: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a command wrote, in a box; of a long text `fit` keeps the first and the last lines."""

    text: str
    role: Literal["outcome", "ended outcome"]
    opens: ViewButton
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class TurnList:
    """Turns on one line each, below a title if there is one; of many, the newest."""

    lines: tuple[TurnLine, ...]
    title: Words = ()
    left: int = 0

    @property
    def is_folded(self) -> bool:
        """Whether it is all that is shown of these turns."""
        return bool(self.title)


@dataclass(frozen=True, slots=True)
class Rows:
    """A list. `what`: what its rows are, in the plural. `left`: how many `fit` left out."""

    rows: tuple[Text, ...]
    what: str
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What a person can do on a card. `openings`: buttons that show more. `earlier`: turns that share the card.

    `turn`: what is decided, for the confirmation of Approve ×N.
    """

    agent: Agent
    card: Card
    turn: Turn
    openings: tuple[ViewButton, ...] = ()
    earlier: tuple[TurnLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Chooser:
    """A menu of turns; choosing one shows all of it."""

    lines: tuple[TurnLine, ...]


@dataclass(frozen=True, slots=True)
class Actions:
    """Buttons in a row. `about`: the name of the agent that they act on, for confirmations."""

    buttons: tuple[Pressable | Opens, ...]
    about: str = ""


Piece: TypeAlias = Text | Heading | About | Help | Facts | Output | TurnList | Rows | Controls | Chooser | Actions


@dataclass(frozen=True, slots=True)
class Screen:
    """A message. `summary`: what notifications show, on one line, and screen readers read.

    `subject`: what it shows, as a kind and an id ("turn", "agent", "notice"), by which it is found if it may have been
    posted already. `mentions`: whom it calls, by id. `reads_all`: whether screen readers need the whole summary.
    """

    pieces: tuple[Piece, ...]
    summary: str
    subject: tuple[str, str] = ("", "")
    mentions: tuple[str, ...] = ()
    reads_all: bool = False


Link: TypeAlias = Callable[[Agent], str]
