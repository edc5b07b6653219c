"""Formats cards, messages and prompts as rich's texts for the terminal, wrapped and styled. Pure functions.

Every line with text of the model, a result or a person begins with a bar, and no line is wider than the terminal, so
that such text cannot imitate a card or a prompt. A line that is too long continues after a dashed bar, so that wrapping
differs from a line break in the text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from adapters.screens.cards import Card, Labelled, lease_text, turn_card
from adapters.screens.preview_repeats import AS_CHANGED, STANDS_ABOVE
from adapters.screens.risk_labels import Level
from adapters.screens.ui_text import head_and_tail
from adapters.screens.visible_text import one_line, readable
from agent_core.model.agent import Agent
from agent_core.model.command import Preview
from agent_core.model.turn import Turn
from agent_core.text.lines import counted

BAR, DASHED, DOT = "│ ", "┊ ", "• "
MIN_WIDTH_CELLS, TAB_CELLS = 20, 8
RESULT_HEAD_ROWS, RESULT_TAIL_ROWS = 28, 12
OTHER_ROWS, MIN_FOLDED_ROWS = 12, 10  # of a card besides its preview; of a preview, however low the screen
LEASE_KEY = " · y -N next N"
PROPOSED = f"y approve{LEASE_KEY} · n reject · e edit · s self-review · x stop · ? help\nwords reject · words? ask"
INTERRUPTED = "r run again · i it ran · s skip · x stop · ? help"
LEASE_HELP = "y -N, y N  approves this command and the next ones, N in total\n"
PROPOSED_HELP = f"""y, yes    the command runs as shown
{LEASE_HELP}n, no     the command does not run; at a keyboard you are asked for the reason
e         edit the arguments, then it runs
s         the model reviews its own proposal, then you are asked again
v         view the card with all lines of its preview and arguments
x         stop the agent and end
!help     more commands; each one that begins with ! takes effect at once
A key alone acts at once where the terminal has colours; elsewhere press Enter.
Any other text rejects the command, and the agent reads it as the reason.
Text that ends with ? asks the model and decides nothing. A single short word decides nothing."""
INTERRUPTED_HELP = """r  run the command again
i  it ran: go on as if it had succeeded
s  skip it: the agent thinks again
v  view the card with all its lines
x  stop the agent and end
!help  more commands
Anything else decides nothing."""
NO_LETTERS = re.compile(r"[\W_]+")
# HTML, entities, links and pictures stay as they are written: nothing that a model writes is hidden or followed.
PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
PARSER.disable(["entity", "link", "image", "autolink", "reference"])

TONES = {"open": "yellow", "good": "green", "bad": "red"}
LEVELS: dict[Level, str] = {
    "neutral": "dim",
    "delete": "bold red",
    "execute": "bold yellow",
    "publish": "bold blue",
    "spend": "bold magenta",
}
SIGNS = {"+": "green", "-": "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The width of the output. `colour`: whether it has colours, and Markdown is drawn.

    `height`: the rows of the screen, beyond which previews and arguments are folded; 0 folds nothing.
    """

    width: int = 100
    height: int = 0
    colour: bool = False


PLAIN = Look()


def card_text(agent: Agent, turn: Turn, look: Look) -> Text:
    """The card: thoughts, every argument verbatim, preview and cost; what is longer than the screen is folded."""
    card = turn_card(agent, turn)
    rows = [*_head(card, look), *_thoughts(card, look), *_command(card, look)]
    if card.outcome:
        rows += _outcome(card, look)
    rows.append(_footer(card, one_line(lease_text(agent))))
    return _text(rows)


def change_text(agent: Agent, turn: Turn, look: Look) -> Text:
    """The new state of a card that was written before: headline, edited arguments, and outcome."""
    card = turn_card(agent, turn)
    return _text([*_head(card, look), *_edited(card, turn, replace(look, height=0)), *_outcome(card, look)])


def review_text(agent: Agent, turn: Turn, look: Look) -> Text:
    """The self-review of a proposal whose card was written before."""
    return _text(_labelled(_review(turn_card(agent, turn)), look, is_markdown=True))


def reply_text(reply: str, look: Look) -> Text:
    """An unusable reply of the model in full, with a label. Nothing if the reply is empty."""
    return _text(_labelled([Labelled("The model's reply", reply)], look)) if reply else Text()


def said_text(text: str, look: Look) -> Text:
    rows = [*_barred(text, look)]
    return _text([Text(DOT) + rows[0][len(BAR) :], *rows[1:]])


def prompt_text(said: str, look: Look) -> Text:
    """Lines that say what can be typed, and the input prompt."""
    rows = [Text(row, "bold") for line in said.split("\n") for row in _wrapped(line, max(look.width, MIN_WIDTH_CELLS))]
    return _text(rows) + "> "


def keys_of(turn: Turn, *, can_approve_more: bool = True) -> str:
    """The answers that a person can type. `can_approve_more`: whether `y -N` is offered."""
    proposed = PROPOSED if can_approve_more and not turn.needs_two else PROPOSED.replace(LEASE_KEY, "")
    return INTERRUPTED if turn.state == "interrupted" else proposed


def help_of(turn: Turn, *, covered: str = "") -> str:
    """What the keys do; `covered`: what `y -N` covers, "" if it is not offered."""
    lease = f"{LEASE_HELP}          {covered}\n" if covered else ""
    return INTERRUPTED_HELP if turn.state == "interrupted" else PROPOSED_HELP.replace(LEASE_HELP, lease)


def value_text(text: str, look: Look) -> Text:
    """A value verbatim, each line after a bar."""
    return _text([*_barred(text, look)])


def _head(card: Card, look: Look) -> list[Text]:
    rows = [Text(), Text(f"━━ {one_line(card.headline)}", "bold")]
    rows += _barred(one_line(card.standing), look, TONES.get(card.tone, ""))
    said = " ".join(filter(None, (card.remark, card.edits)))
    return [*rows, *_barred(said, look)] if said else rows


def _thoughts(card: Card, look: Look) -> list[Text]:
    shown = [Labelled("Thoughts", card.says)] if card.says else []
    if not card.is_brief:
        shown += [Labelled("Plan", "\n".join(f"- {step}" for step in card.plan))] if card.plan else []
        shown += card.details
    if card.model_reasoning:
        shown.append(Labelled("The model's own reasoning", head_and_tail(card.model_reasoning)[0]))
    return _labelled([*shown, *_review(card)], look, is_markdown=True)


def _review(card: Card) -> list[Labelled]:
    return [Labelled("Self-review", card.review)] if card.review else []


def _command(card: Card, look: Look) -> list[Text]:
    rows = [Text(f"Command {one_line(card.command)}", "bold")]
    return [*rows, *(_preview(card.preview, look) if card.preview else ()), *_arguments(card, look)]


def _arguments(card: Card, look: Look) -> list[Text]:
    """The arguments; a line without a bar, which no argument can write, for what the preview above shows in full.

    A text of which the preview shows the change alone is written whole: a terminal has nothing to open.
    """
    rows = list[Text]()
    for part in card.arguments:
        if part.instead.startswith(AS_CHANGED):
            part = replace(part, instead="")
        if part.instead in STANDS_ABOVE:
            continue
        label = f"{one_line(part.label)}:{f' ({part.instead})' if part.instead else ''}"
        rows += [Text(label, "dim"), *(() if part.instead else _folded([*_barred(part.text, look)], look))]
    return rows


def _folded(rows: Sequence[Text], look: Look) -> Sequence[Text]:
    """The first and last rows, if all are more than the screen has room for, with how many are left out."""
    room = max(look.height - OTHER_ROWS, MIN_FOLDED_ROWS) if look.height else len(rows)
    if (left := len(rows) - room) <= 0:
        return rows
    mark = Text(f"… {counted(left, 'line')} left out; v shows them.", "bold")
    return [*rows[: room * 2 // 3], mark, *rows[room * 2 // 3 - room :]]


def _preview(preview: Preview, look: Look) -> list[Text]:
    signs = SIGNS if preview.kind == "diff" else {}
    rows = [row for line in preview.body.splitlines() for row in _barred(line, look, signs.get(line[:1], ""))]
    return [Text("Preview:", "dim"), *_barred(preview.title, look), *_folded(rows, look)]


def _outcome(card: Card, look: Look) -> list[Text]:
    rows = [*_barred(card.outcome, look)] if card.outcome else []
    left = len(rows) - RESULT_HEAD_ROWS - RESULT_TAIL_ROWS
    if left <= 0:
        return rows
    mark = Text(f"… {counted(left, 'line')} left out; --json gives them all.")
    return [*rows[:RESULT_HEAD_ROWS], mark, *rows[-RESULT_TAIL_ROWS:]]


def _footer(card: Card, lease: str) -> Text:
    """The risk classes with their colours and signs, then cost and lease."""
    risks = Text(" + ").join(Text(f"{label.sign} {label.word}".strip(), LEVELS[label.level]) for label in card.risks)
    return risks + Text("".join(f" · {part}" for part in (*card.footer, lease) if part), "dim")


def _edited(card: Card, turn: Turn, look: Look) -> list[Text]:
    """Until the command has ended: its edited arguments. After that: what was edited, and the preview of what ran.

    Empty if nothing was edited.
    """
    if turn.call == turn.proposal.call:
        return []
    if turn.state != "done":
        return _arguments(card, look)
    return [*_labelled(card.changes, look), *(_preview(card.preview, look) if card.preview else ())]


def _labelled(parts: Sequence[Labelled], look: Look, *, is_markdown: bool = False) -> list[Text]:
    body = _drawn if is_markdown and look.colour else _barred
    return [row for part in parts for row in (Text(f"{one_line(part.label)}:", "dim"), *body(part.text, look))]


def _drawn(text: str, look: Look) -> Iterator[Text]:
    """The rows of a text in Markdown, with its line breaks; as it is written, if a letter would be lost or moved."""
    drawn = Markdown("", code_theme="ansi_dark")
    drawn.parsed = PARSER.parse(readable(text))
    for child in (child for token in drawn.parsed for child in token.children or ()):
        child.type = child.type.replace("softbreak", "hardbreak")
    lines = Console(width=max(look.width, MIN_WIDTH_CELLS) - len(BAR)).render_lines(drawn, pad=False)
    rows = [Text.assemble(BAR, *((piece.text, piece.style or "") for piece in line)) for line in lines]
    is_whole = NO_LETTERS.sub("", "".join(map(str, rows))) == NO_LETTERS.sub("", readable(text))
    yield from dropwhile(lambda row: str(row).rstrip() == BAR.rstrip(), rows) if is_whole else _barred(text, look)


def _barred(text: str, look: Look, style: str = "") -> Iterator[Text]:
    for line in readable(text).split("\n"):
        first, *rest = _wrapped(line.removesuffix("\r"), max(look.width, MIN_WIDTH_CELLS) - len(BAR))
        yield Text(BAR + first, style)
        yield from (Text(DASHED + piece, style) for piece in rest)


def _wrapped(line: str, width: int) -> list[str]:
    """Split a line into pieces of at most `width` cells, after a space where possible; no character is lost."""
    pieces, start, used, space = [], 0, 0, 0
    for place, character in enumerate(line):
        cells = _cells(character)
        if used + cells > width:
            end = space if space > start else place
            pieces.append(line[start:end])
            start, used = end, sum(map(_cells, line[end:place]))
        used += cells
        space = place + 1 if character == " " else space
    return [*pieces, line[start:]]


def _cells(character: str) -> int:
    return TAB_CELLS if character == "\t" else cell_len(character)


def _text(rows: Sequence[Text]) -> Text:
    return Text("\n").join([*rows, Text()])


def drawing_of(before: Turn | None, turn: Turn) -> Callable[[Agent, Turn, Look], Text]:
    """Choose the function that formats a turn whose state was last written as `before` (None: never)."""
    if before is None or before.id != turn.id:
        return card_text
    if visible_state(replace(before, review=turn.review)) == visible_state(turn):
        return review_text
    return card_text if turn.is_open else change_text


def visible_state(turn: Turn) -> tuple[str, str, str]:
    """The values on which the look of a turn's card depends; approved and running look the same."""
    return turn.id, turn.stage.replace("approved", "running"), turn.control_hash
