"""What guards the runs of commands against plugins that run them elsewhere, or give what nobody can save."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

import pytest

from agent_core.model.command import CommandCall, Failed, Result, Succeeded
from agent_core.model.decision import Approve
from agent_core.plugins import RunOnce
from agent_core.testing.language_model import reply_text
from agent_core.toolset.registry import CommandContext, NoArguments, declare
from tests.unit.agent_core.plugins.test_careless_endings import STEEP
from tests.unit.agent_core.plugins.test_careless_runs import Offering, Wrapping, broken
from tests.unit.agent_core.plugins.test_plugins import DONE, TEA, approve_all, plugins_of, results, stage_of


async def test_a_run_in_another_task_runs_as_in_its_own() -> None:
    async def limit(run: RunOnce) -> Result:
        return await asyncio.wait_for(run(), 60)

    found = plugins_of(Wrapping(limit))
    stage = stage_of(found, TEA, DONE)
    agent = await approve_all(stage, 1)
    assert isinstance((await results(stage, agent))[0], Succeeded)
    assert found.loaded[0].fault == ""


async def test_a_run_that_a_wrapper_leaves_behind_ends_with_the_wrapper() -> None:
    ended: list[asyncio.Task[Any]] = []

    async def leave(run: RunOnce) -> Result:
        ended.append(asyncio.ensure_future(run()))
        await asyncio.wait(ended, timeout=0)
        return Failed("It takes too long.")

    stage = stage_of(plugins_of(Wrapping(leave), Offering(STEEP)), reply_text("steep"), DONE)
    agent = await approve_all(stage, 1)
    assert (await results(stage, agent))[0] == Failed("It takes too long.")
    assert [each.cancelled() for each in ended] == [True]


async def test_a_wrapper_that_hides_what_a_command_failed_by_hides_nothing() -> None:
    async def hide(run: RunOnce) -> Result:
        try:
            return await run()
        except ZeroDivisionError as fault:
            raise ConnectionError("away") from fault

    async def breaks(_call: object, _context: object) -> Result:
        raise ZeroDivisionError

    found = plugins_of(Wrapping(hide))
    with pytest.raises(ZeroDivisionError):
        await found.wrap_run(CommandCall("stir", {}), cast("CommandContext", None), breaks)
    assert found.loaded[0].fault == ""


@pytest.mark.proves("plugin:guarded")
async def test_the_sentence_of_a_failure_names_the_plugin_and_the_log_has_it_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = Offering(broken("run", ValueError("two\nlines" + "x" * 1_000)))
    found = plugins_of(failing)
    with caplog.at_level(logging.ERROR):
        stage = stage_of(found, reply_text("break_it"), reply_text("break_it"), DONE)
        agent = await approve_all(stage, 2)
    (first, *_) = await results(stage, agent)
    assert isinstance(first, Failed)
    assert first.error.startswith("The plugin offering failed: ValueError: two lines")
    assert len(first.error) < 300
    assert [record.message for record in caplog.records] == ["a plugin's command failed"]
    assert found.loaded[0].fault == ""


def giving(given: Any) -> Callable[..., Any]:
    async def give(_given: NoArguments, _context: CommandContext) -> Any:
        """Give."""
        return given

    return give


@pytest.mark.parametrize(
    ("where", "given"), [("run", None), ("run", 5), ("run", b"tea"), ("preview", "tea"), ("preview", 5)]
)
async def test_what_is_no_text_is_a_sentence_for_the_model(where: str, given: object) -> None:
    preview = giving(given) if where == "preview" else None
    added = declare(
        NoArguments, giving(given if where == "run" else "Given."), preview, label="Give", risks=("read",), category="x"
    )
    stage = stage_of(plugins_of(Offering(added)), reply_text("give"), TEA, DONE)
    agent = await stage.create()
    if where == "run":
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
        told = str(await results(stage, agent))
    else:
        told = stage.script.prompts[1][-1].content
    assert "The plugin offering failed: TypeError" in told
