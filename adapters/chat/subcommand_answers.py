"""Runs the subcommands of `/agent` that need neither a form nor a model, on every chat platform."""

from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from adapters.chat.agent_messages import agent_screen, agents_screen, delete_screen, files_screen, help_screen
from adapters.chat.services import ChatServices
from adapters.chat.texts import creation_text
from adapters.screens.message.pieces import Link, Pressable, Screen
from adapters.typed.actions import HELP as IN_THREAD
from adapters.typed.subcommands import HELP, Helping, Listing, NewFrom, NewTour, OnAgent, agent_called, archived_text
from adapters.typed.typed_text import typed
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.origin import Origin

DEMO_HELP = "This is demo mode (scripted, no AI). /agent new tour shows Signoff in seven steps."
BRINGS_BACK = "/agent unarchive NAME brings one back as it is, /agent resume NAME lets it continue too."
Upload: TypeAlias = Callable[[AgentId, str], Pressable | None]  # the button that uploads a file, by its path


async def run_subcommand(
    wanted: NewFrom | NewTour | Listing | OnAgent | Helping,
    origin: Origin,
    context: ChatServices,
    link: Link,
    upload: Upload,
) -> str | Screen:
    """Run the subcommand and return its answer, which only the person sees; raise PersonError if it is refused."""
    match wanted:
        case NewFrom(draft):
            filled = draft.like(await context.service.lifecycle.load_agent_defaults(origin))
            return creation_text(await context.service.lifecycle.create(filled, origin))
        case NewTour():
            return creation_text(await context.tour.start(origin))
        case Listing(is_archived):
            return await _list(origin, context, link, is_archived=is_archived)
        case Helping(said):
            return help_screen(HELP, IN_THREAD, said=said or (DEMO_HELP if context.tour.is_offered else ""))
        case OnAgent(verb, name):
            agent = await agent_called(context.views, origin.channel, name)
            if verb == "show":
                return agent_screen(agent, link)
            return await _on_agent(verb, agent, origin, context, upload)


async def _list(origin: Origin, context: ChatServices, link: Link, *, is_archived: bool) -> str | Screen:
    """The channel's agents with a line on how many are archived, or the archived ones with a line on their way back."""
    views = context.views
    number = await views.count_archived(origin.channel)
    if is_archived and not number:
        return "No agent here is archived."
    agents = await (views.list_archived if is_archived else views.agents)(origin.channel)
    closing = f"{number:,} archived. {BRINGS_BACK}" if is_archived else archived_text(number)
    if not agents:
        return closing or agents_screen((), link)
    return agents_screen(agents, link, views.retention, closing=closing)


async def _on_agent(
    verb: Literal["stop", "resume", "archive", "unarchive", "delete", "files"],
    agent: Agent,
    origin: Origin,
    context: ChatServices,
    upload: Upload,
) -> str | Screen:
    match verb:
        case "stop" | "resume" | "archive" | "unarchive":
            return (await context.actions.say(agent.id, typed(f"!{verb}"), origin)).text
        case "delete":
            return delete_screen(agent)
        case "files":
            return files_screen(agent, await context.views.files(origin.channel, agent.id), partial(upload, agent.id))
