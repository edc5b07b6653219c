"""Formats cards, messages and prompts as lines of text for the terminal, wrapped and coloured. Pure functions.

Every line with text of the model, a result or a person begins with a bar, and no line is wider than the terminal, so
that such text cannot imitate a card or a prompt. A line that is too long continues after a dashed bar, so that wrapping
differs from a line break in the text.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
LEASE_KEY = " · y -N approve the next N"
PROPOSED = f"y approve{LEASE_KEY} · e edit · s self-review · n stop · ? help · words reject · words? ask"
INTERRUPTED = "r run again · i it ran · s skip · n stop · ? help"
LEASE_HELP = "y -N, y N  this command and the next ones run without asking, N in total\n"
PROPOSED_HELP = f"""y, yes    the command runs as shown
{LEASE_HELP}e         edit the arguments, then it runs
s         the model reviews its own proposal, then you are asked again
a         show the card again with all lines of its preview and arguments
n         stop the agent and end
!help     more commands; each one that begins with ! takes effect at once
Any other text rejects the command, and the agent reads it as the reason. Text that ends with ? asks the model and
decides nothing. A single short word decides nothing."""
INTERRUPTED_HELP = """r  run the command again
i  it ran: go on as if it had succeeded
s  skip it: the agent thinks again
a  show the card again with all its lines
n  stop the agent and end
!help  more commands
Anything else decides nothing."""
SEND = "Press Enter to send it, or type something else instead."
Style = Literal["bold", "dim", "red", "green", "yellow", "blue", "magenta"]
CODES: dict[Style, int] = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35}

TONES: dict[str, list[Style]] = {"open": ["yellow"], "good": ["green"], "bad": ["red"]}
LEVELS: dict[Level, list[Style]] = {
    "neutral": ["dim"],
    "delete": ["bold", "red"],
    "execute": ["bold", "yellow"],
    "publish": ["bold", "blue"],
    "spend": ["bold", "magenta"],
}
SIGNS: dict[str, list[Style]] = {"+": ["green"], "-": ["red"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The width of the output and whether it has colour.

    `height`: the rows of the screen, beyond which previews and arguments are folded; 0 folds nothing.
    """

    width: int = 100
    height: int = 0
    colour: bool = False

    def paint(self, text: str, *styles: Style) -> str:
        """The text in these styles, if colour is on."""
        if not (self.colour and styles and text):
            return text
        return f"\x1b[{';'.join(str(CODES[style]) for style in styles)}m{text}\x1b[0m"


PLAIN = Look()


def card_text(agent: Agent, turn: Turn, look: Look) -> str:
    """The card: thoughts, every argument verbatim, preview and cost; what is longer than the screen is folded."""
    card = turn_card(agent, turn)
    rows = [*_head(card, look), *_thoughts(card, look), *_command(card, look)]
    if card.outcome:
        rows += _outcome(card, look)
    rows.append(_footer(card, one_line(lease_text(agent)), look))
    return _text(rows)


def change_text(agent: Agent, turn: Turn, look: Look) -> str:
    """The new state of a card that was written before: headline, edited arguments, and outcome."""
    card = turn_card(agent, turn)
    return _text([*_head(card, look), *_edited(card, turn, replace(look, height=0)), *_outcome(card, look)])


def review_text(agent: Agent, turn: Turn, look: Look) -> str:
    """The self-review of a proposal whose card was written before."""
    return _text(_labelled(_review(turn_card(agent, turn)), look))


def reply_text(reply: str, look: Look) -> str:
    """An unusable reply of the model in full, with a label. Return "" if the reply is empty."""
    return _text(_labelled([Labelled("The model's reply", reply)], look)) if reply else ""


def said_text(text: str, look: Look) -> str:
    rows = [*_barred(text, look)]
    return _text([DOT + rows[0].removeprefix(BAR), *rows[1:]])


def question(turn: Turn, look: Look, *, can_approve_more: bool = True) -> str:
    """The answers that a person can type, and the input prompt. `can_approve_more`: whether `y -N` is offered."""
    proposed = PROPOSED if can_approve_more and not turn.needs_two else PROPOSED.replace(LEASE_KEY, "")
    keys = INTERRUPTED if turn.state == "interrupted" else proposed
    return f"{look.paint(keys, 'bold')}\n> "


def server_question(wanted: str, look: Look) -> str:
    """What a person can type while a tool server asks, and the input prompt."""
    return f"{look.paint(f'Answer the server: {wanted} · decline · stop', 'bold')}\n> "


def help_text(turn: Turn, look: Look, *, covered: str = "") -> str:
    """What the keys do; `covered`: what `y -N` covers, "" if it is not offered."""
    lease = f"{LEASE_HELP}          {covered.partition('. ')[2]}\n" if covered else ""
    proposed = PROPOSED_HELP.replace(LEASE_HELP, lease)
    return said_text(INTERRUPTED_HELP if turn.state == "interrupted" else proposed, look)


def unclear_text(word: str, look: Look) -> str:
    """The message that a typed word is none of the possible answers."""
    said = f"Nothing was decided: “{word}” is not a key here. y approves, n stops, !reject {word} rejects."
    return said_text(said, look)


def confirmation(turn: Turn, *, is_question: bool, look: Look) -> str:
    """What the typed text will do once it is sent, and the input prompt."""
    does = "asks about" if is_question else "rejects"
    said = f"This {does} turn {turn.number} with these words. {SEND}"
    return f"{look.paint(said, 'bold')}\n> "


def value_text(text: str, look: Look) -> str:
    """A value verbatim, each line after a bar."""
    return _text([*_barred(text, look)])


def _head(card: Card, look: Look) -> list[str]:
    styles = TONES.get(card.tone, [])
    rows = ["", look.paint(f"━━ {one_line(card.headline)}", "bold")]
    rows += [look.paint(row, *styles) for row in _barred(one_line(card.standing), look)]
    said = " ".join(filter(None, (card.remark, card.edits)))
    return [*rows, *_barred(said, look)] if said else rows


def _thoughts(card: Card, look: Look) -> list[str]:
    shown = [Labelled("Thoughts", card.says)] if card.says else []
    if not card.is_brief:
        shown += [Labelled("Plan", "\n".join(f"- {step}" for step in card.plan))] if card.plan else []
        shown += card.details
    if card.model_reasoning:
        shown.append(Labelled("The model's own reasoning", head_and_tail(card.model_reasoning)[0]))
    return _labelled([*shown, *_review(card)], look)


def _review(card: Card) -> list[Labelled]:
    return [Labelled("Self-review", card.review)] if card.review else []


def _command(card: Card, look: Look) -> list[str]:
    rows = [look.paint(f"Command {one_line(card.command)}", "bold")]
    return [*rows, *(_preview(card.preview, look) if card.preview else ()), *_arguments(card, look)]


def _arguments(card: Card, look: Look) -> list[str]:
    """The arguments; a line without a bar, which no argument can write, for what the preview above shows in full.

    A text of which the preview shows the change alone is written whole: a terminal has nothing to open.
    """
    rows = []
    for part in card.arguments:
        if part.instead.startswith(AS_CHANGED):
            part = replace(part, instead="")
        if part.instead in STANDS_ABOVE:
            continue
        label = look.paint(f"{one_line(part.label)}:{f' ({part.instead})' if part.instead else ''}", "dim")
        rows += [label, *(() if part.instead else _folded([*_barred(part.text, look)], look))]
    return rows


def _folded(rows: Sequence[str], look: Look) -> Sequence[str]:
    """The first and last rows, if all are more than the screen has room for, with how many are left out."""
    room = max(look.height - OTHER_ROWS, MIN_FOLDED_ROWS) if look.height else len(rows)
    if (left := len(rows) - room) <= 0:
        return rows
    mark = look.paint(f"… {counted(left, 'line')} left out; a shows them.", "bold")
    return [*rows[: room * 2 // 3], mark, *rows[room * 2 // 3 - room :]]


def _preview(preview: Preview, look: Look) -> list[str]:
    rows = list[str]()
    for line in preview.body.splitlines():
        styles = SIGNS.get(line[:1], []) if preview.kind == "diff" else []
        rows += [look.paint(row, *styles) for row in _barred(line, look)]
    return [look.paint("Preview:", "dim"), *_barred(preview.title, look), *_folded(rows, look)]


def _outcome(card: Card, look: Look) -> list[str]:
    rows = [*_barred(card.outcome, look)] if card.outcome else []
    left = len(rows) - RESULT_HEAD_ROWS - RESULT_TAIL_ROWS
    if left <= 0:
        return rows
    mark = f"… {counted(left, 'line')} left out; --json gives them all."
    return [*rows[:RESULT_HEAD_ROWS], mark, *rows[-RESULT_TAIL_ROWS:]]


def _footer(card: Card, lease: str, look: Look) -> str:
    """The risk classes with their colours and signs, then cost and lease."""
    risks = " + ".join(look.paint(label.signed, *LEVELS[label.level]) for label in card.risks)
    return risks + look.paint("".join(f" · {part}" for part in (*card.footer, lease) if part), "dim")


def _edited(card: Card, turn: Turn, look: Look) -> list[str]:
    """Until the command has ended: its edited arguments. After that: what was edited, and the preview of what ran.

    Empty if nothing was edited.
    """
    if turn.call == turn.proposal.call:
        return []
    if turn.state != "done":
        return _arguments(card, look)
    return [*_labelled(card.changes, look), *(_preview(card.preview, look) if card.preview else ())]


def _labelled(parts: Sequence[Labelled], look: Look) -> list[str]:
    return [row for part in parts for row in (look.paint(f"{one_line(part.label)}:", "dim"), *_barred(part.text, look))]


def _barred(text: str, look: Look) -> Iterator[str]:
    for line in readable(text).split("\n"):
        first, *rest = _wrapped(line.removesuffix("\r"), max(look.width, MIN_WIDTH_CELLS) - len(BAR))
        yield BAR + first
        yield from (DASHED + piece for piece in rest)


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
    if character == "\t":
        return TAB_CELLS
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _text(rows: Sequence[str]) -> str:
    return "\n".join(rows) + "\n"


def drawing_of(before: Turn | None, turn: Turn) -> Callable[[Agent, Turn, Look], str]:
    """Choose the function that formats a turn whose state was last written as `before` (None: never)."""
    if before is None or before.id != turn.id:
        return card_text
    if visible_state(replace(before, review=turn.review)) == visible_state(turn):
        return review_text
    return card_text if turn.is_open else change_text


def visible_state(turn: Turn) -> tuple[str, str, str]:
    """The values on which the look of a turn's card depends; approved and running look the same."""
    return turn.id, turn.stage.replace("approved", "running"), turn.control_hash
