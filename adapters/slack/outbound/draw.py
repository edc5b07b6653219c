"""Draws the pieces of a message as Slack blocks: a function for each piece, texts, and the limits."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import singledispatch

from adapters.screens.message.fit import MessageLimits, fit, fit_facts
from adapters.screens.message.pieces import (
    About,
    Actions,
    Chooser,
    Controls,
    Fact,
    Facts,
    Heading,
    Help,
    Mentioned,
    Mono,
    Opens,
    Output,
    Piece,
    Pressable,
    Rows,
    Screen,
    Since,
    Strong,
    Text,
    TurnList,
    Words,
)
from adapters.screens.text_fit import fits, pieces
from adapters.screens.ui_text import more_text
from adapters.screens.visible_text import readable
from adapters.slack.outbound.blocks import (
    MAX_MESSAGE_BLOCKS,
    MAX_MESSAGE_TEXT,
    MAX_TEXT,
    NOTHING,
    Block,
    actions,
    context,
    date_field,
    date_run,
    escaped,
    line,
    mention_run,
    mention_text,
    notification,
    numbered,
    plain,
    preformatted,
    quoted,
    rich,
    run,
    section,
    texts_in,
    weight,
)
from adapters.slack.outbound.controls import card_controls, element, link_button, main_element, turn_chooser
from adapters.slack.outbound.message import Metadata, SlackMessage, metadata
from agent_core.text.lines import counted, in_quotation_marks

MAX_INLINE_VALUE = 100
BLOCK_OVERHEAD = 10  # of each text, for its structure


def draw(screen: Screen, mark: Metadata | None = None) -> SlackMessage:
    """The message. `mark`: the metadata that identifies it, if its subject is not enough."""
    called = [mention for each in screen.mentions if (mention := mention_text(each))]
    summary = escaped(readable(screen.summary)) if screen.reads_all else notification(screen.summary)
    kind, subject = screen.subject
    mark = mark or (metadata(f"signoff_{kind}", **{kind: subject}) if kind else None)
    return SlackMessage(" ".join((*called, summary)), blocks_of(screen.pieces), mark)


def blocks_of(described: Sequence[Piece]) -> list[Block]:
    """The pieces of a message as blocks that fit it."""
    fitted = fit(described, LIMITS)
    openings = [opening for piece in fitted if isinstance(piece, Controls) for opening in piece.openings]
    thoughts = [piece for piece in fitted if isinstance(piece, Text) and piece.opens and piece.opens.verb == "thoughts"]
    beside = next((piece for piece in thoughts if piece.left), thoughts[0] if thoughts else None)
    blocks: list[Block] = []
    for piece in fitted:
        if isinstance(piece, Text) and piece is beside and piece.opens in openings:
            openings.remove(piece.opens)
            blocks += _text(piece, element(piece.opens))
        elif isinstance(piece, Controls):
            blocks += card_controls(piece, openings)
        else:
            blocks += _drawn(piece)
    return blocks


def facts_in(facts: Facts, room: int) -> list[Block]:
    """Preview and arguments alone, cut to `room` units."""
    return [*_drawn(fit_facts(facts, room, LIMITS))] if facts.facts else []


@singledispatch
def _drawn(piece: Piece) -> Iterator[Block]:
    """The blocks of a piece that was fitted."""
    raise TypeError(f"Slack draws no {type(piece).__name__}")


@_drawn.register
def _(text: Text) -> Iterator[Block]:
    return _text(text, _accessory(text.button))


@_drawn.register
def _(heading: Heading) -> Iterator[Block]:
    first, *others = heading.state or ("",)
    state = () if heading.is_asked else _runs((f"\n{heading.sign} {first}", *others))
    yield rich(line(run(heading.text, "bold"), *state))


@_drawn.register
def _(about: About) -> Iterator[Block]:
    head = line(run(about.name, "bold"), run(f"\n{about.role}"))
    yield rich(head, numbered(*about.goals)) if about.goals else rich(head)


@_drawn.register
def _(shown: Help) -> Iterator[Block]:
    told = shown.help
    meanings = [part for command, meaning in told.commands for part in (Mono(command), f" – {meaning}\n")]
    yield rich(line(run(f"{told.title}\n", "bold"), *_runs((*meanings, told.closing))))


@_drawn.register
def _(facts: Facts) -> Iterator[Block]:
    elements = [part for fact in facts.facts for part in _fact(fact)]
    if facts.beyond:
        elements.append(_aside(f"… {facts.beyond:,} more arguments: Show all"))
    yield rich(*_joined(elements))


@_drawn.register
def _(output: Output) -> Iterator[Block]:
    yield rich(preformatted(output.text), *([_aside("… Show all has the rest.")] if output.is_cut else []))


@_drawn.register
def _(turns: TurnList) -> Iterator[Block]:
    """The lines below their title; the time of a title stands below them."""
    times = [each for word in turns.title if (each := _time(word))]
    texts = [f"… {counted(turns.left, 'earlier command')}"] if turns.left else []
    texts += [each.signed_text for each in turns.lines]
    title = [run(f"{_plain_text(turns.title)}\n", "bold")] if turns.title else []
    yield rich(line(*title, run("\n".join(texts))))
    if times:
        yield {"type": "context", "elements": [date_field(times[-1])]}


@_drawn.register
def _(listed: Rows) -> Iterator[Block]:
    yield from (block for row in listed.rows for block in _drawn(row))
    yield from rest_line(listed.left, f" {listed.what}")


@_drawn.register
def _(controls: Controls) -> Iterator[Block]:
    yield from card_controls(controls)


@_drawn.register
def _(chooser: Chooser) -> Iterator[Block]:
    yield actions(turn_chooser(chooser.lines))


@_drawn.register
def _(row: Actions) -> Iterator[Block]:
    yield actions(*(_button(each, row.about) for each in row.buttons))


def _text(text: Text, accessory: Block | None) -> Iterator[Block]:
    times = [each for word in text.words if (each := _time(word))]
    is_rich = any(isinstance(word, Strong | Mono | Mentioned) for word in text.words)
    said = _plain_text(text.words)
    if text.left and text.role in ("text", "quote"):
        said += f"\n… {text.left:,} more characters."
    if text.style == "said" and accessory:  # a quotation has no room for a button
        said = in_quotation_marks(said)
    if text.style == "quote" or (text.style == "said" and not accessory):
        yield rich(quoted(*pieces(said, MAX_TEXT)))
    elif text.style == "aside":
        yield from map(context, pieces(said, MAX_TEXT))
    elif text.style == "small" and accessory is None:
        yield {"type": "context", "elements": [*_small(text.words), *map(date_field, times)]}
    elif is_rich and accessory is None and not times:
        yield rich(line(*_runs(text.words)))
    else:
        first, *others = pieces(said, MAX_TEXT)
        yield section(first, accessory, at=times[-1] if times else None)
        yield from map(section, others)


def _small(words: Words) -> Iterator[Block]:
    """The elements of a context block: only the words of Signoff before a mention stand beside it as mrkdwn."""
    for at, word in enumerate(words):
        if isinstance(word, Mentioned) and mention_text(word.id):
            yield {"type": "mrkdwn", "text": f"{_plain_text(words[:at])}{mention_text(word.id)}"}
            if after := _plain_text(words[at + 1 :]).removeprefix(" · "):
                yield plain(after)
            return
    yield plain(_plain_text(words))


def _time(word: object) -> datetime | None:
    return word.at if isinstance(word, Since) else word if isinstance(word, datetime) else None


def _plain_text(words: Words) -> str:
    """The words without their times, which stand beside the text, and without what joined these to it."""
    parts: list[str] = []
    for word in words:
        if _time(word):
            if parts:
                parts[-1] = parts[-1].removesuffix(" · ").removesuffix(", ")
        elif isinstance(word, Mentioned):
            parts.append(word.name)
        elif not isinstance(word, datetime | Since):
            parts.append(word if isinstance(word, str) else word.text)
    return "".join(parts)


def _runs(words: Iterable[object]) -> Iterator[Block]:
    return (_run(word) for word in words if word)


def _run(word: object) -> Block:
    match word:
        case Strong(text):
            return run(text, "bold")
        case Mono(text):
            return run(text, "code")
        case Mentioned(id, name):
            return mention_run(id) if mention_text(id) else run(name or NOTHING)
        case _:
            at = _time(word)
            return date_run(at) if at else run(str(word))


def _fact(fact: Fact) -> list[Block]:
    if not fact.text and not fact.left and not fact.is_block:
        return [line(run(fact.label, "bold"), run(" "), run(fact.instead or "empty", "italic"))]
    is_short = not fact.left and "\n" not in fact.text and fits(fact.text, MAX_INLINE_VALUE)
    if is_short and not fact.is_block:
        return [line(run(fact.label, "bold"), run(" "), run(fact.text, "code"))]
    shown = [line(run(fact.label, "bold")), *([preformatted(fact.text)] if fact.text else [])]
    return [*shown, _aside(more_text(fact.left))] if fact.left else shown


def _joined(elements: Sequence[Block]) -> list[Block]:
    """Join neighbouring lines to one element with line breaks, which every client displays in the same way."""
    joined: list[Block] = []
    for each in elements:
        last = joined[-1] if joined else each
        if joined and each["type"] == last["type"] == "rich_text_section":
            joined[-1] = line(*last["elements"], run("\n"), *each["elements"])
        else:
            joined.append(each)
    return joined


def _aside(text: str) -> Block:
    return line(run(text, "italic"))


def _accessory(button: Pressable | Opens | None) -> Block | None:
    if isinstance(button, Opens):
        return link_button(button)
    return element(button) if button else None


def _button(button: Pressable | Opens, about: str) -> Block:
    return link_button(button) if isinstance(button, Opens) else main_element(button, about)


def rest_line(count: int, what: str = "") -> list[Block]:
    """A line that tells how many entries a list leaves out; no line if `count` is not above 0."""
    return [context(f"and {count:,} more{what}")] if count > 0 else []


def _size(piece: Piece) -> int:
    """How much of the message's limit a piece uses, with a margin for its structure."""
    if isinstance(piece, Rows):
        return 0
    return sum(weight(text) + BLOCK_OVERHEAD for text in texts_in([*_drawn(piece)]))


LIMITS = MessageLimits(
    # Below Slack's limit, because Slack counts more than the texts: see MAX_MESSAGE_TEXT.
    message=MAX_MESSAGE_TEXT - 2_000,
    roomy={
        "headline": 200,
        "state": 500,
        "says": 1_500,
        "plan": 700,
        "detail": 500,
        "review": 1_000,
        "remark": 500,
        "footer": 300,
        "outcome": 1_260,
        "ended says": 300,
        "arguments": 150,
        "ended outcome": 1_260,
        "name": 160,
        "role": 1_000,
        "goals": 8_000,
        "text": 6_000,
        "quote": 6_000,
        "short": 600,
        "row": 400,
        "called": 300,
        "line": 158,
    },
    tight={},
    size=weight,
    quote_size=weight,
    box_size=weight,
    weight=weight,
    drawn_size=_size,
    fact=100,
    facts=60,
    most_label=200,
    least_label=8,
    rows=MAX_MESSAGE_BLOCKS - 15,
    lines_above=6,
    lines=16,
)
