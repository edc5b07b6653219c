"""A line as its author typed it: text, and mentions as tokens. Verbs and addressees are read from the text alone.

The bearer of a mentioned name chose that name, not the author, so no name is ever parsed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from agent_core.text.lines import short_name


@dataclass(frozen=True, slots=True)
class Mention:
    """A person, group or channel that the platform identified by an id; `name` is what its bearer or maker chose.

    `is_somebody`: a person or a group of people, not a channel. `id`: "" for a channel.
    """

    name: str
    sign: str = "@"
    is_somebody: bool = True
    id: str = ""

    @property
    def shown(self) -> str:
        """The mention as one word that begins with its sign, also for a line that is parsed."""
        return f"{self.sign}{short_name(self.name)}"


@dataclass(frozen=True, slots=True)
class TypedText:
    """Text and mentions in order. `is_order`: whether it may hold a verb and an addressee.

    `to`: the person whose message the author replies to; a verb or an addressee that is typed first still counts.
    """

    parts: tuple[str | Mention, ...]
    is_order: bool = True
    to: Mention | None = None

    @classmethod
    def of(cls, parts: Iterable[str | Mention]) -> Self:
        """The parts without empty texts and without white space at both ends."""
        kept = [part for part in parts if part]
        if kept and isinstance(kept[0], str):
            kept[0] = kept[0].lstrip()
        if kept and isinstance(kept[-1], str):
            kept[-1] = kept[-1].rstrip()
        return cls(tuple(part for part in kept if part))

    @property
    def head(self) -> str:
        """The text before the first mention: the only place of a verb and of an addressee."""
        return self.parts[0] if self.is_order and self.parts and isinstance(self.parts[0], str) else ""

    @property
    def is_to_somebody(self) -> bool:
        """Whether the line replies to a person's message, or begins with the mention of a person or a group."""
        first = self.to or (self.parts[0] if self.parts else "")
        return isinstance(first, Mention) and first.is_somebody

    @property
    def mentions_somebody(self) -> bool:
        return any(isinstance(part, Mention) and part.is_somebody for part in (self.to, *self.parts))

    @property
    def shown(self) -> str:
        """The line as people and agents read it, with the person whom it answers."""
        return (f"{self.to.shown} " if self.to else "") + self.order

    @property
    def order(self) -> str:
        """The line for a parser of verbs: each mention is one word that begins with its sign."""
        return self._joined(lambda mention: mention.shown)

    @property
    def order_by_ids(self) -> str:
        """The line for a parser that has to know for certain who is meant: a mention is `<@ID>`."""
        return self._joined(lambda mention: f"<@{mention.id}>" if mention.is_somebody else mention.shown)

    @property
    def own_words(self) -> str:
        """What the author typed, without mentions."""
        return self._joined(lambda _mention: " ").strip()

    def after(self, characters: int) -> "TypedText":
        """The line without the first characters of its `head`."""
        return TypedText.of((self.head[characters:], *self.parts[1:]))

    def _joined(self, text_of: Callable[[Mention], str]) -> str:
        return "".join(part if isinstance(part, str) else text_of(part) for part in self.parts)


def typed(text: str) -> TypedText:
    """A line from a place that has no mentions: a form, the page, a terminal."""
    return TypedText.of((text,))


def handed_on(text: str) -> TypedText:
    """The words of a file, which somebody else may have written: a reply, and never an order."""
    return TypedText(TypedText.of((text,)).parts, is_order=False)
