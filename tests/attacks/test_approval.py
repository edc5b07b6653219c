"""Getting round the people who approve, and getting at the operator's secrets: through the whole loop, on doubles."""

import base64
import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from adapters.screens.cards import turn_card
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.models.token_estimates import Estimates
from agent_core.errors import AlreadyDecided, CommandError, NotAllowed
from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Failed, Result
from agent_core.model.decision import Approve, ApproveEdited
from agent_core.model.origin import ActorKind
from agent_core.oversight.secrets import Secrets
from agent_core.prompt.model_client import MeteredModel
from agent_core.testing.examples import BEN
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.redaction import redact_output
from agent_core.toolset.registry import CommandContext, Commands, declare
from bot.logs import Redacting
from tests.attacks.rows import attack

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
