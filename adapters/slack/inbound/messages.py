"""Turns Slack messages (also missed ones) into calls of services; offers an agent for a mention or direct message."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from adapters.chat.agent_messages import choice_screen, explanation_screen, offer_screen
from adapters.chat.messages import Sign, ThreadListener
from adapters.chat.texts import forwarded_text, joined, table_text
from adapters.screens.buttons import Button
from adapters.slack.inbound.context import SlackContext, thread_of
from adapters.slack.inbound.downloads import SlackDownloads
from adapters.slack.inbound.inbound_event import Body, SlackEvent, is_from_person, of_message, with_thread
from adapters.slack.inbound.shared_content import files_of, shared_parts
from adapters.slack.outbound.draw import draw
from adapters.slack.outbound.extra_buttons import SlackDraftButton, draft_buttons
from adapters.typed.answers import Answer
from adapters.typed.settings_file import FILENAME, decoded, is_settings, pasted_draft
from adapters.typed.typed_text import TypedText
from agent_core.errors import InvalidInput, PersonError
from agent_core.model.agent import Agent
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, AgentDraft
from agent_core.model.origin import Origin

REACTIONS: dict[Sign, str] = {"kept": "eyes", "decided": "white_check_mark", "asked": "speech_balloon"}
PAGE_SIZE, MAX_PAGES = 200, 50
SETTINGS_SUFFIXES = (".yaml", ".yml")
FROM_SETTINGS = f"From {FILENAME}."
TOO_LONG_TO_OFFER = f"{FILENAME} is too long for a button: paste it after /agent new."
ASKING_FOR_HELP = frozenset({"", "help", "hi", "hello", "hey", "?", "!help"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackThreadMessage:
    """A message in an agent's thread. Answers are sent in the background; their texts are shown to its author only."""

    context: SlackContext
    agent: Agent
    event: SlackEvent
    origin: Origin
    line: TypedText
    ts: str

    @property
    def written_at(self) -> datetime:
        return datetime.fromtimestamp(float(self.ts), UTC)

    async def react(self, sign: Sign) -> None:
        self.context.soon(self.context.react(self.event, self.ts, REACTIONS[sign]))

    async def tell(self, said: str) -> None:
        self.context.soon(self.context.tell(self.event, said))

    async def give(self, answer: Answer) -> None:
        self.context.soon(self.context.give(self.event, answer, self.agent.id, self.origin))

    async def offer(self, said: str, buttons: Sequence[Button]) -> None:
        self.context.soon(self.context.tell(self.event, draw(choice_screen(said, buttons))))


@dataclass(frozen=True, slots=True)
class SlackMessageListener(ThreadListener):
    """Handles every message in an agent's thread, every mention of Signoff and every direct message."""

    context: SlackContext
    downloads: SlackDownloads

    async def take(self, payload: Body, workspace: str) -> None:
        """Handle a message if it is in an agent's thread, mentions Signoff or is a direct message."""
        if not is_from_person(payload):
            return
        event = of_message(payload, workspace)
        agent = await self._agent_of(event, payload)
        if agent:
            await self._to_agent(agent, payload, event)
        elif payload.get("channel_type") == "im" or payload.get("type") == "app_mention":
            await self._to_signoff(payload, with_thread(event, payload["ts"]))

    async def read_thread(self, agent: Agent, since: datetime) -> None:
        """Handle the replies of a thread, oldest first; raise SurfaceError if Slack cannot provide them."""
        where, thread = agent.channel, agent.thread.thread if agent.thread else ""
        pages = self.context.calls.pages(
            where.workspace,
            lambda client, cursor: client.conversations_replies(
                channel=where.channel, ts=thread, oldest=f"{since.timestamp():.6f}", limit=PAGE_SIZE, cursor=cursor
            ),
            MAX_PAGES,
            place="conversations.replies",
            retries=True,
        )
        async for page in pages:
            for message in page.get("messages") or ():
                await self.take({**message, "channel": where.channel}, where.workspace)

    async def _agent_of(self, event: SlackEvent, payload: Body) -> Agent | None:
        if not event.thread or event.thread == payload["ts"]:
            return None
        return await self.context.views.in_thread(thread_of(event))

    async def _to_agent(self, agent: Agent, payload: Body, event: SlackEvent) -> None:
        try:
            origin = await self.context.origin(event)
        except PersonError as error:
            self.context.soon(self.context.tell(event, str(error)))
            return
        line = await self.context.read_text(payload.get("text") or "", event.workspace)
        message = SlackThreadMessage(
            context=self.context, agent=agent, event=event, origin=origin, line=line, ts=payload["ts"]
        )
        await self.take_shared(agent, message, await self._read_shared(payload, event.workspace))
        if await self.take_text(agent, message) and (files := files_of(payload)):
            self.context.soon(self._take_files(agent, message, files))

    async def _read_shared(self, payload: Body, workspace: str) -> str:
        """What the message forwards, quoted, and its tables; "" if there are none."""
        texts = []
        for part in shared_parts(payload):
            text = "\n".join([(await self.context.read_text(part.text, workspace)).shown, *part.tables]).strip()
            texts.append(forwarded_text(part.author, text) if part.author else table_text(text))
        return joined(texts)

    async def _take_files(
        self, agent: Agent, message: SlackThreadMessage, files: Sequence[tuple[dict[str, Any], bool]]
    ) -> None:
        for file, is_forwarded in files:
            fetched = self.downloads.fetch(message.event.workspace, file)
            await self.take_file(agent, message, file["id"], fetched, is_forwarded=is_forwarded)
        self.context.surface.standing.forget_files(agent)

    async def _to_signoff(self, payload: Body, event: SlackEvent) -> None:
        """Answer a mention or direct message outside of agents' threads: offer an agent for it, or explain Signoff."""
        if not await self.context.inbound_log.first_time(event.delivery):
            return
        said = (await self.context.read_text(payload.get("text") or "", event.workspace)).shown
        file = next(
            (file for file in payload.get("files") or () if str(file.get("name")).endswith(SETTINGS_SUFFIXES)), None
        )
        if file or is_settings(said):
            self.context.soon(self.context.tell_refusal(event, self._offer_settings(said, file, event)))
        elif said.casefold().strip(" !.") in ASKING_FOR_HELP:
            self.context.soon(self.context.post(event, draw(explanation_screen())))
        else:
            self.context.soon(self.context.tell_refusal(event, self._offer(said, payload["ts"], event)))

    async def _offer_settings(self, said: str, file: dict[str, Any] | None, event: SlackEvent) -> None:
        """Offer the agent that an uploaded or pasted ai_settings.yaml describes; no model is called."""
        origin = await self.context.origin(event)
        draft = await self._read_settings(file, event) if file else pasted_draft(said)
        offered = _named(draft).like(await self.context.service.lifecycle.load_agent_defaults(origin)).tidied()
        if not SlackDraftButton("create", offered).carries_draft:
            raise InvalidInput({"settings": TOO_LONG_TO_OFFER})
        await self.context.post(event, draw(offer_screen(offered, draft_buttons(offered), said=FROM_SETTINGS)))

    async def _read_settings(self, file: dict[str, Any], event: SlackEvent) -> AgentDraft:
        name, data = await self.downloads.fetch(event.workspace, file)
        return pasted_draft(decoded(data, name), name)

    async def _offer(self, sentence: str, ts: str, event: SlackEvent) -> None:
        origin = await self.context.origin(event)
        last = await self.context.service.lifecycle.load_agent_defaults(origin)
        self.context.soon(self.context.react(event, ts, REACTIONS["kept"]))
        drafted = await self.context.drafting.draft(sentence, origin)
        draft = _named(drafted.draft).like(last)
        await self.context.post(event, draw(offer_screen(draft, draft_buttons(draft, sentence), said=drafted.said)))


def _named(draft: AgentDraft) -> AgentDraft:
    return replace(draft, name=draft.name or DEFAULT_NAME, role=draft.role or DEFAULT_ROLE)
