"""A thread is read page by page, and each entry is on one page."""

from datetime import timedelta

from agent_core.model.agent import Stopped
from agent_core.model.ids import NoteId, TurnId, new_id
from agent_core.service.reading.views import TURNS_PER_PAGE
from agent_core.testing.examples import ANA, CHANNEL, NOON, a_note, a_turn, an_agent, keep
from agent_core.testing.stage import Stage


async def test_a_note_between_the_turns_of_two_pages_is_on_one_of_them() -> None:
    stage, number = Stage(), TURNS_PER_PAGE + 5
    agent = an_agent(status=Stopped(ANA), turns=number)
    turns = [
        a_turn(agent, id=TurnId(new_id(NOON + timedelta(minutes=each))), number=each, state="withdrawn")
        for each in range(1, number + 1)
    ]
    times = [NOON + timedelta(minutes=each, seconds=30) for each in range(number + 1)]
    notes = [a_note(agent, id=NoteId(new_id(at)), at=at) for at in times]
    await keep(stage.database, agent, *turns, *notes)
    newest = await stage.views.thread(CHANNEL, agent.id)
    oldest = await stage.views.thread(CHANNEL, agent.id, before=newest.earlier)
    assert (newest.earlier, oldest.earlier) == (6, None)
    everything = [entry.id for entry in (*oldest.entries, *newest.entries)]
    assert everything == sorted([*(turn.id for turn in turns), *(note.id for note in notes)])
