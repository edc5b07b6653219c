"""The mind over doubles: what is folded, recalled, spent, repaired, and when an agent goes round in a circle."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from adapters.chat.texts import deletion_text
from agent_core.errors import ModelRefused, ModelUnavailable, PromptTooLong
from agent_core.loop.transitions import MAX_REPLY_CHARACTERS
from agent_core.model.agent import Agent, Finished, Paused, Thinking
from agent_core.model.command import RISK_CLASSES, Failed, Succeeded
from agent_core.model.decision import Approve, Policy, Reject
from agent_core.model.ids import MemoryId
from agent_core.model.model_calls import FREE, Message, Reply, Usage
from agent_core.model.records.memory import MemorySpace, Vector
from agent_core.ports.models import CallOptions
from agent_core.prompt.history import outcome, quote
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.testing.stage import Stage

FREELY = Policy(free=RISK_CLASSES)
DONE = reply_text("task_complete", {"reason": "All is written."})
SUMMARY = "Decisions: @ana wants short lines.\nFiles: a.txt\nFacts: the port is 8700\nOpen steps: none"


def note(number: int, words: str = "") -> str:
    text = f"fact {number} {words or f'word{number} ' * 20}"
    return reply_text("append_to_file", {"filename": f"{number}.txt", "text": text}, text=f"I keep fact {number}.")


def stage_of(*replies: str | Reply | Exception, **ports: object) -> Stage:
    model = ports.pop("model", None) or ScriptedModel(*replies)
    return Stage(model=model, **ports)  # type: ignore[arg-type]


async def worked(stage: Stage, **draft: object) -> Agent:
    """An agent that runs unasked until the script ends."""
    return await stage.create("Collect facts", policy=FREELY, **draft)


@pytest.mark.proves("fold:summary")
async def test_older_turns_are_folded_into_a_summary_by_one_call_on_the_same_beginning() -> None:
    replies = [*(note(number) for number in range(1, 5)), SUMMARY, note(5), DONE]
    stage = stage_of(*replies, history_tokens=500)
    agent = await worked(stage)
    prompts = stage.script.prompts
    (asked,) = [at for at, prompt in enumerate(prompts) if "write a summary" in prompt[-1].content]
    assert prompts[asked][: len(prompts[asked - 1]) - 1] == prompts[asked - 1][:-1]
    assert agent.digest.summary == SUMMARY
    following = prompts[asked + 1]
    assert following[1].content.endswith(quote(SUMMARY))
    assert "fact 1" not in "".join(message.content for message in following[2:])
    assert sum(message.role == "assistant" for message in following) == 1


class ShrinkingModel(ScriptedModel):
    """Halves its window when it refuses a prompt as too long."""

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        try:
            return await super().complete(messages, options)
        except PromptTooLong:
            self._window //= 2
            raise


async def test_a_prompt_that_the_model_refuses_as_too_long_is_asked_again_within_the_smaller_window() -> None:
    model = ShrinkingModel(PromptTooLong("too long"), PromptTooLong("too long"), DONE, window=32_000)
    agent = await worked(stage_of(model=model))
    assert isinstance(agent.status, Finished)
    assert [options.max_tokens for options in model.options] == [8_000, 4_000, 2_000]


async def test_a_prompt_that_is_too_long_again_and_again_is_told_to_people() -> None:
    model = ShrinkingModel(*[PromptTooLong("The window is tiny.")] * 4, DONE)
    agent = await worked(stage_of(model=model))
    assert isinstance(agent.status, Paused)
    assert "The window is tiny." in agent.status.reason


@pytest.mark.slow
async def test_of_a_huge_reply_that_cannot_be_used_a_part_is_kept_for_people() -> None:
    huge = reply_text("write_to_file", {f"argument{number}": "v" for number in range(350_000)})
    stage = stage_of(huge, huge, huge)
    agent = await worked(stage)
    assert isinstance(agent.status, Paused)
    (notice,) = [each for each in stage.shown.notices if each.kind == "paused"]
    assert huge.startswith(notice.reply)
    assert len(notice.reply) == MAX_REPLY_CHARACTERS


@pytest.mark.slow
async def test_a_model_that_refuses_to_summarise_is_done_without() -> None:
    replies: list[str | Exception] = [*(note(number) for number in range(1, 5)), ModelRefused("no"), DONE]
    agent = await worked(stage_of(*replies, history_tokens=500))
    assert "Turn 1: append_to_file" in agent.digest.summary
    assert agent.digest.upto == 3


async def test_a_busy_model_is_asked_for_the_summary_at_the_next_turn() -> None:
    replies: list[str | Exception] = [
        *(note(number) for number in range(1, 5)),
        ModelUnavailable("busy"),
        note(5),
        SUMMARY,
        DONE,
    ]
    agent = await worked(stage_of(*replies, history_tokens=500))
    assert (agent.digest.summary, agent.digest.upto) == (SUMMARY, 4)


@pytest.mark.slow
async def test_every_call_is_counted_by_its_kind_and_paid() -> None:
    replies = [*(note(number) for number in range(1, 5)), SUMMARY, DONE]
    stage = stage_of(
        model=ScriptedModel(*replies, cost=Decimal("0.1")),
        embedder=WordEmbedder(price=Decimal("0.5")),
        history_tokens=500,
    )
    agent = await worked(stage)
    assert {kind: usage.cost for kind, usage in agent.calls.items() if kind != "embedding"} == {
        "chat": Decimal("0.5"),
        "summary": Decimal("0.1"),
    }
    assert agent.calls["embedding"].cost > 0
    assert sum((usage.cost for usage in agent.calls.values()), FREE) == agent.budget.spent
    async with stage.database.begin() as work:
        assert (await work.budgets.of(agent.channel)).spent == agent.budget.spent
        turns = await work.turns.of(agent, last=50)
    assert sum((turn.usage.cost for turn in turns), FREE) + agent.unbilled.cost == agent.budget.spent


@pytest.mark.proves("budget:channel")
async def test_agents_of_a_channel_share_its_budget() -> None:
    stage = stage_of(model=ScriptedModel(note(1), note(2), note(3), cost=Decimal("0.4")))
    await stage.agent_settings.set_channel_budget(Decimal(1), stage.origin())
    agent = await worked(stage)
    assert isinstance(agent.status, Paused)
    assert "The channel's budget is reached: $0.80 of $1.00 is spent" in agent.status.reason
    assert agent.turns == 2
    await stage.agent_settings.set_channel_budget(None, stage.origin())
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    assert (await stage.wait_until_settled(agent)).turns == 3


async def test_a_model_without_a_price_is_refused_where_there_is_a_budget() -> None:
    stage = stage_of(model=ScriptedModel(note(1), cost=None))
    agent = await worked(stage, budget=Decimal(1))
    assert isinstance(agent.status, Paused)
    assert "No price is known for scripted" in agent.status.reason


@pytest.mark.proves("memory:once")
async def test_each_event_is_embedded_once_and_a_turn_makes_one_call() -> None:
    embedder = WordEmbedder()
    replies = [*(note(number) for number in range(1, 7)), "no command", DONE]
    stage = stage_of(*replies, embedder=embedder)
    agent = await worked(stage)
    texts = [text for call in embedder.calls for text in call]
    assert len(texts) == len(set(texts)) == 6
    assert len(embedder.calls) == 2
    page = await stage.memories.page(agent.channel, agent.id)
    assert [memory.source for memory in page.memories] == [f"turn {number}" for number in range(6, 0, -1)]
    assert not page.is_behind


@pytest.mark.proves("memory:recall")
async def test_what_is_out_of_sight_comes_back_when_it_is_nearer_than_what_is_in_sight() -> None:
    key = "the launch code of the red rocket is swordfish"
    replies = [note(1, key), *(note(number) for number in range(2, 6)), SUMMARY, note(6, key), note(7), DONE]
    stage = stage_of(*replies, history_tokens=600)
    await worked(stage)
    offered = [
        prompt[-1].content for prompt in stage.script.prompts if "From your long-term memory" in prompt[-1].content
    ]
    assert len(offered) == 1
    assert "- turn 1:\n> " in offered[0]
    assert "swordfish" in offered[0]


async def test_what_is_in_sight_is_not_recalled() -> None:
    replies = [note(1, "the same words"), note(2, "the same words"), note(3, "other things"), DONE]
    stage = stage_of(*replies)
    await worked(stage)
    assert not any("From your long-term memory" in prompt[-1].content for prompt in stage.script.prompts)


@pytest.mark.proves("memory:away")
async def test_an_agent_goes_on_without_its_memory_says_so_once_and_catches_up() -> None:
    index = InMemoryIndex()
    index.is_away = True
    stage = stage_of(*(note(number) for number in range(1, 4)), ModelUnavailable("busy", 60.0), index=index)
    agent = await worked(stage)
    index.is_away = False
    stage.script.say(note(4), note(5), note(6), DONE)
    stage.fake_clock.advance(100)
    agent = await stage.wait_until_settled(agent)
    said = [notice.text for notice in stage.shown.notices if "Long-term memory" in notice.text]
    assert len(said) == 1
    assert "Clerk continues without it and updates it later." in said[0]
    assert agent.forgetful == ""
    assert (await stage.memories.page(agent.channel, agent.id)).is_behind
    async with stage.ledger.open_tracker(agent) as tracker:
        assert await stage.memory.index_batch(agent, tracker) == 3
    page = await stage.memories.page(agent.channel, agent.id)
    assert (page.total, page.is_behind) == (6, False)
    assert len((await stage.memories.search(agent.id, "fact 1 word1", stage.origin())).recalled) == 6


READ = reply_text("read_file", {"filename": "none.txt"}, text="I read the file.")


@pytest.mark.proves("circle:pause")
async def test_an_agent_in_a_circle_is_told_once_and_paused_when_it_goes_on() -> None:
    list_all = reply_text("list_files", {}, text="I look round.")
    stage = stage_of(*[list_all] * 9)
    agent = await worked(stage)
    assert isinstance(agent.status, Paused)
    assert "list_files with the same arguments had the same result 3 times" in agent.status.reason
    assert agent.turns == 3
    told = [prompt for prompt in stage.script.prompts if "going round in a circle" in prompt[-1].content]
    assert len(told) == 1
    assert stage.shown.notices[-1].text.startswith("paused: Clerk goes round in a circle")


@pytest.mark.proves("circle:pause")
async def test_an_agent_that_proposes_what_people_rejected_three_times_is_told_once_and_paused() -> None:
    stage = Stage(model=ScriptedModel(*[note(1)] * 9))
    agent = await stage.create()
    for _ in range(3):
        await stage.decide(agent, Reject("No notes."))
        agent = await stage.wait_until_settled(agent)
    assert isinstance(agent.status, Paused)
    assert "append_to_file with the same arguments was rejected 3 times. It was told" in agent.status.reason
    told = [prompt for prompt in stage.script.prompts if "going round in a circle" in prompt[-1].content]
    assert (len(told), agent.turns) == (1, 3)


async def test_an_agent_that_was_told_and_does_something_else_goes_on() -> None:
    list_all = reply_text("list_files", {}, text="I look round.")
    agent = await worked(stage_of(*[list_all] * 3, note(1), DONE))
    assert agent.status.kind == "finished"


async def test_a_circle_ends_the_lease() -> None:
    stage = stage_of(*[reply_text("list_files", {"directory": ""}, text="I look round.")] * 2, READ, READ, READ)
    agent = await stage.create()
    await stage.decide(agent, Approve(20))
    agent = await stage.wait_until_settled(agent)
    assert agent.lease is None


async def test_somebody_who_wrote_meanwhile_lets_it_go_on() -> None:
    list_all = reply_text("list_files", {}, text="I look round.")
    stage = stage_of(*[list_all] * 5)
    agent = await worked(stage)
    await stage.service.decisions.reply(agent.id, "Yes, keep looking.", stage.origin())
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    agent = await stage.wait_until_settled(agent)
    assert agent.turns == 4


async def test_a_fast_model_spells_a_reply_anew_but_changes_nothing() -> None:
    broken = "{thoughts: {text: ok}, command: {name: append_to_file, args: {filename: a.txt, text: hello there}}}"
    mended = reply_text("append_to_file", {"filename": "a.txt", "text": "hello there"})
    invented = reply_text("append_to_file", {"filename": "a.txt", "text": "rm -rf"})
    stage = stage_of(broken, mended, DONE, fast_model="quick")
    agent = await stage.create()
    assert agent.calls["repair"].prompt > 0
    assert (await stage.turn(agent)).call.arguments == {"filename": "a.txt", "text": "hello there"}
    stage = stage_of(broken, invented, DONE, fast_model="quick")
    assert (await stage.turn(await stage.create())).call.name == "task_complete"


async def test_a_past_turn_can_be_read_again_by_its_number() -> None:
    long = "x" * 9_000 + "end"
    write = reply_text("write_to_file", {"filename": "long.txt", "text": long})
    read = reply_text("read_file", {"filename": "long.txt"})
    again = reply_text("read_turn", {"turn": 2, "start": 8_000})
    beyond = reply_text("read_turn", {"turn": 77})
    stage = stage_of(write, read, again, beyond, DONE)
    agent = await worked(stage)
    async with stage.database.begin() as work:
        _, second, third, fourth, _ = await work.turns.of(agent, last=5)
    assert third.result == Succeeded(outcome(second)[8_000:])
    assert fourth.result == Failed("There is no turn 77; the last one is 4.")


async def test_a_self_review_stands_on_the_card_and_leaves_the_proposal_open() -> None:
    stage = stage_of(note(1), "It writes too much at once.", DONE, fast_model="quick")
    agent = await stage.create()
    turn = await stage.turn(agent)
    await stage.review.review(turn.id, stage.origin())
    agent = await stage.wait_until_settled(agent)
    card = stage.shown.cards[turn.id]
    assert (card.review, card.state) == ("It writes too much at once.", "proposed")
    assert agent.calls["review"] == replace(Usage(), prompt=agent.calls["review"].prompt, completion=9)
    assert "material" in stage.script.prompts[1][0].content
    await stage.service.decisions.decide(turn.id, Approve(), stage.origin(), shown=turn.control_hash)
    await stage.wait_until_settled(agent)
    assert "Your own review of it had said: It writes too much at once." in stage.script.prompts[-1][-2].content


async def test_a_review_by_two_people_at_once_is_one_review() -> None:
    stage = stage_of(note(1), "It writes too much at once.", DONE)
    turn = await stage.turn(await stage.create())
    asked = (stage.review.review(turn.id, stage.origin(person)) for person in (ANA, BEN))
    (_, first), (_, second) = await asyncio.gather(*asked)
    assert first.review == second.review
    assert stage.script.left == 1


async def test_a_delayed_thought_keeps_what_it_spent() -> None:
    stage = stage_of(
        *map(note, (1, 2, 3)), ModelUnavailable("busy", 3600.0), embedder=WordEmbedder(price=Decimal("0.5"))
    )
    agent = await worked(stage)
    assert isinstance(agent.status, Thinking)
    assert agent.budget.spent == agent.calls["embedding"].cost > 0


@pytest.mark.proves("delete:later")
async def test_what_is_left_of_a_deleted_agent_in_an_index_that_is_away_is_removed_when_it_is_back() -> None:
    spaces: dict[tuple[MemorySpace, str], dict[MemoryId, Vector]] = {}
    index = InMemoryIndex(spaces)
    stage = stage_of(note(1), note(2), note(3), DONE, index=index)
    agent = await worked(stage)
    index.is_away = True
    deleted = await stage.service.lifecycle.delete(agent.id, stage.origin())
    assert deleted.left == ("index",)
    assert "removed as soon as the index can be reached" in deletion_text(deleted, ANA)
    stage.fake_clock.advance(3600)
    assert await stage.eraser.erase_all() == 1
    assert any(spaces.values())
    index.is_away = False
    assert await stage.eraser.erase_all() == 0
    assert not any(spaces.values())
    async with stage.database.begin() as work:
        assert await work.deletions.page(most=9) == ()
