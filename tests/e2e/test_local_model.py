"""LOCAL_MODEL with a real file, a real process that serves it, and the whole program before it.

The model is far too small to be an agent: what is shown is the way its words take, not what they are worth.
"""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

from agent_core.commands.files import FILE_COMMANDS
from agent_core.commands.finish import FINISH_COMMANDS
from agent_core.commands.registry import Commands
from agent_core.errors import ModelRefused
from agent_core.model.channels import ChannelScope
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.models import CallOptions
from agent_core.prompt.packing import Situation, TokenRoom
from agent_core.prompt.profiles import COMPACT
from agent_core.providers.llm.local_model import LocalModel
from agent_core.providers.llm.token_estimates import EstimatedTokens
from agent_core.testing.examples import NOON, an_agent
from tests.e2e.process import Program, program
from tests.e2e.test_real_model import model_file, proposal
from tests.patience import PATIENCE_SECONDS
from tests.scenario.page import PageChat, text_of

CHANNEL = ChannelScope("web", "local", "general")
LEAST_OF_A_FULL_PROMPT = 700  # tokens

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.proves("local:turn")
async def test_a_turn_goes_from_a_model_in_a_file_through_a_card_to_its_result(tmp_path: Path) -> None:
    async with (
        program(tmp_path, LOCAL_MODEL=str(model_file())) as signoff,
        PageChat.opened(signoff.address, "ana") as ana,
    ):
        assert f"{model_file().name} · on this machine" in text_of(await ana.page("/"))
        await ana.new_agent("Clerk", "keeps notes", "Write hello into hello.txt")
        card = await proposal(ana)
        await card.press("Approve")
        assert await ana.sees("· approved by @ana, ")
        serving = children_of(signoff)
        await signoff.stop()
    assert len(serving) == 1
    assert [pid for pid in serving if is_running(pid)] == []
    first = (await turns_in(tmp_path))[0]
    thoughts = first.proposal.thoughts
    assert first.state == "done"
    assert first.usage.prompt < LEAST_OF_A_FULL_PROMPT
    assert len(thoughts.text) <= 300
    assert (thoughts.reasoning, thoughts.plan, thoughts.criticism, thoughts.speak) == ("", "", "", "")


@pytest.mark.proves("local:end")
async def test_the_process_that_serves_ends_with_a_signoff_that_is_killed(tmp_path: Path) -> None:
    async with program(tmp_path, LOCAL_MODEL=str(model_file())) as signoff:
        await signoff.says("SmolLM2-135M-Instruct.Q4_1.gguf · on this machine · LOCAL_MODEL")
        (serving,) = children_of(signoff)
        await signoff.kill()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await exit_of(serving)


async def test_a_real_reply_keeps_to_the_schema_of_the_compact_profile() -> None:
    commands = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS).specs
    agent = an_agent(goals=("Write hello into hello.txt",))
    situation = Situation(agent=agent, commands=commands, turns=(), notes=(), now=NOON)
    schema = COMPACT.schema(situation)
    model = LocalModel(path=model_file())
    try:
        prompt = COMPACT.pack(situation, TokenRoom(3_000, EstimatedTokens().count))
        reply = await model.complete(prompt, CallOptions(schema=schema, max_tokens=1_000, temperature=0.2))
    finally:
        await model.close()
    assert reply.finish_reason == "stop"
    jsonschema.Draft202012Validator(schema).validate(json.loads(reply.text))
    assert json.loads(reply.text)["command"]["name"] != "task_complete"


async def test_a_file_that_llama_cpp_cannot_load_is_told_in_its_words(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(model_file().read_bytes()[:4_000])
    model = LocalModel(path=cut, setting="LOCAL_MODEL")
    with pytest.raises(ModelRefused, match=r"cut\.gguf \(LOCAL_MODEL\) could not be loaded: .*failed to load") as told:
        await model.complete((), CallOptions(max_tokens=1))
    await model.close()
    assert str(tmp_path) not in str(told.value)


def children_of(signoff: Program) -> list[int]:
    """The processes that it started."""
    pid = signoff.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def exit_of(pid: int) -> None:
    """Wait for the end of a process of somebody else's."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)


async def turns_in(folder: Path) -> Sequence[Turn]:
    """What the program kept, oldest first."""
    database = SqlDatabase(f"sqlite:///{folder / '.signoff' / 'signoff.db'}")
    try:
        async with database.begin() as work:
            (agent,) = await work.agents.of(CHANNEL)
            return await work.turns.of(agent, last=9)
    finally:
        await database.close()
