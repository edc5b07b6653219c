"""Answers a person's question about an agent: asks the model and posts the answer in the thread. Decides nothing.

A question is saved as a notice. One save stores the answer and marks the question as posted, so a question survives a
crash and is answered once.
"""

import asyncio
from dataclasses import dataclass

from agent_core.errors import ModelError
from agent_core.loop.claim import AgentClaim, Draining
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.prompt.history import quote
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.proposal_questions import MAX_ANSWER_CHARACTERS, MAX_REPLY_TOKENS, SHOWN_TURNS, answer_messages
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import budget_of
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.text.lines import one_line

ANSWER_TIMEOUT_SECONDS = 60.0
MAX_QUOTE_CHARACTERS = 150
ANSWER_FOOTER = "Nothing was decided."


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswerer:
    """Asks the fast model, or the agent's own if none is set. The agent pays."""

    metered_model: MeteredModel
    ledger: BudgetLedger
    clock: Clock
    draining: Draining

    async def answer(self, claim: AgentClaim, agent: Agent, question: Notice) -> Agent:
        """Post the answer, or the reason why there is none; return the agent as saved."""
        async with claim.database.begin() as work:
            turns = await work.turns.of(agent, last=SHOWN_TURNS + 1)
            own, shared = await budget_of(work, agent), await work.budgets.of(agent.channel)
        async with claim.track(self.ledger, agent, own, shared) as tracker:
            prompt = ModelRequest(
                kind="answer", prompt=answer_messages(agent, turns, question.text), max_tokens=MAX_REPLY_TOKENS
            )
            with self.draining.give_up_on_request():
                answer = await self._ask(prompt, agent, tracker)

            async def announce(work: UnitOfWork, present: Agent) -> Outcome:
                spent = dict(tracker.spent)
                work.notes.mark_posted(question)
                notice = Notice.to(present, "answer", _answer_text(question, answer), self.clock.now())
                return Outcome(agent=present.pay(spent), notices=(notice,), spent=spent)

            outcome = await claim.save_and_present(announce)
        return outcome.agent

    async def _ask(self, prompt: ModelRequest, agent: Agent, tracker: SpendingTracker) -> str:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
                reply = await self.metered_model.ask(prompt, agent.choice, tracker)
        except ModelError as error:
            return f"There is no answer: {error}"
        except TimeoutError:
            return "There is no answer: the model did not reply in time. Ask again."
        answer = reply.answer[:MAX_ANSWER_CHARACTERS]
        return (
            f"{quote(answer)}\n{ANSWER_FOOTER}" if answer else "There is no answer: the model said nothing. Ask again."
        )


def _answer_text(question: Notice, answer: str) -> str:
    return f"{question.by or 'Somebody'} asked: “{one_line(question.text, MAX_QUOTE_CHARACTERS)}”\n{answer}"
