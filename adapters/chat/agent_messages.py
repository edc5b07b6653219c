"""The messages about agents on chat platforms: root message, notices, lists, help, offers, reminders; not the cards."""

from collections.abc import Callable, Mapping, Sequence

from adapters.chat.extra_buttons import DeleteButton
from adapters.chat.texts import AT_REST, end_text, how_to_talk, notice_text, settings_lines, wait_text
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import spend_text, status_text, turn_card
from adapters.screens.message.card import bare_card
from adapters.screens.message.pieces import (
    About,
    Actions,
    Help,
    Link,
    Mentioned,
    Mono,
    Opens,
    Piece,
    Pressable,
    Rows,
    Screen,
    Since,
    Strong,
    Text,
    Words,
)
from adapters.screens.text_fit import cut
from adapters.screens.ui_text import (
    DELETE_MEANS,
    OPEN_CARD,
    HelpText,
    deletion_note,
    effort_text,
    free_text,
    model_text,
    size_text,
)
from adapters.screens.visible_text import one_line, visible
from agent_core.model.agent import Agent, Finished
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.note import Notice
from agent_core.model.origin import Actor
from agent_core.model.records.deletion import KEEP_ALL, Retention
from agent_core.model.turn import Turn
from agent_core.text.lines import counted

MAX_NAME, MAX_SHORT = 160, 150  # UTF-16 units
NEW_AGENT = ViewButton("new agent", "here")
DIRECT_VERBS = ("approve", "reject", "run again", "it ran", "skip")  # what a direct message can decide
EXPLANATION = (
    "Signoff runs agents in your team's chat, and nothing runs until someone signs it off.",
    "Mention Signoff and say what you want done, or press New agent:",
)
EXAMPLE = "research the best tennis strings for topspin"


def root_screen(agent: Agent, *, model: str = "", standing: str = "", files: str = "", last: str = "") -> Screen:
    """The first message of an agent's thread. Its mention makes the owner follow the thread.

    `standing`: what the agent does, since its `since`. `files`: how many files it has. `last`: the last command that
    ended, on one line.
    """
    facts = (model_text(agent, model), effort_text(agent), spend_text(agent), free_text(agent))
    owner = Mentioned(agent.owner.id, agent.owner.in_full)
    pieces: list[Piece] = [
        About(agent.name, agent.role, agent.goals),
        _small("Started by ", owner, f" · {' · '.join(filter(None, facts))}"),
        _small(how_to_talk(agent)),
    ]
    if standing.strip():
        pieces.append(_small(cut(f"● {one_line(standing)}", MAX_SHORT), " · ", Since(agent.since)))
    if closing := " · ".join(filter(None, (files, last and f"Last: {last}"))):
        pieces.append(_small(cut(one_line(closing), MAX_SHORT)))
    return Screen(tuple(pieces), f"{agent.name}: {agent.role}", ("agent", agent.id))


def notice_screen(agent: Agent, notice: Notice) -> Screen:
    """A notice for the thread, with a button if only people let the agent go on, and one for a model's reply."""
    said = notice_text(cut(one_line(agent.name), MAX_NAME), notice)
    is_at_rest = notice.kind in AT_REST
    resume = Button("resume", agent.id) if is_at_rest and not agent.is_between_runs else None
    text = Text(words=(said,), style="plain" if is_at_rest else "aside", button=resume)
    more = [Actions((ViewButton("show reply", notice.id),))] if notice.reply else []
    return Screen((text, *more), said, ("notice", notice.id))


def note_screen(agent: Agent, by: Actor, text: str) -> Screen:
    """A person's note to the agent, posted in the thread so that others see it."""
    said = f"{by} to {agent.name}"
    head = Text(words=(Strong(cut(one_line(said), MAX_NAME)), " as a note"))
    return Screen((head, Text(words=(text,), role="quote", style="quote")), f"{said}: {text}")


def choice_screen(said: str, buttons: Sequence[Pressable]) -> Screen:
    """Tells a person what became of what they sent, with the buttons for what they may have meant."""
    return Screen((Text(words=(said,)), Actions(tuple(buttons))), said)


def refused_screen(problems: Mapping[str, str], again: Pressable) -> Screen:
    """The problems of a refused form, and the button that opens it again as it was filled in."""
    return choice_screen("\n".join(problems.values()), (again,))


def agents_screen(agents: Sequence[Agent], link: Link, retention: Retention = KEEP_ALL, *, closing: str = "") -> Screen:
    """The channel's agents, one per line, those at rest with the day on which they are deleted; then `closing`."""
    if not agents:
        said = "No agents here yet."
        return Screen((Text(words=(said,), button=NEW_AGENT),), said)
    rows = tuple(
        Text(
            words=standing_words(agent, deletion_note(agent, agents, retention)), role="row", button=_opens(agent, link)
        )
        for agent in agents
    )
    names = ", ".join(agent.name for agent in agents)
    return Screen((Rows(rows, "agents"), *([_small(closing)] if closing else [])), names)


def agent_screen(agent: Agent, link: Link) -> Screen:
    """One agent: name, role, goals, status and settings."""
    opens = _opens(agent, link)
    revoke = [Button("revoke", agent.id)] if agent.lease else []
    rests = Button("resume" if agent.is_at_rest else "stop", agent.id)
    buttons: tuple[Pressable | Opens, ...] = (rests, *revoke, *([opens] if opens else []))
    pieces: tuple[Piece, ...] = (
        About(agent.name, agent.role, agent.goals),
        Text(words=_state(agent), role="row"),
        *map(_small, settings_lines(agent)),
        Actions(buttons, agent.name),
    )
    return Screen(pieces, f"{agent.name} · {status_text(agent)}")


def files_screen(agent: Agent, entries: Sequence[FileEntry], upload: Callable[[str], Pressable | None]) -> Screen:
    """The files of an agent. `upload`: the button for a path, or None if the platform cannot have one."""
    name = cut(one_line(agent.name), MAX_NAME)
    if not entries:
        said = f"{name} has no files yet."
        return Screen((Text(words=(said,)),), said)
    rows = tuple(
        Text(
            words=(f"{cut(one_line(visible(entry.path)), MAX_SHORT)} · {size_text(entry.size)} · ", entry.changed_at),
            role="row",
            button=upload(entry.path),
        )
        for entry in entries
    )
    count = counted(len(entries), "file")
    return Screen((Text(words=(Strong(name), f" · {count}")), Rows(rows, "files")), f"{name}: {count}")


def delete_screen(agent: Agent) -> Screen:
    said = f"Delete {cut(one_line(agent.name), MAX_NAME)}? {DELETE_MEANS}"
    return Screen((Text(words=(said,)), Actions((DeleteButton(agent.id),), agent.name)), said)


def help_screen(*helps: HelpText, said: str = "") -> Screen:
    """The commands that people can type, one per line, below the text `said`."""
    summary = "\n\n".join(filter(None, (said, *(each.text for each in helps))))
    return Screen((*([Text(words=(said,))] if said else []), *map(Help, helps)), summary, reads_all=True)


def explanation_screen() -> Screen:
    """An introduction to Signoff: the answer to a mention without words and to a request for help."""
    first, second = EXPLANATION
    words = (f"{first}\n{second}\n", Mono(f"@Signoff {EXAMPLE}"))
    return Screen((Text(words=words), Actions((NEW_AGENT,))), first)


def offer_screen(draft: AgentDraft, buttons: Sequence[Pressable], *, said: str = "") -> Screen:
    """A drafted agent, with the buttons that create it or open the form."""
    about = About(draft.name, draft.role, draft.goals)
    return Screen(
        (*([_small(said)] if said else []), about, Actions(tuple(buttons))), f"A draft of {draft.name}: {draft.role}"
    )


def reminder_screen(agent: Agent, turn: Turn | None, mentions: Sequence[str], link: str) -> Screen:
    """One short message for the thread: who is called, what waits, and a link to the card."""
    said = wait_text(agent, turn)
    called = [part for each in mentions for part in (Mentioned(each), " ")]
    return Screen((Text(words=(*called, said), role="called"), *_link(agent, link)), said, mentions=tuple(mentions))


def direct_screen(
    agent: Agent,
    turn: Turn | None,
    link: str,
    made: Callable[[Button], Pressable] = lambda button: button,
    *,
    continuous_limit: int | None = None,
    shows_all: bool = False,
) -> Screen:
    """What a person decides on without opening the thread: the command as on its card, without thoughts.

    `made`: the platform's button in a direct message. `shows_all`: whether it can show the whole command there.
    """
    said = wait_text(agent, turn)
    if turn is None:
        pieces: tuple[Piece, ...] = (Text(words=(said,)),)
        buttons = [] if isinstance(agent.status, Finished) else [Button("resume", agent.id)]
    else:
        card = turn_card(agent, turn, continuous_limit)
        pieces = bare_card(card, shows_all=shows_all)
        buttons = [each for each in card.buttons if each.verb in DIRECT_VERBS and each.times == 1]
    more = [ViewButton("show all", turn.id)] if turn and shows_all and turn.state == "interrupted" else []
    opens = [Opens(OPEN_CARD, link, agent.id)] if link else []
    actions = [Actions((*map(made, buttons), *more, *opens), agent.name)] if buttons or opens else []
    return Screen((*pieces, *actions), said)


def ended_screen(agent: Agent, turn: Turn | None, link: str) -> Screen:
    """What stands in place of a direct message when its wait is over."""
    said = end_text(agent, turn)
    return Screen((Text(words=(said,)), *_link(agent, link)), said)


def _small(*words: str | Mentioned | Since) -> Text:
    return Text(words=words, role="short", style="small")


def _link(agent: Agent, link: str) -> tuple[Actions, ...]:
    return (Actions((Opens(OPEN_CARD, link, agent.id),)),) if link else ()


def _opens(agent: Agent, link: Link) -> Opens | None:
    url = link(agent)
    return Opens("Open", url, agent.id) if url else None


def standing_words(agent: Agent, note: str = "") -> Words:
    """An agent on one line: name, status, since when, spend."""
    return Strong(cut(one_line(agent.name), MAX_NAME) or "–"), " · ", *_state(agent, note)


def _state(agent: Agent, note: str = "") -> Words:
    status = cut(one_line(status_text(agent)), MAX_SHORT)
    return f"{status} · ", Since(agent.since), f" · {spend_text(agent)}{note}"
