"""Answers to a tool server by a form or a button: who may, once, and only while the call runs."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_core.errors import AlreadyDecided, Conflict, InvalidInput, NotAllowed, NotFound, NotPossible
from agent_core.model.agent import Acting, Agent
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approve, PolicyChange
from agent_core.model.origin import Actor, Origin
from agent_core.model.question import AskedQuestion, QuestionField, ServerQuestion, field_id
from agent_core.model.turn import Turn
from agent_core.service.server_questions import MAX_ANSWER_CHARACTERS
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, a_turn, an_agent, keep
from agent_core.testing.stage import Stage

NOTE = QuestionField(name="note")
TEA = QuestionField(name="tea", kind="choice", choices={"green": "g"}, is_required=True)
ASKED = AskedQuestion(
    id="0" * 32, server="tea", place="tea.example", question=ServerQuestion(message="Which?", fields=(TEA,)), at=NOON
)
ADA = an_agent(status=Acting(asks=True), since=NOON, turns=1)
GREEN = {field_id(0): "green"}


def running(agent: Agent = ADA, asked: AskedQuestion = ASKED) -> Turn:
    turn = a_turn(agent).decide(Approve(), by=ANA, at=NOON).start(NOON)
    return turn.ask(asked)


async def a_stage(agent: Agent = ADA, turn: Turn | None = None) -> Stage:
    stage = Stage(clock=FakeClock(NOON))
    await keep(stage.database, agent, turn or running(agent))
    return stage


async def is_open(stage: Stage) -> bool:
    return (await stage.turn(ADA)).asked == ASKED


async def answer(stage: Stage, by: Actor = ANA, tea: str = "green") -> Turn:
    origin = Origin(by=by, channel=CHANNEL)
    return await stage.service.server_questions.answer(running().id, {field_id(0): tea}, origin, shown=ASKED.id)


async def test_a_form_stands_on_the_turn_and_the_decision_log_has_no_values() -> None:
    stage = await a_stage()
    turn = await answer(stage)
    assert turn.asked == ASKED.answer(ANA, NOON, "green")
    assert turn.open_question is None
    assert turn.stage != running().stage
    (entry, *_) = await stage.views.audit(CHANNEL, ADA.id)
    assert (entry.act, entry.by, entry.detail) == ("answered a server's question", ANA, "tea: 1 field")


async def test_a_form_is_kept_as_it_was_written() -> None:
    stage = await a_stage(turn=running(asked=replace(ASKED, question=ServerQuestion(message="?", fields=(NOTE, NOTE)))))
    form = {field_id(1): ' a: b;\r\n"c" '}
    turn = await stage.service.server_questions.answer(running().id, form, stage.origin(), shown=ASKED.id)
    assert turn.asked is not None
    assert turn.asked.written == ("", 'a: b;\n"c"')


async def test_a_wrong_form_sends_nothing_and_names_each_field() -> None:
    mail = QuestionField(name="mail", title="Your address", format="email", is_required=True)
    question = ServerQuestion(message="?", fields=(TEA, mail, replace(NOTE, most=3)))
    stage = await a_stage(turn=running(asked=replace(ASKED, question=question)))
    form = {field_id(0): "red", field_id(2): "long"}
    with pytest.raises(InvalidInput) as refused:
        await stage.service.server_questions.answer(running().id, form, stage.origin(), shown=ASKED.id)
    assert refused.value.problems == {
        field_id(0): "tea must be one of green.",
        field_id(1): "Your address is missing.",
        field_id(2): "note must be at most 3 characters.",
    }
    assert (await stage.turn(ADA)).open_question is not None


async def test_a_form_that_is_too_long_to_keep_is_refused() -> None:
    stage = await a_stage(turn=running(asked=replace(ASKED, question=ServerQuestion(message="?", fields=(TEA, NOTE)))))
    form = {**GREEN, field_id(1): "x" * MAX_ANSWER_CHARACTERS}
    with pytest.raises(InvalidInput) as refused:
        await stage.service.server_questions.answer(running().id, form, stage.origin(), shown=ASKED.id)
    assert refused.value.problems == {
        field_id(1): "note is too long: all fields together may have 4,000 characters, and these have 4,005."
    }


async def test_the_second_answer_is_told_of_the_first_also_when_the_call_has_ended() -> None:
    stage = await a_stage()
    await answer(stage)
    with pytest.raises(AlreadyDecided, match="already answered by @ana, 12:00"):
        await answer(stage, BEN)
    async with stage.database.begin() as work:
        turn = await work.turns.get(CHANNEL, running().id)
        work.turns.save(turn.finish(Succeeded("poured"), NOON))
        await work.commit()
    with pytest.raises(AlreadyDecided, match="already answered by @ana"):
        await answer(stage, BEN)
    assert (await stage.turn(ADA)).asked == replace(ASKED.answer(ANA, NOON), question=ServerQuestion(message=""))


async def test_a_reply_in_the_thread_answers_nothing() -> None:
    stage = await a_stage()
    for said in ("answer green", "decline"):
        await stage.service.decisions.reply(ADA.id, said, stage.origin(BEN))
    assert await is_open(stage)
    assert (await answer(stage)).asked == ASKED.answer(ANA, NOON, "green")


@pytest.mark.parametrize("kind", ["guest", "external", "bot"])
async def test_who_may_not_decide_gets_no_form_and_sends_none(kind: str) -> None:
    stage, gus = await a_stage(), Actor(id="u-gus", display="gus", workspace="local", kind=kind)  # type: ignore[arg-type]
    questions, origin = stage.service.server_questions, Origin(by=gus, channel=CHANNEL)
    with pytest.raises(NotAllowed, match="answer servers here"):
        await questions.open_to(gus, CHANNEL, running().id, ASKED.id)
    with pytest.raises(NotAllowed, match="answer servers here"):
        await questions.answer(running().id, GREEN, origin, shown=ASKED.id)
    with pytest.raises(NotAllowed, match="answer servers here"):
        await questions.decline(running().id, origin, shown=ASKED.id)
    assert await is_open(stage)


async def test_the_right_to_answer_is_looked_up_again_when_the_form_is_sent() -> None:
    stage = await a_stage()
    await stage.service.server_questions.open_to(BEN, CHANNEL, running().id, ASKED.id)
    await stage.agent_settings.set_policy(ADA.id, PolicyChange(approvers="owner"), stage.origin())
    with pytest.raises(NotAllowed, match="only @ana decides for Ada"):
        await answer(stage, BEN)


ENDS: dict[str, tuple[Callable[[Turn], Turn], str]] = {
    "stopped": (lambda turn: turn.stop(ANA, NOON), "Turn 1 is done: its tool server asks nothing any more."),
    "done": (lambda turn: turn.finish(Succeeded("poured"), NOON), "Turn 1 is done"),
    "died": (lambda turn: turn.interrupt(), "Turn 1 is interrupted"),
    "again": (lambda turn: turn.restart().start(NOON), "asks nothing any more"),
    "next": (lambda turn: turn.ask(replace(ASKED, id="1" * 32)), "the server asks something else now"),
    "kept": (lambda turn: replace(turn, started_at=NOON + timedelta(1)), "the server asks something else now"),
}


@pytest.mark.proves("mcp:form")
@pytest.mark.parametrize("end", ENDS)
async def test_a_form_that_is_late_is_refused_with_the_state(end: str) -> None:
    change, why = ENDS[end]
    stage = await a_stage(turn=change(running()))
    before = await stage.turn(ADA)
    with pytest.raises(NotPossible, match=why):
        await answer(stage)
    assert await stage.turn(ADA) == before


async def test_a_question_is_found_in_its_channel_only() -> None:
    stage = await a_stage()
    elsewhere = Origin(by=ANA, channel=replace(CHANNEL, channel="elsewhere"))
    with pytest.raises(NotFound):
        await stage.service.server_questions.decline(running().id, elsewhere, shown=ASKED.id)


async def test_a_click_that_the_platform_delivers_twice_answers_once() -> None:
    stage = await a_stage()
    for _ in range(2):
        await stage.service.server_questions.decline(running().id, stage.origin(delivery="d-1"), shown=ASKED.id)
    assert [entry.act for entry in await stage.views.audit(CHANNEL, ADA.id)] == ["declined a server's question"]


async def test_of_two_answers_that_overlap_one_is_told_of_the_other() -> None:
    stage = await a_stage()
    async with stage.database.begin() as work:
        turn = await work.turns.get(CHANNEL, running().id)
        await answer(stage, BEN)
        work.turns.save(turn.ask(ASKED.decline(ANA, NOON)))
        with pytest.raises(Conflict):
            await work.commit()
    assert (await stage.turn(ADA)).asked == ASKED.answer(BEN, NOON, "green")


async def test_an_agent_whose_server_asks_waits_for_who_may_answer() -> None:
    stage = await a_stage()
    (waiting,) = await stage.views.queue.list_agents(BEN, [CHANNEL])
    (listed,) = await stage.views.queue.list_waiting([waiting])
    assert listed.turn is not None
    assert listed.turn.open_question == ASKED
    assert ADA.needs_people


async def test_what_an_older_release_left_behind_is_not_listed() -> None:
    stage = await a_stage(turn=replace(running(), started_at=NOON + timedelta(1)))
    waiting = await stage.views.queue.list_agents(BEN, [CHANNEL])
    assert await stage.views.queue.list_waiting(waiting) == ()
    assert not ADA.claim().asks
