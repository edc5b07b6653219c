"""On a surface that draws what is saved, saving shows it."""

from functools import partial

from agent_core.model.agent import Agent, Finished
from agent_core.model.decision import Approve
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface

FIRST, SECOND = (reply_text("write_to_file", {"filename": name, "text": "x"}) for name in ("a.txt", "b.txt"))
DONE = reply_text("task_complete", {"reason": "done"})


async def left_to_show(stage: Stage, agent: Agent) -> int:
    async with stage.database.begin() as work:
        return len(await work.turns.list_unshown(agent)) + len(await work.notes.list_unposted(agent))


def stage_with(*replies: str) -> Stage:
    return Stage(model=ScriptedModel(*replies), surface=RecordingSurface(shows_what_is_saved=True))


def has_cards(number: int, shown: RecordingSurface) -> bool:
    return len(shown.cards) == number


async def test_a_report_is_shown_by_its_save() -> None:
    stage = stage_with(DONE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    ended = await stage.wait_until_settled(agent)
    assert isinstance(ended.status, Finished)
    assert await left_to_show(stage, agent) == 0


async def test_the_second_of_two_questions_is_answered_too() -> None:
    stage = stage_with(FIRST, "Because.", "As I said.")
    agent = await stage.create()
    for question in ("Why?", "Really?"):
        await stage.service.decisions.ask(agent.id, question, stage.origin(ANA))
    await stage.wait_until_settled(agent)
    answers = [notice.text for notice in stage.shown.notices if notice.kind == "answer"]
    assert [("Because." in text, "As I said." in text) for text in answers] == [(True, False), (False, True)]


async def test_a_click_during_the_save_of_the_proposal_is_carried_out() -> None:
    stage = stage_with(FIRST, SECOND, DONE)
    agent = await stage.create()
    async with stage.run():
        for number in (1, 2):
            await stage.shown.until(partial(has_cards, number))
            await stage.decide(agent, Approve())  # while the loop still ends its work
        await stage.shown.until(partial(has_cards, 3))
    turns = await stage.views.thread(CHANNEL, agent.id)
    assert [turn.state for turn in turns.turns.values()] == ["done", "done", "proposed"]
