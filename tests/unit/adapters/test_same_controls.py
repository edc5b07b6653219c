"""Slack and Discord offer the same controls, under the same names. What one has alone has its reason here."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import ModuleType
from typing import Any, Literal, TypeAlias, cast, get_args

import pytest
from discord import app_commands

import adapters.chat.messages
from adapters.chat.messages import ThreadListener
from adapters.discord.inbound import submitted_forms as discord_fields
from adapters.discord.inbound.messages import DiscordMessageListener
from adapters.discord.inbound.slash import DiscordSlashListener, commands_of
from adapters.discord.outbound.controls import OUR_BUTTON, OUR_CHOICE
from adapters.screens.buttons import LABELS, VIEW_LABELS, Button, Verb, ViewVerb
from adapters.screens.turn_lines import line_of
from adapters.slack.inbound.messages import SlackMessageListener
from adapters.slack.inbound.submitted_forms import fields_in
from adapters.slack.outbound.controls import PREFIX
from adapters.slack.outbound.forms import agent_view
from adapters.slack.outbound.views import home
from adapters.typed import actions
from adapters.typed.command_lines import ThreadVerb
from adapters.typed.form_values import draft_of, fields_of
from adapters.typed.subcommands import WORDS, AgentVerb, Helping, OnAgent, ThreadSubcommand, subcommand_of
from agent_core.model.agent import Agent, Finished
from agent_core.model.command import RISK_CLASSES, CommandCall, Succeeded
from agent_core.model.decision import Approve, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.permissions import Lease
from agent_core.model.question import AskedQuestion, ServerQuestion
from agent_core.model.turn import Turn
from agent_core.service.reading.approval_queue import WaitingAgent
from agent_core.testing.examples import ANA, NOON, a_notice
from docs.pictures.scenes import scenes
from tests import discord_messages as discord_render
from tests import discord_messages as discord_turns
from tests import slack_messages as slack_render
from tests import slack_messages as slack_turns
from tests.drawn_forms import agent_modal
from tests.standins.discord.forms import submitted

Name: TypeAlias = Literal["slack", "discord"]
Subcommand: TypeAlias = app_commands.Command[Any, Any, Any]
Offers: TypeAlias = dict[str, set[str]]
OTHERS = ("upload", "delete", "create", "change")
VERBS = (*get_args(Verb), *get_args(ViewVerb), *OTHERS)
CARRIERS = ("value", "custom_id", "block_id", "action_id")

# Controls that one of them has not, and why.
ONLY_ELSEWHERE: dict[tuple[Name, str], str] = {
    ("discord", "open"): "Slack tells of a press on a link, so its link carries a verb; Discord's links carry none.",
}
# Controls that do not look the same, and why.
NAMED_OTHERWISE: dict[str, str] = {
    "reply": "Slack has an input in the message that sends on Enter; Discord has none, so a button opens a form.",
    "open": ONLY_ELSEWHERE["discord", "open"],
}
# What the form of a new agent does not ask for, and why.
NOT_ASKED: dict[tuple[Name, str], str] = {
    ("discord", "model"): "A form of Discord has five fields. A model that the channel used last stays to be chosen.",
}
EVERYTHING = AgentDraft(
    name="Clerk",
    role="keeps notes",
    goals=("write", "tidy"),
    budget=Decimal("2.50"),
    model="gpt-test",
    effort="low",
    policy=Policy(approvers="owner", free=RISK_CLASSES, verbosity="brief"),
    dry_run=True,
)


@dataclass(frozen=True, slots=True)
class Heard:
    """Takes what Discord's subcommands say in place of those who answer."""

    lines: list[str] = field(default_factory=list)

    async def run(self, _: object, text: str) -> None:
        self.lines.append(text)

    async def names(self, _: object, __: str) -> list[Any]:
        return []

    async def list_templates(self, _: object, __: str) -> list[Any]:
        return []

    async def list_prompts(self, _: object, __: str) -> list[Any]:
        return []


@pytest.fixture
async def cards() -> tuple[tuple[Agent, Turn], ...]:
    """A turn in every state, one whose server asks, a long one, a brief one, and the end of a dry run."""
    drawn = [(scene.agent, scene.turn) for scene in await scenes(NOON)]
    agent, turn = drawn[0]
    long = replace(turn, proposal=replace(turn.proposal, call=CommandCall("write_to_file", {"text": "tea " * 9000})))
    brief = replace(agent, policy=replace(agent.policy, verbosity="brief"))
    asked = AskedQuestion(id="0" * 32, server="tea", place="tea", question=ServerQuestion(message="Sure?"), at=NOON)
    asks = turn.decide(Approve(), by=ANA, at=NOON).start(NOON).ask(asked)
    dry = replace(agent, dry_run=True, turns=turn.number, status=Finished())
    done = turn.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded("Done."), NOON)
    return (*drawn, (agent, long), (brief, turn), (agent, asks), (dry, done))


@pytest.fixture
def offers(cards: tuple[tuple[Agent, Turn], ...]) -> Mapping[Name, Offers]:
    """What can be pressed in all messages of both, with the words on it."""
    return {"slack": offered(in_slack(cards)), "discord": offered(in_discord(cards))}


def in_slack(cards: tuple[tuple[Agent, Turn], ...]) -> Iterator[Any]:
    agent, turn = cards[0]
    yield from (slack_turns.turn_message(*card).blocks for card in cards)
    yield slack_turns.folded_message(agent, [line_of(turn)]).blocks
    yield slack_turns.turn_message(agent, turn, [line_of(turn)]).blocks
    yield slack_render.choice_message("at rest", [Button("resume", agent.id), Button("undo", turn.id)]).blocks
    yield slack_render.notice_message(agent, a_notice(agent, reply="Sure!")).blocks
    yield slack_render.agents_message([], link).blocks
    yield slack_render.agent_message(leased(agent), link).blocks
    yield slack_render.files_message(agent, [FileEntry("notes.md", 3, NOON)]).blocks
    yield slack_render.delete_message(agent).blocks
    yield slack_render.explanation_message().blocks
    yield slack_render.offer_message(AgentDraft()).blocks
    yield home([agent], [WaitingAgent(agent, turn)], link)


def in_discord(cards: tuple[tuple[Agent, Turn], ...]) -> Iterator[Any]:
    agent, turn = cards[0]
    messages = (
        *(discord_turns.turn_message(*card) for card in cards),
        discord_turns.folded_message(agent, [line_of(turn)]),
        discord_turns.turn_message(agent, turn, [line_of(turn)]),
        discord_render.choice_message("at rest", [Button("resume", agent.id), Button("undo", turn.id)]),
        discord_render.notice_message(agent, a_notice(agent, reply="Sure!")),
        discord_render.agents_message([], link),
        discord_render.agent_message(leased(agent), link),
        discord_render.files_message(agent, [FileEntry("notes.md", 3, NOON)]),
        discord_render.delete_message(agent),
        discord_render.offer_message(AgentDraft(), "key"),
    )
    yield from (message.view.to_components() for message in messages)  # type: ignore[no-untyped-call]


def link(_: Agent) -> str:
    return "https://example.com"


def leased(agent: Agent) -> Agent:
    return replace(agent, lease=Lease(granted_by=ANA, granted_at=NOON, total=3, left=2, classes=("write",)))


def offered(messages: Iterator[Any]) -> Offers:
    found: Offers = {}
    for message in messages:
        for element in elements(message):
            for carrier in CARRIERS:
                verb = verb_of(str(element.get(carrier) or ""))
                if verb in VERBS:
                    found.setdefault(verb, set()).add(words_on(element))
    return found


def verb_of(carried: str) -> str:
    """What a button is for, by what it carries: `approve:ID:3`, or Slack's name of it, `signoff.another_number`."""
    if carried.startswith(PREFIX):
        return carried.removeprefix(PREFIX).partition(".")[0].replace("_", " ")
    return carried.partition(":")[0]


def elements(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for each in value:
            yield from elements(each)
    elif isinstance(value, dict):
        yield value
        for each in value.values():
            yield from elements(each)


def words_on(element: Mapping[str, Any]) -> str:
    text = element.get("text") or element.get("label") or ""
    return str(text["text"] if isinstance(text, dict) else text)


def calls_of(module: ModuleType | None) -> set[str]:
    assert module
    calls = (node.func for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call))
    return {ast.unparse(call) for call in calls}


@pytest.mark.proves("surfaces:controls")
@pytest.mark.parametrize("name", get_args(Name))
def test_every_button_is_offered_or_has_a_reason_not_to_be(offers: Mapping[Name, Offers], name: Name) -> None:
    missing = {verb for verb in VERBS if verb not in offers[name]}
    assert missing == {verb for surface, verb in ONLY_ELSEWHERE if surface == name}


@pytest.mark.slow
def test_the_same_button_says_the_same(offers: Mapping[Name, Offers]) -> None:
    differing = {verb for verb in VERBS if offers["slack"].get(verb) != offers["discord"].get(verb)}
    assert differing == set(NAMED_OTHERWISE)


@pytest.mark.parametrize("name", get_args(Name))
def test_buttons_have_their_exact_labels(offers: Mapping[Name, Offers], name: Name) -> None:
    labels: dict[str, str] = {str(verb): words for names in (LABELS, VIEW_LABELS) for verb, words in names.items()}
    said = {verb: words for verb, words in offers[name].items() if verb in labels and verb not in NAMED_OTHERWISE}
    assert {verb for verb, words in said.items() if labels[verb] not in words} == set()


def test_discord_takes_every_button_that_it_shows(cards: tuple[tuple[Agent, Turn], ...]) -> None:
    shown = [
        str(element["custom_id"])
        for drawn in in_discord(cards)
        for element in elements(drawn)
        if "custom_id" in element
    ]
    assert shown
    assert [
        custom_id for custom_id in shown if not OUR_BUTTON.fullmatch(custom_id) and not OUR_CHOICE.fullmatch(custom_id)
    ] == []
    assert [custom_id for custom_id in shown if len(custom_id) > 100] == []


def test_both_have_every_subcommand() -> None:
    in_discord = {command.name for command in subcommands()}
    in_slack = {word for word in WORDS if not (isinstance(it := subcommand_of(word), Helping) and it.said)}
    assert in_discord == in_slack == set(WORDS)


@pytest.mark.parametrize("verb", [*get_args(AgentVerb), *get_args(ThreadVerb)])
async def test_a_subcommand_of_discord_means_the_line_that_is_typed_in_slack(verb: str) -> None:
    heard = Heard()
    command = next(each for each in subcommands(heard) if each.name == verb)
    given = {name: {"name": "Clerk", "text": "set a; b"}[name] for name in names_of(command)}
    await cast("Any", command.callback)(None, **given)
    wanted = " ".join((verb, *given.values()))
    assert subcommand_of(heard.lines[0]) == subcommand_of(wanted)
    assert isinstance(subcommand_of(wanted), OnAgent | ThreadSubcommand)


def test_names_complete_themselves_wherever_discord_asks_for_one() -> None:
    commands = subcommands()
    asked = [each for each in commands if "name" in names_of(each)]
    assert len(asked) > 5
    assert [each.name for each in asked if not cast("Any", each.get_parameter("name")).autocomplete] == []


@pytest.mark.parametrize("listener", [SlackMessageListener, DiscordMessageListener], ids=["slack", "discord"])
def test_what_is_typed_in_a_thread_is_read_by_the_same_code(listener: type[ThreadListener]) -> None:
    assert listener.take_text is ThreadListener.take_text
    assert "self.take_text" in calls_of(inspect.getmodule(listener))
    assert "self.context.actions.say" in calls_of(adapters.chat.messages)
    verbs = {line.split()[0].removeprefix("!") for line, _ in actions.HELP.commands}
    assert set(get_args(ThreadVerb)) < verbs


def test_the_form_of_a_new_agent_holds_everything_in_both() -> None:
    view, modal = agent_view(EVERYTHING, None, "slack/T1/C1"), agent_modal(EVERYTHING, place="discord/1/2")
    sent = submitted(modal.to_dict(), {})
    asked = discord_fields.read(sent["custom_id"], discord_fields.submitted(sent["components"]))
    assert isinstance(asked, discord_fields.AgentForm)
    assert draft_of(fields_in(untouched(view))) == asked.draft() == EVERYTHING


def test_the_form_of_a_new_agent_asks_for_everything_or_has_a_reason_not_to() -> None:
    drawn = [*elements(agent_modal(None, place="discord/1/2").to_dict())]
    typed: dict[str, Any] = {each["custom_id"]: "1" for each in drawn if "custom_id" in each}
    typed["more"] = [each["value"] for each in drawn if "value" in each]
    asked = discord_fields.read("form:new:discord/1/2", typed)
    assert isinstance(asked, discord_fields.AgentForm)
    missing = {name for name, value in fields_of(EVERYTHING).items() if value and name not in asked.fields}
    assert missing == {field for surface, field in NOT_ASKED if surface == "discord"}


def untouched(view: Mapping[str, Any]) -> dict[str, Any]:
    """A form of Slack that is sent as it was opened."""
    values = {
        each["block_id"]: {"value": stands(each["element"])} for each in view["blocks"] if each["type"] == "input"
    }
    return {**view, "state": {"values": values}}


def stands(element: Mapping[str, Any]) -> dict[str, Any]:
    """What is in an input, under the name that Slack gives it in its payload."""
    names = {
        "initial_options": "selected_options",
        "initial_option": "selected_option",
        "initial_value": "value",
    }
    return {sent: element[initial] for initial, sent in names.items() if initial in element}


def subcommands(heard: Heard | None = None) -> list[Subcommand]:
    """What Discord offers behind `/agent`; what they say is kept."""
    group = commands_of(cast("DiscordSlashListener", heard or Heard()))
    return [command for command in group.commands if isinstance(command, app_commands.Command)]


def names_of(command: Subcommand) -> list[str]:
    return [parameter.name for parameter in command.parameters]
