"""Runs the subcommands of `/agent` that need neither a form nor a model, on every chat platform."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias, TypeVar

from adapters.chat.services import ChatServices
from adapters.chat.texts import creation_text
from adapters.screens.ui_text import HelpText
from adapters.typed.actions import HELP as IN_THREAD
from adapters.typed.subcommands import HELP, Helping, Listing, NewFrom, NewTour, OnAgent, agent_called, archived_text
from adapters.typed.typed_text import typed
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry
from agent_core.model.origin import Origin
from agent_core.model.records.deletion import KEEP_ALL, Retention

M = TypeVar("M")
MessageT = TypeVar("MessageT", covariant=True)
DEMO_HELP = "This is demo mode (scripted, no AI). /agent new tour shows Signoff in seven steps."
BRINGS_BACK = "/agent unarchive NAME brings one back as it is, /agent resume NAME lets it continue too."
Link: TypeAlias = Callable[[Agent], str]


class AgentRender(Protocol[MessageT]):
    """Builds a platform's messages that answer subcommands."""

    def agents_message(
        self, agents: Sequence[Agent], link: Link, retention: Retention = KEEP_ALL, *, closing: str = ""
    ) -> MessageT:
        """The channel's agents, one per line, those at rest with the day on which they are deleted; then `closing`."""

    def agent_message(self, agent: Agent, link: Link) -> MessageT:
        """One agent: name, role, goals, status and settings."""

    def files_message(self, agent: Agent, entries: Sequence[FileEntry]) -> MessageT:
        """The files of an agent; the first ones have an Upload button."""

    def delete_message(self, agent: Agent) -> MessageT:
        """The confirmation before an agent is deleted."""

    def help_message(self, *helps: HelpText, said: str = "") -> MessageT:
        """The commands that people can type, one per line, below the text `said`."""


async def run_subcommand(
    wanted: NewFrom | NewTour | Listing | OnAgent | Helping,
    origin: Origin,
    *,
    context: ChatServices,
    render: AgentRender[M],
    link: Link,
) -> str | M:
    """Run the subcommand and return its answer, which only the person sees; raise PersonError if it is refused."""
    match wanted:
        case NewFrom(draft):
            filled = draft.like(await context.service.load_agent_defaults(origin))
            return creation_text(await context.service.create(filled, origin))
        case NewTour():
            return creation_text(await context.tour.start(origin))
        case Listing(is_archived):
            return await _list(origin, context, render, link, is_archived=is_archived)
        case Helping(said):
            return render.help_message(HELP, IN_THREAD, said=said or (DEMO_HELP if context.tour.is_offered else ""))
        case OnAgent(verb, name):
            agent = await agent_called(context.views, origin.channel, name)
            if verb == "show":
                return render.agent_message(agent, link)
            return await _on_agent(verb, agent, origin, context, render)


async def _list(
    origin: Origin, context: ChatServices, render: AgentRender[M], link: Link, *, is_archived: bool
) -> str | M:
    """The channel's agents with a line on how many are archived, or the archived ones with a line on their way back."""
    views = context.views
    number = await views.count_archived(origin.channel)
    if is_archived and not number:
        return "No agent here is archived."
    agents = await (views.list_archived if is_archived else views.agents)(origin.channel)
    closing = f"{number:,} archived. {BRINGS_BACK}" if is_archived else archived_text(number)
    if not agents:
        return closing or render.agents_message((), link)
    return render.agents_message(agents, link, views.retention, closing=closing)


async def _on_agent(
    verb: Literal["stop", "resume", "archive", "unarchive", "delete", "files"],
    agent: Agent,
    origin: Origin,
    context: ChatServices,
    render: AgentRender[M],
) -> str | M:
    match verb:
        case "stop" | "resume" | "archive" | "unarchive":
            return (await context.actions.say(agent.id, typed(f"!{verb}"), origin)).text
        case "delete":
            return render.delete_message(agent)
        case "files":
            return render.files_message(agent, await context.views.files(origin.channel, agent.id))
