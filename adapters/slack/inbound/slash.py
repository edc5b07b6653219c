"""`/agent …` in, service calls out. The answer is the acknowledgement itself, and only the person sees it."""

import logging
from dataclasses import dataclass

from adapters.actions import HELP as IN_THREAD
from adapters.actions import FormInput
from adapters.buttons import Button
from adapters.slack.inbound.context import WENT_WRONG, Ack, SlackContext
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_command
from adapters.slack.outbound import render, views
from adapters.slack.outbound.blocks import SlackMessage
from adapters.slack.outbound.links import link_to
from adapters.subcommands import (
    HELP,
    Helping,
    Listing,
    NewForm,
    NewFrom,
    NewSentence,
    OnAgent,
    ThreadSubcommand,
    agent_called,
    grant_to_agent,
    subcommand_of,
)
from agent_core.errors import PersonError
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackSlashListener:
    """Carries out a slash command. A form is opened first, whatever it is filled with."""

    context: SlackContext

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
        message = SlackMessage.plain(answer) if isinstance(answer, str) else answer
        await ack(text=message.text, blocks=message.blocks)

    async def _answer(self, text: str, arrival: SlackEvent) -> str | SlackMessage:
        origin = await self.context.origin(arrival)
        match subcommand_of(text):
            case NewForm(draft):
                last = await self.context.actions.service.load_offered_draft(origin)
                self.context.soon(self.context.open(arrival, views.agent_form(draft, last, origin.channel.key)))
                return ""
            case NewSentence(sentence):
                await self.context.actions.service.load_offered_draft(origin)
                self.context.soon(self._draft(sentence, arrival, origin))
                return ""
            case NewFrom(draft):
                agent = await self.context.actions.service.create(await self._like_the_last(draft, origin), origin)
                return made_text(agent)
            case ThreadSubcommand() as wish:
                self.context.soon(self._grant(wish, arrival, origin))
                return ""
            case Listing():
                agents = await self.context.actions.views.agents(origin.channel)
                return render.agents_message(agents, self.context.clock.now(), link_to)
            case OnAgent(verb, name):
                return await self._on_agent(verb, name, origin)
            case Helping(said):
                return render.help_message(HELP, IN_THREAD, said=said)

    async def _on_agent(self, verb: str, name: str, origin: Origin) -> str | SlackMessage:
        agent = await agent_called(self.context.actions.views, origin.channel, name)
        match verb:
            case "stop" | "resume" as word:
                return (await self.context.actions.press(Button(word, agent.id), FormInput(), origin)).text
            case "delete":
                return render.delete_question(agent)
            case "files":
                files = await self.context.actions.views.files(origin.channel, agent.id)
                return render.files_message(agent, files)
            case _:
                return render.agent_message(agent, self.context.clock.now(), link_to)

    async def _like_the_last(self, draft: AgentDraft, origin: Origin) -> AgentDraft:
        """The one-line form says nothing of policy and budget: they are as they were in the channel's last form."""
        return draft.like(await self.context.actions.service.load_offered_draft(origin))

    async def _grant(self, wish: ThreadSubcommand, arrival: SlackEvent, origin: Origin) -> None:
        """Do what may take longer than Slack waits, and tell the person alone."""
        try:
            answer, agent = await grant_to_agent(self.context.actions.wishes, wish, origin)
            await self.context.give(arrival, answer, agent.id if agent else None, origin)
        except PersonError as error:
            await self.context.tell(arrival, str(error))

    async def _draft(self, sentence: str, arrival: SlackEvent, origin: Origin) -> None:
        """Open a form that says it is being filled in, and fill it in."""
        view_id = await self.context.open(arrival, views.drafting_view())
        drafted = await self.context.drafting.draft(sentence, origin)
        last = await self.context.actions.service.load_offered_draft(origin)
        form = views.agent_form(drafted.draft, last, origin.channel.key, said=drafted.said)
        await self.context.replace(arrival.workspace, view_id, form)


def made_text(agent: Agent) -> str:
    """What the person who made an agent is told."""
    return f"{agent.name} is made and begins to think. Its thread opens in this channel."
