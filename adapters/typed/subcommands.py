"""Parses the text after `/agent` into a value for each subcommand, finds the agent that it names; has the help."""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, TypeAlias, cast, get_args

from adapters.screens.ui_text import HelpText, first_word
from adapters.typed.answers import Answer
from adapters.typed.command_lines import ChannelVerb, ThreadVerb, begins_thread_command, is_about_channel
from adapters.typed.management_commands import ManagementCommands
from adapters.typed.settings_file import is_settings, pasted_draft
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import ChannelScope, Origin
from agent_core.service.reading.views import AgentViews
from agent_core.text.lines import counted

AgentVerb = Literal["show", "stop", "resume", "archive", "unarchive", "delete", "files"]
DUPLICATE = "duplicate"
TEMPLATE = re.compile(r"template(?:\s+(?P<key>\S+))?", re.IGNORECASE)
PROMPT = re.compile(r'prompt(?:\s+(?:"(?P<quoted>[^"]+)"|(?P<key>\S+)))?', re.IGNORECASE)
WORDS = ("new", DUPLICATE, "list", *get_args(AgentVerb), *get_args(ThreadVerb), "help")
HELP = HelpText(
    "In a channel",
    (
        ("/agent new", "opens the form for a new agent"),
        ("/agent new research the best tennis strings", "fills it in from a sentence"),
        ("/agent new Name | role | goal; goal", "creates the agent at once"),
        ("/agent new, then a pasted ai_settings.yaml", "fills it in from AutoGPT's file"),
        ("/agent new template KEY", "fills it in from a template; without KEY, says which there are"),
        (
            "/agent new prompt SERVER.NAME",
            "fills it in from a tool server's prompt; without it, offers them",
        ),
        ("/agent duplicate NAME", "fills it in from an agent that is there"),
        ("/agent list", "the agents of this channel; list archived shows the archived ones"),
        ("/agent show NAME", "one agent and its settings"),
        ("/agent files NAME", "its files"),
        ("/agent goals NAME", "its goals; /agent goals NAME set a; b sets them"),
        ("/agent model NAME", "the model it uses; a name or default sets another"),
        ("/agent budget NAME", "what it spent; an amount or none sets its limit, channel 20 for all"),
        (
            "/agent policy NAME",
            "who may approve, what asks; also free CLASS, ask CLASS; policy channel is for all here",
        ),
        ("/agent rules NAME", "what always or never runs"),
        ("/agent schedule NAME", "when it works by itself; also list"),
        ("/agent memory NAME", "its memory"),
        ("/agent sites", "the sites agents here may reach"),
        ("/agent tools", "what plugins and servers add here"),
        ("/agent reminders", "when agents here remind people"),
        ("/agent notify me", "sends you what waits here by direct message; notify off ends that"),
        ("/agent export NAME", "its ai_settings.yaml"),
        ("/agent audit", "the decision log of this channel; NAME for one agent, even a deleted one"),
        ("/agent fork NAME 12", "a new agent from its state after turn 12"),
        ("/agent stop NAME", "ends what it is doing, until you resume it"),
        ("/agent resume NAME", "lets it continue"),
        ("/agent archive NAME", "leaves it out of lists, if it is at rest"),
        ("/agent unarchive NAME", "brings it back; so does resume NAME"),
        ("/agent delete NAME", "deletes it with its history, memory and files"),
    ),
    "In a channel with one agent you can leave out NAME.",
)


@dataclass(frozen=True, slots=True)
class NewForm:
    """`new`: open the form, empty or filled in from a pasted ai_settings.yaml."""

    draft: AgentDraft = field(default_factory=AgentDraft)


@dataclass(frozen=True, slots=True)
class NewFrom:
    """`new Name | role | goal; goal`: create the agent without a form."""

    draft: AgentDraft


@dataclass(frozen=True, slots=True)
class NewTour:
    """`new tour`: create the agent that gives the tour of demo mode."""


@dataclass(frozen=True, slots=True)
class NewTemplate:
    """`new template KEY`: open the form, filled in from a template; "" names none."""

    key: str


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """`new prompt KEY`: open the form of a tool server's prompt, which fills in that of the agent; "" names none."""

    key: str


@dataclass(frozen=True, slots=True)
class NewSentence:
    """`new` and a sentence: open the form, filled in by the model from the sentence."""

    sentence: str


@dataclass(frozen=True, slots=True)
class NewCopy:
    """`duplicate`: open the form, filled in from the agent of this name; no name means the channel's only agent."""

    name: str


@dataclass(frozen=True, slots=True)
class ThreadSubcommand:
    """A thread command such as goals or memory; `text` may begin with an agent's name."""

    verb: ThreadVerb
    text: str


@dataclass(frozen=True, slots=True)
class OnAgent:
    """A command for one agent; no name means the channel's only agent."""

    verb: AgentVerb
    name: str


@dataclass(frozen=True, slots=True)
class Listing:
    """`list`: show the channel's agents; `list archived`: those that are archived."""

    is_archived: bool = False


@dataclass(frozen=True, slots=True)
class Helping:
    """`help`, no text or an unknown command: show the help.

    `said`: the message about an unknown command; "" without one.
    """

    said: str = ""


Subcommand: TypeAlias = (
    NewForm
    | NewFrom
    | NewTour
    | NewTemplate
    | NewPrompt
    | NewSentence
    | NewCopy
    | OnAgent
    | ThreadSubcommand
    | Listing
    | Helping
)


def subcommand_of(text: str) -> Subcommand:
    """Parse the text; raise InvalidInput for an invalid one-line form or pasted file."""
    verb, rest = first_word(text)
    if verb == "new":
        return _new(rest)
    if verb == DUPLICATE:
        return NewCopy(rest)
    if verb == "list":
        return _listing(rest)
    if verb in get_args(AgentVerb):
        return OnAgent(cast("AgentVerb", verb), rest)
    if verb in get_args(ThreadVerb):
        return ThreadSubcommand(cast("ThreadVerb", verb), rest)
    return Helping() if verb in ("", "help") else Helping(_not_understood(verb))


async def agent_called(views: AgentViews, channel: ChannelScope, name: str) -> Agent:
    """The channel's agent of that name, or its only agent if `name` is empty; else raise InvalidInput with a hint."""
    if name and (found := await views.find_by_name(channel, name)):
        return found
    agents = await views.agents(channel)
    archived = archived_text(await views.count_archived(channel))
    if not agents:
        raise InvalidInput({"name": archived or "There is no agent in this channel yet. Create one with /agent new."})
    if not name and len(agents) == 1:
        return agents[0]
    names = [agent.name for agent in agents]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Agents here: {', '.join(names[:20])}."
    said = f"No agent here is called {name}." if name else "Which agent? Write its name."
    raise InvalidInput({"name": " ".join(filter(None, (said, hint, archived)))})


def copied_text(agent: Agent, copy: AgentDraft) -> str:
    """What the form of a copy says above its fields."""
    free = ""
    if agent.policy.free:
        listed = ", ".join(agent.policy.free)
        free = f" Like {agent.name}, it would run without asking: {listed}."
        if not copy.policy.free:
            free = f" Unlike {agent.name}, it asks for: {listed}. Choose below what runs without asking."
    return f"Copied from {agent.name}, without its history, memory and files. Nothing is created yet.{free}"


def archived_text(number: int) -> str:
    """How many agents of a channel are archived and how to see them; "" for none."""
    if not number:
        return ""
    return f"{counted(number, 'archived agent')} {'is' if number == 1 else 'are'} left out: /agent list archived."


async def grant_to_agent(
    commands: ManagementCommands, wanted: ThreadSubcommand, origin: Origin
) -> tuple[Answer, Agent | None]:
    """Run a thread command typed after `/agent`; return its answer and the agent that the text names.

    The agent is None for `audit`, which may be about a channel or a deleted agent, and for the channel's settings.
    """
    if wanted.verb == "audit":
        return await commands.audit(wanted.text, origin), None
    if is_about_channel(wanted.verb, wanted.text):
        return await commands.run_on_channel(
            cast("Literal['policy', 'schedule']", wanted.verb), wanted.text, origin
        ), None
    if wanted.verb in get_args(ChannelVerb):
        return await commands.run_on_channel(cast("ChannelVerb", wanted.verb), wanted.text, origin), None
    agent, said = await agent_of_thread_command(commands.views, origin.channel, wanted)
    return await commands.run(wanted.verb, agent, said, origin), agent


async def agent_of_thread_command(
    views: AgentViews, channel: ChannelScope, wanted: ThreadSubcommand
) -> tuple[Agent, str]:
    """The agent whose name begins the text (the longest such name), and the text after the name.

    In a channel with one agent the name may be left out if the text is a valid command.
    If no agent is found, raise InvalidInput with a hint, such as the names of the channel's agents.
    """
    agents = await views.agents(channel)
    named = [(found.end(), agent) for agent in agents if (found := _named(agent).match(wanted.text))]
    if named:
        end, agent = max(named, key=lambda each: each[0])
        return agent, wanted.text[end:].strip()
    if wanted.text and not (len(agents) == 1 and begins_thread_command(wanted.verb, wanted.text)):
        return await agent_called(views, channel, wanted.text), ""
    return await agent_called(views, channel, ""), wanted.text


def _named(agent: Agent) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(word) for word in agent.name.split())
    return re.compile(rf"{words}(?!\S)", re.IGNORECASE)


def _new(rest: str) -> Subcommand:
    if not rest:
        return NewForm()
    if is_settings(rest):
        return NewForm(pasted_draft(rest))
    if rest.casefold() == "tour":
        return NewTour()
    if template := TEMPLATE.fullmatch(rest):
        return NewTemplate(template["key"] or "")
    if prompt := PROMPT.fullmatch(rest):
        return NewPrompt(prompt["quoted"] or prompt["key"] or "")
    if "|" not in rest:
        return NewSentence(rest)
    name, role, *goals = (part.strip() for part in rest.split("|", 2))
    wanted = tuple(goal.strip() for goal in (goals[0] if goals else "").split(";") if goal.strip())
    if not wanted:
        example = "/agent new Clerk | keeps our notes | write notes.md; tidy it every day"
        raise InvalidInput({"goals": f"Name, role and goals need a | between them, and goals a ; as in: {example}"})
    return NewFrom(AgentDraft(name=name, role=role, goals=wanted))


def _listing(rest: str) -> Listing:
    if rest.casefold() not in ("", "archived"):
        raise InvalidInput({"list": "List: write list for the agents here, list archived for those that are archived."})
    return Listing(is_archived=bool(rest))


def _not_understood(verb: str) -> str:
    near = get_close_matches(verb, WORDS, n=1, cutoff=0.6)
    return f"There is no /agent {verb[:40]}.{f' Did you mean /agent {near[0]}?' if near else ''}"
