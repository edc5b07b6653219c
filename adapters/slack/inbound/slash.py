"""`/agent …` in, service calls out. The answer is the acknowledgement itself, and only the person sees it."""

import logging
from dataclasses import dataclass

from adapters.actions import HELP as IN_THREAD
from adapters.actions import Filled
from adapters.buttons import Button
from adapters.slack.inbound.context import WENT_WRONG, Ack, Desk
from adapters.slack.inbound.inbound_event import Arrival, Body, of_command
from adapters.slack.outbound import render, views
from adapters.slack.outbound.blocks import Message
from adapters.slack.outbound.links import link_to
from adapters.subcommands import (
    HELP,
    Helping,
    Listing,
    NewForm,
    NewFrom,
    NewSentence,
    OnAgent,
    Wish,
    agent_called,
    granted,
    subcommand_of,
)
from agent_core.errors import PersonError
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Slash:
    """Carries out a slash command. A form is opened first, whatever it is filled with."""

    desk: Desk

    async def run(self, ack: Ack, body: Body, workspace: str) -> None:
        """Answer one command."""
        arrival = of_command(body, workspace)
        try:
            answer = await self._answer(body.get("text") or "", arrival)
        except PersonError as error:
            answer = str(error)
        except Exception:
            logger.exception("command failed")
            answer = WENT_WRONG
        if not answer:
            await ack()
            return
        message = Message.plain(answer) if isinstance(answer, str) else answer
        await ack(text=message.text, blocks=message.blocks)

    async def _answer(self, text: str, arrival: Arrival) -> str | Message:
        origin = await self.desk.origin(arrival)
        match subcommand_of(text):
            case NewForm(draft):
                last = await self.desk.intents.service.offered_draft(origin)
                self.desk.soon(self.desk.open(arrival, views.agent_form(draft, last, origin.channel.key)))
                return ""
            case NewSentence(sentence):
                await self.desk.intents.service.offered_draft(origin)
                self.desk.soon(self._draft(sentence, arrival, origin))
                return ""
            case NewFrom(draft):
                agent = await self.desk.intents.service.create(await self._like_the_last(draft, origin), origin)
                return made_text(agent)
            case Wish() as wish:
                self.desk.soon(self._grant(wish, arrival, origin))
                return ""
            case Listing():
                agents = await self.desk.intents.views.agents(origin.channel)
                return render.agents_message(agents, self.desk.clock.now(), link_to)
            case OnAgent(verb, name):
                return await self._on_agent(verb, name, origin)
            case Helping(said):
                return render.help_message(HELP, IN_THREAD, said=said)

    async def _on_agent(self, verb: str, name: str, origin: Origin) -> str | Message:
        agent = await agent_called(self.desk.intents.views, origin.channel, name)
        match verb:
            case "stop" | "resume" as word:
                return (await self.desk.intents.press(Button(word, agent.id), Filled(), origin)).text
            case "delete":
                return render.delete_question(agent)
            case "files":
                files = await self.desk.intents.views.files(origin.channel, agent.id)
                return render.files_message(agent, files)
            case _:
                return render.agent_message(agent, self.desk.clock.now(), link_to)

    async def _like_the_last(self, draft: AgentDraft, origin: Origin) -> AgentDraft:
        """The one-line form says nothing of policy and budget: they are as they were in the channel's last form."""
        last = await self.desk.intents.service.offered_draft(origin)
        return draft.like(last) if last else draft

    async def _grant(self, wish: Wish, arrival: Arrival, origin: Origin) -> None:
        """Do what may take longer than Slack waits, and tell the person alone."""
        try:
            answer, agent = await granted(self.desk.intents.wishes, wish, origin)
            await self.desk.give(arrival, answer, agent.id if agent else None, origin)
        except PersonError as error:
            await self.desk.tell(arrival, str(error))

    async def _draft(self, sentence: str, arrival: Arrival, origin: Origin) -> None:
        """Open a form that says it is being filled in, and fill it in."""
        view_id = await self.desk.open(arrival, views.drafting_view())
        drafted = await self.desk.drafting.draft(sentence, origin)
        last = await self.desk.intents.service.offered_draft(origin)
        form = views.agent_form(drafted.draft, last, origin.channel.key, said=drafted.said)
        await self.desk.replace(arrival.workspace, view_id, form)


def made_text(agent: Agent) -> str:
    """What the person who made an agent is told."""
    return f"{agent.name} is made and begins to think. Its thread opens in this channel."
