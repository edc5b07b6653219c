"""How people answer a tool server, by a form or a button. The answer stands on the turn, where the call finds it."""

from collections.abc import Mapping

from agent_core.errors import AlreadyDecided, InvalidInput, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.question import AskedQuestion, ServerQuestion, WrongAnswer, field_id, read_value
from agent_core.model.turn import Turn
from agent_core.oversight.policy import require_may_approve, require_may_decide
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import Attempt, TransactionalService
from agent_core.text.lines import counted

WHAT = "answer servers here"
ASKS_OTHERS = "This question is over: the server asks something else now. Nothing was sent. Look again."
MAX_ANSWER_CHARACTERS = 4_000


class ServerQuestions(TransactionalService):
    """Answers to what tool servers ask. The first one counts."""

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
        said = f"{'declined' if form is None else 'answered'} a server's question"

        async def act(work: UnitOfWork) -> Turn:
            if await self.is_repeated(work, origin):
                return await work.turns.get(origin.channel, turn_id)
            agent, turn, asked = await _find_open(work, origin.by, origin.channel, turn_id, shown)
            now, written = self.clock.now(), [] if form is None else _written(asked.question, form)
            over = asked.decline(origin.by, now) if form is None else asked.answer(origin.by, now, *written)
            # How many fields were filled in, not with what: it may be private.
            self.audit(work, agent, origin, said, f"{asked.server}: {counted(sum(map(bool, written)), 'field')}")
            answered = turn.ask(over)
            work.turns.save(answered)  # of two answers at once, one conflicts
            self.waker.wake(work, agent.id)
            return answered

        return await self.save(act, Attempt(origin=origin, what=said, turn_id=turn_id))


def _written(question: ServerQuestion, form: Mapping[str, str]) -> list[str]:
    """What was filled in, by the number of the field; raise InvalidInput with a sentence for each wrong field."""
    problems, written = dict[str, str](), list[str]()
    for number, each in enumerate(question.fields):
        written.append(form.get(field_id(number), "").replace("\r\n", "\n").strip())
        try:
            read_value(each, written[number])
        except WrongAnswer as wrong:
            problems[field_id(number)] = f"{each.label} {wrong}"
    if not problems and (size := sum(map(len, written))) > MAX_ANSWER_CHARACTERS:
        longest = max(range(len(written)), key=lambda number: len(written[number]))
        said = f"{question.fields[longest].label} is too long: all fields together may have {MAX_ANSWER_CHARACTERS:,}"
        problems[field_id(longest)] = f"{said} characters, and these have {size:,}."
    if problems:
        raise InvalidInput(problems)
    return written


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
    require_may_approve(agent, turn, by)
    if turn.state != "running" or asked is None:
        raise NotPossible(f"Turn {turn.number} is {turn.state}: its tool server asks nothing any more.")
    if asked.id != shown or turn.open_question is None:
        raise NotPossible(ASKS_OTHERS)
    return agent, turn, asked
