"""What people write in Slack, service calls out: replies in an agent's thread, mentions, direct messages, files."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

from adapters.actions import takes_long
from adapters.answers import Answer
from adapters.settings_file import FILENAME, decoded, is_settings, pasted_draft
from adapters.slack.inbound.context import SlackContext, thread_of
from adapters.slack.inbound.downloads import SlackDownloads
from adapters.slack.inbound.inbound_event import Body, SlackEvent, is_from_person, of_message, with_thread, written_at
from adapters.slack.outbound.blocks import SlackMessage
from adapters.slack.outbound.extra_buttons import SlackDraftButton
from adapters.slack.outbound.render import explanation_message, kept_message, offer_message
from agent_core.errors import CommandError, InvalidInput, PersonError
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, AgentDraft
from agent_core.model.seen_proposal import SeenProposal

KEPT, DECIDED, ASKED = "eyes", "white_check_mark", "speech_balloon"
SETTINGS = (".yaml", ".yml")
FROM_SETTINGS = f"As {FILENAME} has it."
TOO_LONG_TO_OFFER = f"{FILENAME} is too long to be offered here: paste it behind /agent new."
ASKING_FOR_HELP = frozenset({"", "help", "hi", "hello", "hey", "?", "!help"})


@dataclass(frozen=True, slots=True)
class SlackMessageListener:
    """Takes every message once, in the order of its thread, whether it came alive or was read up on later."""

    context: SlackContext
    downloads: SlackDownloads
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def take(self, event: Body, workspace: str) -> None:
        """A message: for the agent whose thread it is in, or for Signoff where it is named, or nothing."""
        if not is_from_person(event):
            return
        arrival = of_message(event, workspace)
        agent = await self._agent_of(arrival, event)
        if agent:
            await self._to_agent(agent, event, arrival)
        elif event.get("channel_type") == "im" or event.get("type") == "app_mention":
            await self._to_signoff(event, with_thread(arrival, event["ts"]))

    async def _agent_of(self, arrival: SlackEvent, event: Body) -> Agent | None:
        if not arrival.thread or arrival.thread == event["ts"]:
            return None
        return await self.context.actions.views.in_thread(thread_of(arrival))

    async def _to_agent(self, agent: Agent, event: Body, arrival: SlackEvent) -> None:
        try:
            origin = await self.context.origin(arrival)
        except PersonError as error:
            self.context.soon(self.context.tell(arrival, str(error)))
            return
        said = await self.context.as_written(event.get("text") or "", arrival.workspace)
        if takes_long(said):
            self.context.soon(self._ask(agent, said, event, arrival, origin))
        else:
            async with self.locks.setdefault(agent.id, asyncio.Lock()):
                if said and not await self._say(agent, said, event, arrival, origin):
                    return
        if files := event.get("files"):
            self.context.soon(self._take_files(agent, files, arrival, origin))

    async def _say(self, agent: Agent, said: str, event: Body, arrival: SlackEvent, origin: Origin) -> bool:
        """Say it to the agent; a refused word is done with, so that read again it never meets a later proposal."""
        try:
            answer = await self.context.actions.say(agent.id, said, origin, SeenProposal(written_at=written_at(event)))
        except PersonError as error:
            if await self.context.inbound_log.first_time(arrival.delivery):
                self.context.soon(self.context.tell(arrival, str(error)))
            return False
        self._acknowledge(answer, agent, event, arrival, origin)
        return True

    async def _ask(self, agent: Agent, said: str, event: Body, arrival: SlackEvent, origin: Origin) -> None:
        """Do what asks a model, once, while the thread goes on; that it was heard is shown at once."""
        if not await self.context.inbound_log.first_time(arrival.delivery):
            return
        self.context.soon(self.context.react(arrival, event["ts"], KEPT))
        once = replace(origin, delivery=None)
        try:
            answer = await self.context.actions.say(agent.id, said, once, SeenProposal(written_at=written_at(event)))
            await self.context.give(arrival, answer, agent.id, origin)
        except PersonError as error:
            await self.context.tell(arrival, str(error))

    def _acknowledge(self, answer: Answer, agent: Agent, event: Body, arrival: SlackEvent, origin: Origin) -> None:
        if answer.is_wanted:
            self.context.soon(self._give_once(arrival, answer, agent, origin))
            return
        sign = ASKED if answer.is_asked else KEPT if answer.kept else DECIDED
        self.context.soon(self.context.react(arrival, event["ts"], sign))
        if answer.kept and answer.kept.agent.is_at_rest:
            self.context.soon(self._tell_once(arrival, kept_message(agent, answer.text)))

    async def _tell_once(self, arrival: SlackEvent, said: str | SlackMessage) -> None:
        if await self.context.inbound_log.first_time(f"{arrival.delivery}/answer"):
            await self.context.tell(arrival, said)

    async def _give_once(self, arrival: SlackEvent, answer: Answer, agent: Agent, origin: Origin) -> None:
        if await self.context.inbound_log.first_time(f"{arrival.delivery}/answer"):
            await self.context.give(arrival, answer, agent.id, origin)

    async def _take_files(
        self, agent: Agent, files: Sequence[dict[str, Any]], arrival: SlackEvent, origin: Origin
    ) -> None:
        for file in files:
            await self._take_file(agent, file, arrival, origin)

    async def _take_file(self, agent: Agent, file: dict[str, Any], arrival: SlackEvent, origin: Origin) -> None:
        """Fetch a file and put it into the workspace; if this process dies meanwhile, the thread is read up on."""
        try:
            name, data = await self.downloads.fetch(arrival.workspace, file)
            delivery = f"{arrival.delivery}/{file['id']}"
            put = Origin(by=origin.by, channel=origin.channel, delivery=delivery)
            path = await self.context.received.receive(agent.id, name, data, put)
        except (PersonError, CommandError) as error:
            await self.context.tell(arrival, str(error))
            return
        if path:
            await self.context.react(arrival, arrival.delivery.rpartition("/")[2], KEPT)

    async def _to_signoff(self, event: Body, arrival: SlackEvent) -> None:
        """Answer where nobody's thread is: offer an agent for what was asked, or explain."""
        if not await self.context.inbound_log.first_time(arrival.delivery):
            return
        said = await self.context.as_written(event.get("text") or "", arrival.workspace)
        file = next((file for file in event.get("files") or () if str(file.get("name")).endswith(SETTINGS)), None)
        if file or is_settings(said):
            self.context.soon(self._offer_settings(said, file, arrival))
        elif said.casefold().strip(" !.") in ASKING_FOR_HELP:
            self.context.soon(self.context.post(arrival, explanation_message()))
        else:
            self.context.soon(self._offer(said, event["ts"], arrival))

    async def _offer_settings(self, said: str, file: dict[str, Any] | None, arrival: SlackEvent) -> None:
        """Offer the agent of an ai_settings.yaml that was dropped or pasted; no model is asked."""
        try:
            last = await self.context.actions.service.load_offered_draft(await self.context.origin(arrival))
            draft = await self._read_settings(file, arrival) if file else pasted_draft(said)
            offered = _offered(draft, last).tidied()
            if not SlackDraftButton("create", offered).carries_draft:
                raise InvalidInput({"settings": TOO_LONG_TO_OFFER})
            await self.context.post(arrival, offer_message(offered, said=FROM_SETTINGS))
        except PersonError as error:
            await self.context.tell(arrival, str(error))

    async def _read_settings(self, file: dict[str, Any], arrival: SlackEvent) -> AgentDraft:
        name, data = await self.downloads.fetch(arrival.workspace, file)
        return pasted_draft(decoded(data, name), name)

    async def _offer(self, sentence: str, ts: str, arrival: SlackEvent) -> None:
        try:
            origin = await self.context.origin(arrival)
            last = await self.context.actions.service.load_offered_draft(origin)
        except PersonError as error:
            await self.context.tell(arrival, str(error))
            return
        self.context.soon(self.context.react(arrival, ts, KEPT))
        drafted = await self.context.drafting.draft(sentence, origin)
        await self.context.post(arrival, offer_message(_offered(drafted.draft, last), sentence, said=drafted.said))


def _offered(draft: AgentDraft, last: AgentDraft | None) -> AgentDraft:
    """The draft as it would be made here, with the settings that the channel used last."""
    return replace(draft, name=draft.name or DEFAULT_NAME, role=draft.role or DEFAULT_ROLE).like(last)
