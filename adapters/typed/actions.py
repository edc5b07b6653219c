"""Turns a person's click or typed line into one call of a service, and words the answer. Shared by all surfaces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, cast, get_args

from adapters.screens.buttons import Button
from adapters.screens.cards import spend_text, status_text
from adapters.screens.ui_text import SECOND, HelpText, first_word, size_text, when_read
from adapters.typed.answers import Answer
from adapters.typed.command_lines import ThreadVerb, is_about_channel
from adapters.typed.form_values import parse_limits
from adapters.typed.management_commands import ManagementCommands
from adapters.typed.typed_text import TypedText, typed
from agent_core.errors import ChangedSinceShown, InvalidInput, NotPossible
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.decision import NO_LIMITS, Approve, ApproveEdited, Decision, Reject
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Origin
from agent_core.model.turn import UNKNOWN_PROPOSAL, SeenProposal, Turn
from agent_core.service.agents import AgentService, NoteKept, QuestionAsked, StepRejected
from agent_core.service.reading.views import AgentViews
from agent_core.service.self_review import SelfReview
from agent_core.text.reply_meaning import ReplyMeaning, meaning_of

MAX_SHOWN_WORD = 40
SLASH_COMMAND = re.compile(r"/agent\b", re.IGNORECASE)
NO_SLASH = "In a thread commands begin with !, as in !tools or !sites. Nothing was sent to the agent."
HOW_TO_RESTORE = "Some files were deleted: !files deleted lists them, and !files restore NAME brings one back."
ASKED = "Asked: the model answers in this thread, and nothing is decided."
HELP = HelpText(
    "In the agent's thread",
    (
        ("!approve", "the command runs as shown"),
        ("!approve 5", "this and the next four run unasked; also until 18:00, $2, only CLASS"),
        ("!reject why", "it does not run; the agent reads why"),
        ("!undo", "takes back a rejection by a reply, for ten seconds"),
        ("!ask what?", "the model answers here; nothing is decided"),
        ("!stop", "stops it and ends what it is running"),
        ("!resume", "it continues"),
        ("!archive", "leaves an agent at rest out of lists; !unarchive or !resume brings it back"),
        ("!status", "its status, and what it spent"),
        ("!review", "the model reviews its own proposal, on the card"),
        ("!goals", "its goals; !goals a; b replaces them"),
        ("!model", "the model it uses; NAME sets another one, default the operator's"),
        ("!budget", "what was spent; !budget 5 sets its limit, channel 20 that of all agents here"),
        ("!policy", "who approves, what asks; also free CLASS, ask CLASS, two CLASS; !policy channel is for all here"),
        ("!rules", "what always or never runs; also allow, never, revoke"),
        ("!schedule", "when it works by itself; also every day at 9:00, pause, now, delete, list"),
        ("!memory", "its memory; also search, add, forget, export"),
        ("!tools", "what plugins and servers add here; also off NAME, on NAME, only NAME, all on"),
        ("!sites", "the sites agents here may reach; also allow HOST, deny HOST, clear"),
        ("!reminders", "when agents here remind people; also call, after, quiet, weekends, zone"),
        ("!notify me", "sends you what waits here by direct message; !notify off ends that"),
        ("!export", "its ai_settings.yaml"),
        (
            "!audit",
            "its decision log; !audit channel for all agents here",
        ),
        ("!fork 12", "a new agent from the state after turn 12; what follows is for it"),
        ("!files", "its files; also deleted for the trash, restore NAME"),
        ("!help", "shows this list"),
    ),
    "Anything else is a reply: a note; with ? at the end you ask, and the answer comes here. While a command needs "
    "approval, a reply that begins with “no” or says what to change rejects it with that reason.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInput:
    """The input that a person gives with a button: a reason or reply (`text`), or changed arguments.

    For an answer to a tool server `arguments` are the fields of its form, by `field_id`. `can_undo`: where it was
    pressed, a rejection can be undone.
    """

    text: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    can_undo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDispatcher:
    """Carries out buttons and typed lines. A request that cannot be met raises a PersonError, whose text is shown."""

    service: AgentService
    views: AgentViews
    management_commands: ManagementCommands
    review: SelfReview

    async def press(self, button: Button, filled: FormInput, origin: Origin) -> None:
        """Carry out a button; the card then shows the result. A self-review calls a model and may take a minute."""
        turn_id = TurnId(button.subject)
        match button.verb:
            case "approve" | "edit" | "reject":
                decision = _decision(button, filled, self.views.clock.now())
                can_undo = filled.can_undo
                await self.service.decisions.decide(turn_id, decision, origin, shown=button.shown, can_undo=can_undo)
            case "run again" | "it ran" | "skip":
                await self.service.decisions.settle(turn_id, button.verb, origin, shown=button.shown)
            case "review":
                await self.review.review(turn_id, origin)
            case "fork" | "for real":
                await self.fork(button, filled.text, origin)
            case "undo" | "stop" | "resume" | "revoke":
                await self._turn_back(button.verb, button.subject, origin)
            case "reply" | "answer" | "decline":
                await self._write(button, filled, origin)

    async def fork(self, button: Button, text: str, origin: Origin) -> Agent:
        """Fork an agent after the turn of the card, or the one before an open one; a dry run after its last turn."""
        if button.verb == "for real":
            return await self.service.forks.fork(AgentId(button.subject), origin, for_real=True)
        agent, turn = await self.views.turn(origin.channel, TurnId(button.subject))
        return await self.service.forks.fork(agent.id, origin, turn=turn.number, text=text)

    async def _turn_back(self, verb: Literal["undo", "stop", "resume", "revoke"], subject: str, origin: Origin) -> None:
        match verb:
            case "undo":
                await self.service.decisions.undo(TurnId(subject), origin)
            case "stop":
                await self.service.lifecycle.stop(AgentId(subject), origin)
            case "resume":
                await self.service.lifecycle.resume(AgentId(subject), origin)
            case "revoke":
                await self.service.decisions.revoke(AgentId(subject), origin)

    async def _write(self, button: Button, filled: FormInput, origin: Origin) -> None:
        """Send what a person wrote: to the agent, or to the tool server that asks."""
        questions, turn_id = self.service.server_questions, TurnId(button.subject)
        match button.verb:
            case "answer":
                form = {name: str(value) for name, value in filled.arguments.items()}
                await questions.answer(turn_id, form, origin, shown=button.shown)
            case "decline":
                await questions.decline(turn_id, origin, shown=button.shown)
            case _:
                await self.reply(button, filled.text, origin)

    async def reply(self, button: Button, text: str, origin: Origin) -> Answer:
        """Carry out a text from a reply box. Like a typed line, but it can decide only on the proposal shown there."""
        seen = SeenProposal(hashes=(button.shown,) if button.shown else ())
        return await self.say(AgentId(button.subject), typed(text), origin, seen)

    async def say(
        self,
        agent_id: AgentId,
        line: TypedText,
        origin: Origin,
        seen: SeenProposal = UNKNOWN_PROPOSAL,
        meaning: ReplyMeaning | None = None,
    ) -> Answer:
        """Carry out a line typed in the thread: a command such as `!stop`, or a reply to the agent.

        A line whose author typed @ and a helper's name first goes to that helper. A line decides on a proposal only if
        the writer had `seen` the proposal in its present state. `meaning`: what the writer chose, or None to read it
        from the words.
        """
        if line.head.startswith("@"):
            agent_id, line = await self._find_addressee(agent_id, line, origin)
        if SLASH_COMMAND.match(line.head):
            raise InvalidInput({"text": NO_SLASH})
        if not line.head.startswith("!"):
            return await self._reply(agent_id, line, origin, seen, meaning)
        verb, rest = first_word(line.order[1:])
        match verb:
            case "approve" | "reject" | "review":
                turn = await self._open_turn(agent_id, origin, seen, approves=verb == "approve")
                return await self._on_turn(Button(verb, turn.id, shown=turn.control_hash), turn.number, rest, origin)
            case "ask":
                await self.service.decisions.ask(agent_id, rest, origin)
                return Answer(ASKED, is_asked=True)
            case "stop" | "resume" | "archive" | "unarchive" | "undo":
                return Answer(await self._change_state(verb, agent_id, origin))
            case word if word in get_args(ThreadVerb):
                agent = await self.views.agent(origin.channel, agent_id)
                rest = first_word(line.order_by_ids[1:])[1] if is_about_channel(word, rest) else rest
                return await self.management_commands.run(cast("ThreadVerb", word), agent, rest, origin)
            case word:
                return Answer(await self._view(word, rest, agent_id, origin), is_wanted=True)

    async def _undo(self, agent_id: AgentId, origin: Origin) -> str:
        turn = await self.views.newest_turn(origin.channel, agent_id)
        if turn is None:
            raise NotPossible("There is nothing to undo.")
        return f"Turn {(await self.service.decisions.undo(turn.id, origin)).number} needs approval again."

    async def _change_state(
        self, verb: Literal["stop", "resume", "archive", "unarchive", "undo"], agent_id: AgentId, origin: Origin
    ) -> str:
        match verb:
            case "undo":
                return await self._undo(agent_id, origin)
            case "stop":
                return f"{(await self.service.lifecycle.stop(agent_id, origin)).name} is stopped."
            case "resume":
                return f"{(await self.service.lifecycle.resume(agent_id, origin)).name} continues."
            case "archive":
                return f"{(await self.service.archive.archive(agent_id, origin)).name} is archived."
            case "unarchive":
                return f"{(await self.service.archive.unarchive(agent_id, origin)).name} is in lists again."

    async def _view(self, word: str, rest: str, agent_id: AgentId, origin: Origin) -> str:
        match word:
            case "status":
                agent = await self.views.agent(origin.channel, agent_id)
                return f"{agent.name}: {status_text(agent)} · turn {agent.turns} · {spend_text(agent)}"
            case "files" if rest:
                agent = await self.views.agent(origin.channel, agent_id)
                return await self.management_commands.run_on_trash(agent, rest, origin)
            case "files":
                files = await self.views.files(origin.channel, agent_id)
                said = "\n".join(f"{file.path} · {size_text(file.size)}" for file in files) or "No files yet."
                deleted = await self.views.list_deleted_files(origin.channel, agent_id)
                return f"{said}\n{HOW_TO_RESTORE}" if deleted else said
            case "" | "help":
                return HELP.text
            case _:
                return f"There is no command !{word[:MAX_SHOWN_WORD]}.\n{HELP.text}"

    async def _open_turn(self, agent_id: AgentId, origin: Origin, seen: SeenProposal, *, approves: bool) -> Turn:
        """The agent's newest turn. If that is not open and one helper asks people, the helper's newest turn.

        Raise NotPossible if there is no turn or several helpers ask. For an open turn raise ChangedSinceShown or
        NotPossible if the line is older than the turn, or approves a state that its writer had not `seen`.
        """
        turn = await self.views.newest_turn(origin.channel, agent_id)
        if turn is None or not turn.is_open:
            turn = await self._find_helpers_turn(agent_id, origin) or turn
        if turn is None:
            raise NotPossible("Nothing needs approval.")
        if turn.is_open and not (seen.covers(turn) if approves else seen.follows(turn)):
            if turn.remark:
                raise ChangedSinceShown(turn.number, turn.remark)
            raise NotPossible(
                f"You wrote this before turn {turn.number} was shown as it is now: read its card and decide again."
            )
        return turn

    async def _find_helpers_turn(self, agent_id: AgentId, origin: Origin) -> Turn | None:
        helpers = await self.views.family(origin.channel, agent_id)
        asking = [helper for helper in helpers if isinstance(helper.status, Awaiting)]
        if len(asking) > 1:
            names = ", ".join(f"@{helper.name}" for helper in asking)
            raise NotPossible(f"Several agents ask here: {names}. Start with the name, as in @NAME !approve.")
        return await self.views.newest_turn(origin.channel, asking[0].id) if asking else None

    async def _find_addressee(self, agent_id: AgentId, line: TypedText, origin: Origin) -> tuple[AgentId, TypedText]:
        """The agent that a line is for, and the line to send to it.

        This is a helper if its author typed @ and its name first (the longest name that fits), else the given agent.
        """
        helpers = await self.views.family(origin.channel, agent_id)
        for helper in sorted(helpers, key=lambda each: -len(each.name)):
            named = re.match(rf"@({re.escape(helper.name)})(?=[\s:,]|$)[:,]?\s*", line.head, re.IGNORECASE)
            if named and named[1].casefold() == helper.name.casefold() and (said := line.after(named.end())).parts:
                return helper.id, said
        return agent_id, line

    async def _on_turn(self, button: Button, number: int, rest: str, origin: Origin) -> Answer:
        if button.verb == "review":
            await self.press(button, FormInput(), origin)
            return Answer(reviewed_text(number), is_wanted=True)
        if button.verb == "approve":
            times, rest = _times(rest)
            button = replace(button, times=times)
        await self.press(button, FormInput(text=rest), origin)
        _, turn = await self.views.turn(origin.channel, TurnId(button.subject))
        if turn.first_approval:
            return Answer(f"1 of 2. {SECOND}")
        return Answer(
            "rejected" if button.verb == "reject" else f"approved ×{button.times}" if button.times > 1 else "approved"
        )

    async def _reply(
        self, agent_id: AgentId, line: TypedText, origin: Origin, seen: SeenProposal, meaning: ReplyMeaning | None
    ) -> Answer:
        if meaning is None and line.mentions_somebody:
            meaning = meaning_of(line.own_words, to_somebody=line.is_to_somebody, names_somebody=True)
        outcome = await self.service.decisions.reply(
            agent_id, line.shown, origin, seen, meaning, own_words=line.own_words
        )
        match outcome:
            case NoteKept():
                return _kept(outcome, is_reason=meaning == "feedback")
            case QuestionAsked():
                return Answer(ASKED, is_asked=True)
            case StepRejected(_, turn, can_undo=True):
                said = (
                    f"Turn {turn.number} is rejected with your reply as the reason. You can undo this for ten seconds."
                )
                return Answer(said, buttons=(Button("undo", turn.id),))
            case StepRejected():
                return Answer("rejected with your reply as the reason")


def _kept(kept: NoteKept, *, is_reason: bool) -> Answer:
    """`is_reason`: the writer chose to reject, and what they saw was decided or changed meanwhile."""
    agent = kept.agent
    if agent.is_at_rest:
        state = status_text(agent).partition(":")[0]  # without the reason of a pause, which the thread has
        said = f"Saved. {agent.name} is {state} and reads it {when_read(agent)}."
        return Answer(said, kept, buttons=(Button("resume", agent.id),))
    if kept.undecided:
        return _undecided(agent, kept.undecided, kept)
    if is_reason:
        return Answer(f"Saved as a note for {agent.name}. Nothing is rejected.", kept, is_wanted=True)
    return Answer(f"Saved as a note: {agent.name} reads it at its next turn.", kept)


def _undecided(agent: Agent, turn: Turn, kept: NoteKept) -> Answer:
    """Say that a reply decided nothing, and offer the decisions it may have meant."""
    said = f"Saved as a note. Nothing is decided: turn {turn.number} of {agent.name} still needs approval."
    return Answer(said, kept, buttons=tuple(Button(v, turn.id, shown=turn.control_hash) for v in ("approve", "reject")))


def takes_long(line: TypedText) -> bool:
    """Whether a line is a slow command (`!review`, `!memory`, `!audit`): the next line should not wait for it."""
    return re.match(r"!\s*(review|memory|audit)\b", line.head, re.IGNORECASE) is not None


def reviewed_text(number: int) -> str:
    return f"The self-review is on the card of turn {number}."


def _decision(button: Button, filled: FormInput, now: datetime) -> Decision:
    match button.verb:
        case "edit":
            return ApproveEdited(filled.arguments)
        case "reject":
            return Reject(filled.text.strip())
        case _:
            return Approve(button.times, limits=parse_limits(filled.text, now) if button.times > 1 else NO_LIMITS)


def _times(text: str) -> tuple[int, str]:
    """The N of `!approve N`, 1 without one, and the limits behind it."""
    if not text.strip():
        return 1, ""
    number = re.match(r"[×x]?\s*(\d{1,6})(?=\s|$)", text.strip())
    if number is None:
        raise InvalidInput({"times": "Approve ×N: write a number, as in !approve 5."})
    return int(number[1]), text.strip()[number.end() :]
