"""Builds Slack messages (text, blocks, metadata) from values of the core, within Slack's limits. Pure functions."""

from collections.abc import Sequence

from adapters.chat.subcommand_answers import Link
from adapters.chat.texts import AT_REST, how_to_talk, notice_text, settings_lines
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import spend_text, status_text
from adapters.screens.text_fit import beginning, beginning_by_size, cut, shares
from adapters.screens.ui_text import (
    DELETE_MEANS,
    HelpText,
    deletion_note,
    effort_text,
    free_text,
    model_text,
    size_text,
)
from adapters.screens.visible_text import one_line, readable, visible
from adapters.slack.outbound.blocks import (
    MAX_MESSAGE_BLOCKS,
    MAX_MESSAGE_TEXT,
    MAX_TEXT,
    Block,
    actions,
    context,
    date_field,
    escaped,
    line,
    mention_text,
    notification,
    numbered,
    plain,
    quoted,
    rich,
    run,
    section,
    weight,
)
from adapters.slack.outbound.controls import (
    delete_button,
    element,
    link_button,
    rest_button,
    upload_button,
)
from adapters.slack.outbound.extra_buttons import SlackDraftButton
from adapters.slack.outbound.full_text import log_message
from adapters.slack.outbound.message import SlackMessage, metadata
from adapters.typed.answers import Answer
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.note import Notice
from agent_core.model.origin import Actor
from agent_core.model.records.deletion import KEEP_ALL, Retention
from agent_core.text.lines import counted

MAX_NAME, MAX_ROLE, MAX_GOALS, MAX_SHORT = 160, 1000, 8000, 150
MAX_LISTED_AGENTS, MAX_UPLOAD_BUTTONS = MAX_MESSAGE_BLOCKS - 15, 20
MAX_AGENT_LINE = MAX_MESSAGE_TEXT // MAX_LISTED_AGENTS - 80  # each also has a time and a button
EXPLANATION = (
    "Signoff runs agents in your team's chat, and nothing runs until someone signs it off.",
    "Mention Signoff and say what you want done, or press New agent:",
)
EXAMPLE = "research the best tennis strings for topspin"


def root_message(agent: Agent, *, model: str, standing: str = "", files: str = "", last: str = "") -> SlackMessage:
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
    blocks = [
        *_about(agent.name, agent.role, agent.goals),
        started_by(agent.owner, " · ".join(filter(None, facts))),
        context(how_to_talk(agent)),
    ]
    if standing.strip():
        does = plain(f"● {one_line(standing)}", MAX_SHORT)
        blocks.append({"type": "context", "elements": [does, date_field(agent.since)]})
    closing = " · ".join(filter(None, (files, last and f"Last: {one_line(last)}")))
    blocks += [context(closing, most=MAX_SHORT)] if closing else []
    said = f"{agent.name}: {agent.role}"
    return SlackMessage(notification(said), blocks, metadata("signoff_agent", agent=agent.id))


def started_by(owner: Actor, facts: str) -> Block:
    """Who made the agent, with a mention, so that they follow its thread, and facts about it."""
    mention = mention_text(owner.id)
    if not mention:
        return context(f"Started by {owner.in_full} · {facts}")
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": f"Started by {mention}"}, plain(facts)]}


def notice_message(agent: Agent, notice: Notice) -> SlackMessage:
    """A notice for the thread. It has a Resume button if it says that the agent is paused, stopped or finished.

    It has a Show reply button if it keeps a model's reply.
    """
    resume = element(Button("resume", agent.id)) if notice.kind in AT_REST else None
    name = cut(one_line(agent.name), MAX_NAME)
    said = notice_text(name, notice)
    blocks = [section(said, resume) if resume else context(said)]
    blocks += [actions(element(ViewButton("show reply", notice.id)))] if notice.reply else []
    return SlackMessage(notification(said), blocks, metadata("signoff_notice", notice=notice.id))


def note_message(agent: Agent, by: Actor, text: str) -> SlackMessage:
    """A person's note to the agent, posted in the thread so that others see it."""
    said = f"{by} to {agent.name}"
    blocks = [
        rich(line(run(cut(one_line(said), MAX_NAME), "bold"), run(" as a note")), quoted(cut(readable(text), MAX_TEXT)))
    ]
    return SlackMessage(notification(f"{said}: {text}"), blocks)


def choice_message(said: str, buttons: Sequence[Button]) -> SlackMessage:
    """Tells a person what became of their reply, with the buttons for what they may have meant."""
    return SlackMessage(notification(said), [section(said), actions(*map(element, buttons))])


def answer_message(answer: Answer) -> SlackMessage:
    """The reply to a typed line: rows of the decision log, or a text with the content of its readable files.

    It is cut to fit one message.
    """
    if answer.log:
        return log_message(answer.log, answer.text.partition("\n")[0])
    whole = readable(answer.whole)
    part = beginning(whole, MAX_MESSAGE_TEXT // 2 - MAX_SHORT)
    left = len(whole) - len(part)
    return SlackMessage.plain(f"{part}\n… {left:,} more characters." if left else part)


def agents_message(
    agents: Sequence[Agent], link: Link, retention: Retention = KEEP_ALL, *, closing: str = ""
) -> SlackMessage:
    if not agents:
        said = "No agents here yet."
        return SlackMessage(said, [section(said, element(ViewButton("new agent", "here")))])
    blocks = [
        section(
            f"{standing_text(agent)}{deletion_note(agent, agents, retention)}",
            linked(agent, link),
            most=MAX_AGENT_LINE,
            at=agent.since,
        )
        for agent in agents[:MAX_LISTED_AGENTS]
    ]
    blocks += rest_line(len(agents) - MAX_LISTED_AGENTS, " agents")
    blocks += [context(closing)] if closing else []
    return SlackMessage(notification(", ".join(agent.name for agent in agents)), blocks)


def agent_message(agent: Agent, link: Link) -> SlackMessage:
    opens = linked(agent, link)
    buttons = [*([opens] if opens else []), rest_button(agent)]
    buttons += [element(Button("revoke", agent.id))] if agent.lease else []
    standing = standing_text(agent)
    about = _about(agent.name, agent.role, agent.goals)
    settled = context("\n".join(settings_lines(agent)))
    return SlackMessage(notification(standing), [*about, section(standing, at=agent.since), settled, actions(*buttons)])


def files_message(agent: Agent, entries: Sequence[FileEntry]) -> SlackMessage:
    if not entries:
        return SlackMessage.plain(f"{agent.name} has no files yet.")
    shown = entries[:MAX_UPLOAD_BUTTONS]
    blocks = [_file(agent, entry) for entry in shown]
    blocks += rest_line(len(entries) - len(shown), " files")
    return SlackMessage(notification(f"{agent.name}: {counted(len(entries), 'file')}"), blocks)


def delete_message(agent: Agent) -> SlackMessage:
    said = f"Delete {agent.name}? {DELETE_MEANS}"
    return SlackMessage(notification(said), [section(said), actions(delete_button(agent))])


def explanation_message() -> SlackMessage:
    """An introduction to Signoff: the answer to an empty message and to a request for help."""
    first, second = EXPLANATION
    blocks = [rich(line(run(f"{first}\n{second}\n"), run(f"@Signoff {EXAMPLE}", "code")))]
    return SlackMessage(
        notification(first), [*blocks, actions(element(ViewButton("new agent", "here"), style="primary"))]
    )


def help_message(*helps: HelpText, said: str = "") -> SlackMessage:
    text = "\n\n".join(filter(None, (said, *(each.text for each in helps))))
    blocks = [*([section(said)] if said else []), *map(_help, helps)]
    return SlackMessage(escaped(readable(text)), blocks)


def offer_message(draft: AgentDraft, sentence: str = "", *, said: str = "") -> SlackMessage:
    """An agent drafted from a sentence, with the buttons Create and Change."""
    create = element(SlackDraftButton("create", draft, sentence), style="primary")
    blocks = [*([context(said)] if said else []), *_about(draft.name, draft.role, draft.goals)]
    text = f"A draft of {draft.name}: {draft.role}"
    return SlackMessage(
        notification(text), [*blocks, actions(create, element(SlackDraftButton("change", draft, sentence)))]
    )


def standing_text(agent: Agent) -> str:
    """An agent on one line: name, status, spend."""
    status = one_line(status_text(agent))
    return " · ".join((cut(one_line(agent.name), MAX_NAME), cut(status, MAX_SHORT), spend_text(agent)))


def linked(agent: Agent, link: Link) -> Block | None:
    """A button that opens the agent's thread, if it has an address."""
    return link_button(agent.id, url) if (url := link(agent)) else None


def _about(name: str, role: str, goals: Sequence[str]) -> list[Block]:
    head = line(run(cut(one_line(name), MAX_NAME), "bold"), run(f"\n{cut(one_line(role), MAX_ROLE)}"))
    texts = [one_line(goal) for goal in goals]
    given = shares([weight(text) for text in texts], MAX_GOALS)
    fitted = [
        text if weight(text) <= most else f"{beginning_by_size(text, most, weight)}…"
        for text, most in zip(texts, given, strict=True)
    ]
    return [rich(head, numbered(*fitted)) if fitted else rich(head)]


def _help(each: HelpText) -> Block:
    runs = [run(f"{each.title}\n", "bold")]
    for command, meaning in each.commands:
        runs += [run(command, "code"), run(f" – {meaning}\n")]
    return rich(line(*runs, run(each.closing)))


def _file(agent: Agent, entry: FileEntry) -> Block:
    return section(
        f"{cut(one_line(visible(entry.path)), MAX_SHORT)} · {size_text(entry.size)}",
        upload_button(agent, entry.path),
        at=entry.changed_at,
    )


def rest_line(count: int, what: str = "") -> list[Block]:
    """A line that tells how many entries a list leaves out; no line if `count` is not above 0."""
    return [context(f"and {count:,} more{what}")] if count > 0 else []
