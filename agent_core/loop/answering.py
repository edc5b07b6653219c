"""Answers a person's question about an agent: asks the model and posts the answer in the thread. Decides nothing.

A question is saved as a notice. One save stores the answer and marks the question as posted, so a question survives a
crash and is answered once. An agent at rest is not woken: a question to it that gets no answer becomes a note.
"""

import asyncio
from dataclasses import dataclass

from agent_core.errors import MemoryAway, ModelError, ModelUnavailable
from agent_core.loop.claim import AgentClaim, Draining
from agent_core.loop.outcome import Outcome
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.agent import Agent
from agent_core.model.model_calls import Message
from agent_core.model.note import Note, Notice
from agent_core.model.records.memory import Recalled
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.prompt.history import quote
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.proposal_questions import (
    MAX_ANSWER_CHARACTERS,
    MAX_RECALLED,
    MAX_REPLY_TOKENS,
    answer_messages,
    shown_turns,
)
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import budget_of
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.text.lines import one_line

ANSWER_TIMEOUT_SECONDS = 60.0
MAX_QUOTE_CHARACTERS = 150
ANSWER_FOOTER = "Nothing was decided."
REST_FOOTER = "Nothing was done: it goes on only after Resume."
KEPT_AS_NOTE = "Your words are kept as a note, which it reads after Resume."


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswerer:
    """Asks the fast model, or the agent's own if none is set. The agent pays."""

    metered_model: MeteredModel
    memory: LongTermMemory
    ledger: BudgetLedger
    clock: Clock
    draining: Draining

    async def answer(self, claim: AgentClaim, agent: Agent, question: Notice) -> Agent:
        """Post the answer, or the reason why there is none; return the agent as saved."""
        async with claim.database.begin() as work:
            turns = await work.turns.of(agent, last=shown_turns(agent) + 1)
            own, shared = await budget_of(work, agent), await work.budgets.of(agent.channel)
        answer = missing = ""
        async with claim.track(self.ledger, agent, own, shared) as tracker:
            with self.draining.give_up_on_request():
                memories = await self._recall(agent, question.text, tracker) if agent.is_at_rest else ()
                try:
                    answer = await self._ask(answer_messages(agent, turns, question.text, memories), agent, tracker)
                except ModelError as error:
                    missing = f"There is no answer: {error}"

            async def announce(work: UnitOfWork, present: Agent) -> Outcome:
                spent, rests = dict(tracker.spent), present.is_at_rest
                work.notes.mark_posted(question)
                if missing and rests and question.by:
                    work.notes.add(Note.to(present, question.text, by=question.by, at=question.at))
                closing = f"{missing} {KEPT_AS_NOTE}" if rests else missing
                said = closing if missing else f"{quote(answer)}\n{REST_FOOTER if rests else ANSWER_FOOTER}"
                notice = Notice.to(present, "answer", _answer_text(question, said), self.clock.now())
                return Outcome(agent=present.pay(spent), notices=(notice,), spent=spent)

            outcome = await claim.save_and_present(announce)
        return outcome.agent

    async def _recall(self, agent: Agent, text: str, tracker: SpendingTracker) -> tuple[Recalled, ...]:
        """What the agent remembers of this; nothing while its memory cannot be reached."""
        try:
            return await self.memory.recall(agent, text, MAX_RECALLED, tracker)
        except MemoryAway:
            return ()

    async def _ask(self, prompt: tuple[Message, ...], agent: Agent, tracker: SpendingTracker) -> str:
        """The model's answer; raise ModelError if there is none."""
        request = ModelRequest(kind="answer", prompt=prompt, max_tokens=MAX_REPLY_TOKENS)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
                reply = await self.metered_model.ask(request, agent.choice, tracker)
        except TimeoutError:
            raise ModelUnavailable("the model did not reply in time. Ask again.") from None
        if not reply.answer:
            raise ModelUnavailable("the model said nothing. Ask again.")
        return reply.answer[:MAX_ANSWER_CHARACTERS]


def _answer_text(question: Notice, answer: str) -> str:
    return f"{question.by or 'Somebody'} asked: “{one_line(question.text, MAX_QUOTE_CHARACTERS)}”\n{answer}"
