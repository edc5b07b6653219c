"""How people answer a tool server by a form or a button. The answer becomes a note, which the running call reads."""

from collections.abc import Mapping
from dataclasses import replace

from agent_core.errors import AlreadyDecided, NotPossible
from agent_core.model.actors import Actor, Origin
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import TurnId
from agent_core.model.note import Note
from agent_core.model.server_answers import DECLINED, WrongAnswer, answers, line_of_form, read_reply
from agent_core.model.server_question import AskedQuestion
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_decide, require_may_decide
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import TransactionalService
from agent_core.spending.helper_tree import deliver_note

WHAT = "answer servers here"
ASKS_OTHERS = "This question is over: the server asks something else now. Nothing was sent. Look again."


class ServerQuestions(TransactionalService):
    """Answers to what tool servers ask. The first one counts, whether it was typed, filled in or pressed."""

    async def open_to(self, by: Actor, channel: ChannelScope, turn_id: TurnId, shown: str) -> tuple[Agent, Turn]:
        """The agent and the turn with the open question, for the form in which this person answers.

        `shown`: the id of the question that the pressed control carried. Raise NotAllowed, AlreadyDecided, or
        NotPossible if nothing is asked any more, or something else.
        """
        async with self.database.begin() as work:
            agent, turn, _ = await _find_open(work, by, channel, turn_id, shown)
            return agent, turn

    async def answer(self, turn_id: TurnId, form: Mapping[str, str], origin: Origin, *, shown: str) -> Turn:
        """Answer with a form, by `field_id`; raise what `open_to` raises, and InvalidInput for wrong fields."""
        return await self._close(turn_id, form, origin, shown)

    async def decline(self, turn_id: TurnId, origin: Origin, *, shown: str) -> Turn:
        """Decline; raise what `open_to` raises."""
        return await self._close(turn_id, None, origin, shown)

    async def _close(self, turn_id: TurnId, form: Mapping[str, str] | None, origin: Origin, shown: str) -> Turn:
        async def act(work: UnitOfWork) -> Turn:
            if await self.is_repeated(work, origin):
                return await work.turns.get(origin.channel, turn_id)
            agent, turn, asked = await _find_open(work, origin.by, origin.channel, turn_id, shown)
            line, now = DECLINED if form is None else line_of_form(asked.question, form), self.clock.now()
            note = replace(Note.to(agent, line, by=origin.by, at=now), form_of=asked.server)
            deliver_note(work, agent, note)
            answered = turn.ask(asked.answer(origin.by, now, is_declined=form is None))
            work.turns.save(answered)  # of two answers at once, one conflicts
            self.waker.wake(work, agent.id)
            return answered

        return await self.save(act)


async def _find_open(
    work: UnitOfWork, by: Actor, channel: ChannelScope, turn_id: TurnId, shown: str
) -> tuple[Agent, Turn, AskedQuestion]:
    turn = await work.turns.get(channel, turn_id)
    agent = await work.agents.get(channel, turn.agent_id)
    require_may_decide(agent, by, WHAT)
    asked = turn.asked
    if asked and asked.id == shown and asked.answered_by and asked.answered_at:
        verb = "declined" if asked.is_declined else "answered"
        raise AlreadyDecided(verb, str(asked.answered_by), asked.answered_at)
    if turn.state != "running" or asked is None:
        raise NotPossible(f"Turn {turn.number} is {turn.state}: its tool server asks nothing any more.")
    if asked.id != shown or turn.open_question is None:
        raise NotPossible(ASKS_OTHERS)
    if typed := await _find_typed(work, agent, asked):
        raise AlreadyDecided("answered", str(typed.by), typed.at)
    return agent, turn, asked


async def _find_typed(work: UnitOfWork, agent: Agent, asked: AskedQuestion) -> Note | None:
    """A typed answer that fits, which the running call has not read yet."""
    notes = await work.notes.list_waiting(agent)
    since = (note for note in notes if note.at >= asked.at and answers(note) and may_decide(agent, note.by))
    return next((note for note in since if _fits(asked, note)), None)


def _fits(asked: AskedQuestion, note: Note) -> bool:
    try:
        read_reply(asked.question, note.text)
    except WrongAnswer:
        return False
    return True
