"""`handle_text_embedding` of AutoGPT's plugins: what becomes of its vectors, and when it is given up."""

from functools import partial

import pytest

from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.capabilities.autogpt.embedding import AutoGptEmbedders, checked_rows
from agent_core.errors import MemoryAway
from agent_core.memory.reindexing import Reindexer
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import TOOLS_KEY, ToolSwitches, serialise_tool_switches
from agent_core.model.records.memory import Memory
from agent_core.oversight.secrets import Secrets
from agent_core.plugins.plugin_set import PluginSet
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.examples import CHANNEL, NOON
from agent_core.testing.language_model import reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.channel_tools import is_source_on
from tests.autogpt_plugins import Plugins, plugin_source, zipped
from tests.scenario.test_autogpt_story import stage_of

WAIT = reply_text("do_nothing")
LENGTHS = "[float(len(text)), text.count('a') + 1.0, 1.0]"


def embedding(vector: str = LENGTHS, handles: str = "len(text) > 0") -> str:
    asked = f"def can_handle_text_embedding(self, text): return {handles}"
    return f"{asked}\ndef handle_text_embedding(self, text): return {vector}"


async def with_plugin(plugins: Plugins, rest: str) -> PluginSet:
    zipped(plugins.folder / "first.zip", {"first/__init__.py": plugin_source("First", rest=rest)})
    found = await plugins.loaded("first")
    assert found.faults == []
    return found


async def remembered(stage: Stage, agent: Agent, *texts: str) -> bool:
    memories = [Memory.of(text, source="test", at=NOON) for text in texts]
    return await stage.memory.add(agent, memories, SpendingTracker())


async def counted(stage: Stage, agent: Agent, index_key: str) -> int:
    async with stage.database.begin() as work:
        return len(await work.memories.vectors(agent, index_key, most=999))


def reindexer(stage: Stage) -> Reindexer:
    return Reindexer(database=stage.database, memory=stage.memory, ledger=stage.ledger, clock=stage.clock)


@pytest.mark.proves("autogpt:embedding")
async def test_a_plugins_vectors_have_a_key_of_their_own_and_older_memories_follow(plugins: Plugins) -> None:
    found = await with_plugin(plugins, embedding())
    stage = stage_of(plugins, found, WAIT)
    agent, common = await stage.create(), stage.memory.index_key
    async with stage.database.begin() as work:
        old = Memory.of("black tea", source="test", at=NOON)
        work.memories.add(agent, [old])
        work.memories.put(agent, common, {old.id: (await stage.memory.embed([old.text], SpendingTracker()))[0]})
        await work.commit()
    assert await remembered(stage, agent, "green tea")
    own = stage.memory.index_keys[1]
    assert (own.partition(" in ")[0], await counted(stage, agent, own)) == ("plugin First of AutoGPT, 3 numbers", 1)
    assert await reindexer(stage).index_all() == 1
    assert (await counted(stage, agent, own), await counted(stage, agent, common)) == (2, 0)
    assert await reindexer(stage).index_all() == 0
    (nearest,) = await stage.memory.recall(agent, "black tea", 1, SpendingTracker())
    assert nearest.memory.text == "black tea"


@pytest.mark.slow
@pytest.mark.proves("autogpt:embedding")
@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (embedding("[0.0, 0.0]"), "a vector of it is zero"),
        (embedding("[float('nan')]"), "something else than finite numbers"),
        (embedding("[1.0] * len(text)"), "its vectors have several dimensions"),
        (embedding("[1.0] * 5000"), "has not 1 to 4,096 numbers"),
        (embedding("'12'.missing"), "it raised AttributeError"),
        (embedding("os._exit(1)"), ""),
    ],
)
async def test_a_plugin_that_fails_is_given_up_once_and_the_common_embedder_takes_over(
    plugins: Plugins, rest: str, why: str
) -> None:
    found = await with_plugin(plugins, rest)
    stage = stage_of(plugins, found, WAIT)
    agent = await stage.create()
    assert await remembered(stage, agent, "green tea", "oolong")
    assert await counted(stage, agent, stage.memory.index_key) == 2
    assert await remembered(stage, agent, "black tea")
    (remark,) = found.loaded[0].remarks
    assert remark.startswith("text_embedding is left out: ")
    assert why in remark
    assert stage.memory.index_keys == (stage.memory.index_key,)


@pytest.mark.slow
async def test_a_dimension_that_changes_later_gives_the_plugin_up_and_all_is_embedded_anew(plugins: Plugins) -> None:
    found = await with_plugin(plugins, embedding("[1.0] * (2 if 'oolong' in text else 3)"))
    stage = stage_of(plugins, found, WAIT)
    agent = await stage.create()
    assert await remembered(stage, agent, "green tea")
    assert await remembered(stage, agent, "oolong")
    assert await reindexer(stage).index_all() == 1
    assert await counted(stage, agent, stage.memory.index_key) == 2


@pytest.mark.slow
async def test_a_plugin_that_does_not_handle_a_text_changes_nothing_and_is_not_blamed(plugins: Plugins) -> None:
    found = await with_plugin(plugins, embedding(handles="'never' in text"))
    stage = stage_of(plugins, found, WAIT)
    agent = await stage.create()
    assert await remembered(stage, agent, "green tea")
    assert await counted(stage, agent, stage.memory.index_key) == 1
    assert found.loaded[0].remarks == []


@pytest.mark.slow
async def test_one_that_handles_some_texts_only_is_given_up(plugins: Plugins) -> None:
    found = await with_plugin(plugins, embedding(handles="'tea' in text"))
    stage = stage_of(plugins, found, WAIT)
    agent = await stage.create()
    assert await remembered(stage, agent, "green tea")
    assert await remembered(stage, agent, "oolong")
    assert await reindexer(stage).index_all() == 1
    assert await counted(stage, agent, stage.memory.index_key) == 2
    assert found.loaded[0].remarks == ["text_embedding is left out: it handles some texts only"]


@pytest.mark.slow
async def test_in_a_channel_that_has_it_off_the_plugin_embeds_nothing(plugins: Plugins) -> None:
    found = await with_plugin(plugins, embedding())
    stage = stage_of(plugins, found, WAIT)
    agent = await stage.create()
    assert await remembered(stage, agent, "green tea")
    own = stage.memory.index_keys[1]
    async with stage.database.begin() as work:
        work.preferences.put(CHANNEL, TOOLS_KEY, serialise_tool_switches(ToolSwitches(off=("First",))))
        await work.commit()
    plugin = found.loaded[0].plugin
    assert isinstance(plugin, AutoGptPlugin)
    plugin.is_on = partial(is_source_on, stage.database)
    assert await remembered(stage, agent, "oolong")
    assert await reindexer(stage).index_all() == 1
    assert (await counted(stage, agent, own), await counted(stage, agent, stage.memory.index_key)) == (0, 2)
    assert found.loaded[0].remarks == []


@pytest.mark.slow
async def test_while_no_worker_can_be_started_memories_wait(plugins: Plugins) -> None:
    found = await with_plugin(plugins, embedding())
    stage = stage_of(plugins, found, WAIT)
    agent = await stage.create()

    async def away(*_given: object) -> frozenset[str]:
        raise OSError

    plugins.pool.load_sites = away  # type: ignore[assignment]
    assert not await remembered(stage, agent, "green tea")
    with pytest.raises(MemoryAway):
        await stage.memory.recall(agent, "tea", 1, SpendingTracker())
    assert found.loaded[0].remarks == []


@pytest.mark.slow
async def test_a_plugin_is_told_no_key_of_the_operator(plugins: Plugins) -> None:
    found = await with_plugin(plugins, embedding("[1.0, 2.0] if '4711' in text else [1.0, 2.0, 3.0]"))
    assert isinstance(found.embedders, AutoGptEmbedders)
    told = AutoGptEmbedders(found.embedders.plugins, Secrets.of(["sk-of-the-operator-4711"]))
    stage = stage_of(plugins, found, WAIT)
    named = await told.embed(await stage.create(), ["my key is sk-of-the-operator-4711"])
    assert named
    assert named[0] == "plugin First of AutoGPT, 3 numbers"


@pytest.mark.parametrize("value", [None, "x", {}, [[1.0]], [[1.0], [True]], [["1"], [1.0]], [1.0, 2.0]])
def test_what_is_no_vector_for_each_text_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"it|its"):
        checked_rows(value, 2, 0)
