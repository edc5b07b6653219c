"""Builds Discord messages (components and files) from values of the core, within Discord's limits. Pure functions."""

from collections.abc import Iterable, Mapping, Sequence

import discord
from discord import ui

from adapters.chat.card_sections import thoughts_sections
from adapters.chat.extra_buttons import DeleteButton
from adapters.chat.subcommand_answers import Link
from adapters.chat.texts import AT_REST, how_to_talk, notice_text, settings_lines
from adapters.discord.outbound.card import MAX_HEADLINE, MAX_MESSAGE_TEXT, small
from adapters.discord.outbound.command_section import CommandTexts
from adapters.discord.outbound.controls import (
    Item,
    element,
    link_button,
    rest_button,
    rows,
)
from adapters.discord.outbound.extra_buttons import DiscordDraftButton, upload_button
from adapters.discord.outbound.full_text import all_of, file_name, log_message, text_file
from adapters.discord.outbound.message import (
    NOTHING,
    DiscordMessage,
    clean,
    compose,
    cut_by_size,
    escaped,
    escaped_size,
    listed,
    quoted,
    quoted_size,
    timestamp,
)
from adapters.discord.outbound.notifications import mention_text
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import Labelled, spend_text, status_text, turn_card
from adapters.screens.text_fit import beginning_by_size, units
from adapters.screens.ui_text import (
    DELETE_MEANS,
    HelpText,
    deletion_note,
    effort_text,
    free_text,
    media_type,
    model_text,
    size_text,
)
from adapters.screens.visible_text import one_line, visible
from adapters.typed.answers import Answer, Attachment
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.note import Notice
from agent_core.model.origin import Actor
from agent_core.model.records.deletion import KEEP_ALL, Retention
from agent_core.model.turn import Turn
from agent_core.text.lines import counted

MAX_NAME, MAX_ROLE, MAX_GOALS, MAX_SHORT = 200, 600, 1800, 150
MAX_TEXT, MAX_UPLOAD_BUTTONS = MAX_MESSAGE_TEXT - 200, 11
WHOLE_IN_FILE = "Everything about turn {number} is in the file."
REPLY, REPLY_IN_FILE = "The model's reply", "The model's reply is in the file."
NO_THOUGHTS = "The model gave no thoughts for this command."


def whole_file(agent: Agent, turn: Turn) -> Attachment:
    """The full content of a turn as a text file."""
    return text_file(f"turn-{turn.number}.txt", all_of(turn_card(agent, turn)))


def whole_message(agent: Agent, turn: Turn) -> DiscordMessage:
    return file_message(WHOLE_IN_FILE.format(number=turn.number), whole_file(agent, turn))


def thoughts_message(agent: Agent, turn: Turn) -> DiscordMessage:
    """The reply to a click on the Thoughts button: all thoughts of the turn, in a file if they are long."""
    card = turn_card(agent, turn)
    parts = thoughts_sections(card)
    text = "\n".join(f"**{escaped(part.label)}**\n{quoted(clean(part.text))}" for part in parts)
    if units(text) > MAX_TEXT:
        file = text_file(f"thoughts-{turn.number}.txt", parts)
        return file_message(f"The thoughts of turn {turn.number} are in the file.", file)
    return compose(ui.TextDisplay(text or NO_THOUGHTS))


def root_message(
    agent: Agent, *, model: str = "", standing: str = "", files: str = "", last: str = ""
) -> DiscordMessage:
    """The root message, to which the agent's thread is attached.

    `standing`: what the agent does, since its `since`. `files`: how many files it has. `last`: the last command that
    ended, on one line.
    """
    facts = [
        model_text(agent, model),
        effort_text(agent),
        spend_text(agent),
        free_text(agent),
    ]
    about = started_by(agent.owner, " · ".join(filter(None, facts)))
    texts = [_about(agent.name, agent.role, agent.goals), about, *_small(how_to_talk(agent))]
    does = [f"{text} · {timestamp(agent.since, 'R')}" for text in _small(f"● {standing}")] if standing.strip() else []
    closing = " · ".join(filter(None, (files, last and f"Last: {last}")))
    does += _small(closing) if closing else ()
    return compose(*_texts(texts), *_texts(does))


def started_by(owner: Actor, facts: str) -> str:
    """Who made the agent, with a mention, so that they follow its thread, and facts about it."""
    return f"-# Started by {mention_text(owner.id) or escaped(owner.in_full)} · {escaped(one_line(facts))}"


def notice_message(agent: Agent, notice: Notice) -> DiscordMessage:
    """A notice for the thread. It has a Resume button if it says that the agent is paused, stopped or finished.

    It has a Show reply button if it keeps a model's reply.
    """
    said = notice_text(one_line(agent.name), notice)
    openings = [element(ViewButton("show reply", notice.id))] if notice.reply else []
    return kept_message(agent, said, *openings) if notice.kind in AT_REST else text_message(said)


def choice_message(said: str, buttons: Sequence[Button]) -> DiscordMessage:
    """Tells a person what became of their reply, with the buttons for what they may have meant."""
    return compose(ui.TextDisplay(_shortened(said)), *rows([*map(element, buttons)]))


def kept_message(agent: Agent, said: str, *buttons: Item) -> DiscordMessage:
    resume = element(Button("resume", agent.id))
    return compose(ui.Section(_shortened(said), accessory=resume), *rows(buttons))


def note_message(agent: Agent, by: Actor, text: str) -> DiscordMessage:
    """A person's note to the agent, posted in the thread so that others see it."""
    head = f"**{escaped(cut_by_size(one_line(f'{by} to {agent.name}'), MAX_HEADLINE))}** as a note"
    said = clean(text).strip()
    part = beginning_by_size(said, MAX_TEXT - 2 * MAX_HEADLINE, quoted_size)
    left = f"\n-# … {len(said) - len(part):,} more characters." if part != said else ""
    return compose(ui.TextDisplay(f"{head}\n{quoted(part)}{left}"))


def answer_message(answer: Answer) -> DiscordMessage:
    """The reply to a typed line or click: decision log rows with their files, or a text with at most one file."""
    if answer.log:
        return log_message(answer.log, answer.text.partition("\n")[0], answer.files)
    return file_message(answer.text, answer.files[0]) if answer.files else text_message(answer.text)


def reply_message(notice: Notice) -> DiscordMessage:
    """The reply to a click on the Show reply button: the model's whole reply, in a file if it is long."""
    said = clean(notice.reply)
    if quoted_size(said) > MAX_TEXT:
        return file_message(REPLY_IN_FILE, text_file("reply.txt", (Labelled(REPLY, notice.reply),)))
    return compose(ui.TextDisplay(f"**{REPLY}**\n{quoted(said)}"))


def text_message(text: str) -> DiscordMessage:
    """A text; a long one is attached as a file."""
    said = clean(text)
    if escaped_size(said) <= MAX_TEXT:
        return compose(ui.TextDisplay(_shortened(said)))
    return file_message(said, Attachment("message.txt", said.encode()))


def file_message(said: str, file: Attachment) -> DiscordMessage:
    """A text with a file below it; an image is displayed, any other file is offered for download."""
    kept = Attachment(file_name(file.name), file.data)
    place = f"attachment://{kept.name}"
    is_picture = media_type(kept.name).startswith("image/")
    shown: Item = ui.MediaGallery(discord.MediaGalleryItem(place)) if is_picture else ui.File(place)
    return compose(ui.TextDisplay(_shortened(said)), shown, files=(kept,))


def agents_message(
    agents: Sequence[Agent], link: Link, retention: Retention = KEEP_ALL, *, closing: str = ""
) -> DiscordMessage:
    if not agents:
        said = "No agents here yet."
        return compose(ui.Section(said, accessory=element(ViewButton("new agent", "here"))))
    lines = [f"{_linked(agent, link)}{deletion_note(agent, agents, retention)}" for agent in agents]
    return compose(*_texts([listed(lines, "agents", MAX_TEXT - 2 * MAX_SHORT), *_small(closing)]))


def agent_message(agent: Agent, link: Link) -> DiscordMessage:
    buttons: list[Item] = [rest_button(agent)]
    buttons += [element(Button("revoke", agent.id))] if agent.lease else []
    buttons += [link_button("Open", url)] if (url := link(agent)) else []
    lines = [line for fact in settings_lines(agent) for line in _small(fact)]
    texts = [_about(agent.name, agent.role, agent.goals), _standing(agent), "\n".join(lines)]
    return compose(*_texts(texts), *rows(buttons))


def files_message(agent: Agent, entries: Sequence[FileEntry]) -> DiscordMessage:
    name = escaped(cut_by_size(one_line(agent.name), MAX_NAME))
    if not entries:
        return compose(ui.TextDisplay(f"{name} has no files yet."))
    first, others = entries[:MAX_UPLOAD_BUTTONS], entries[MAX_UPLOAD_BUTTONS:]
    items: list[Item] = [ui.TextDisplay(f"**{name}** · {counted(len(entries), 'file')}")]
    items += [ui.Section(_file(each), accessory=element(upload_button(agent.id, each.path))) for each in first]
    room = MAX_TEXT - MAX_NAME - (MAX_SHORT + 70) * len(first)
    return compose(*items, *([ui.TextDisplay(listed([*map(_file, others)], "files", room))] if others else []))


def help_message(*helps: HelpText, said: str = "") -> DiscordMessage:
    return compose(*_texts([_shortened(said)] if said else []), *_texts(map(_help, helps)))


def delete_message(agent: Agent) -> DiscordMessage:
    asked = f"Delete {one_line(agent.name)}? {DELETE_MEANS}"
    return compose(ui.TextDisplay(_shortened(asked)), *rows([element(DeleteButton(agent.id))]))


def offer_message(draft: AgentDraft, key: str, *, said: str = "") -> DiscordMessage:
    """An agent drafted from a sentence, with the buttons Create and Change; `key` is the draft's key in the store."""
    buttons = [element(DiscordDraftButton("create", key)), element(DiscordDraftButton("change", key))]
    texts = [*_small(said), _about(draft.name, draft.role, draft.goals)]
    return compose(*_texts(texts), *rows(buttons))


def filled_in_message(draft: AgentDraft, key: str, *, said: str) -> DiscordMessage:
    """An agent drafted from a tool server's prompt, with the one button that opens the form; `key` as in an offer."""
    texts = [*_small(said), _about(draft.name, draft.role, draft.goals)]
    return compose(*_texts(texts), *rows([element(DiscordDraftButton("change", key), label="Open the form")]))


def refused_message(problems: Mapping[str, str], again: Button | ViewButton) -> DiscordMessage:
    """The problems of a refused form, and the button that reopens it with its values."""
    said = "\n".join(problems.values())
    return compose(ui.TextDisplay(_shortened(said)), *rows([element(again)]))


def _texts(texts: Iterable[str]) -> list[Item]:
    return [ui.TextDisplay(text) for text in texts if text]


def _shortened(text: str, most: int = MAX_TEXT) -> str:
    """An untrusted text, escaped and truncated to fit a message, with the number of characters left out."""
    said = clean(text).strip()
    if escaped_size(said) <= most:
        return escaped(said) or NOTHING
    part = beginning_by_size(said, most - MAX_SHORT, escaped_size)
    return f"{escaped(part)}\n-# … {len(said) - len(part):,} more characters."


def _small(*facts: str, most: int = 2 * MAX_SHORT) -> tuple[str, ...]:
    part: CommandTexts = small(" · ".join(facts), most)
    return part.texts


def _about(name: str, role: str, goals: Sequence[str]) -> str:
    lines = [
        f"**{escaped(cut_by_size(one_line(name), MAX_NAME)) or NOTHING}**",
        escaped(cut_by_size(one_line(role), MAX_ROLE)),
    ]
    texts = [cut_by_size(one_line(goal), MAX_GOALS // len(goals)) for goal in goals if goal.strip()]
    return "\n".join([*filter(None, lines), *(f"{number}. {escaped(text)}" for number, text in enumerate(texts, 1))])


def _standing(agent: Agent) -> str:
    """An agent's status, the time of its last change, and its spend."""
    status = escaped(cut_by_size(one_line(status_text(agent)), MAX_SHORT))
    return f"{status} · {timestamp(agent.since, 'R')} · {escaped(spend_text(agent))}"


def _linked(agent: Agent, link: Link) -> str:
    name = escaped(cut_by_size(one_line(agent.name), MAX_NAME)) or NOTHING
    url = link(agent)
    return f"{f'[{name}]({url})' if url else f'**{name}**'} · {_standing(agent)}"


def _file(entry: FileEntry) -> str:
    path = escaped(cut_by_size(one_line(visible(entry.path)), MAX_SHORT)) or NOTHING
    return f"{path} · {size_text(entry.size)} · {timestamp(entry.changed_at)}"


def _help(each: HelpText) -> str:
    lines = [f"`{command}` – {escaped(meaning)}" for command, meaning in each.commands]
    return "\n".join([f"**{each.title}**", *lines, escaped(each.closing)])
