"""What the worker of a plugin of AutoGPT keeps to, whatever the plugin does. Real processes in the sandbox."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.errors import CommandError
from agent_core.model.ids import AgentId
from agent_core.plugins import PluginTools
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.plugins.plugin_set import PluginSet
from agent_core.testing.clock import FakeClock
from agent_core.toolset.arguments import argument_faults, fit_arguments
from agent_core.toolset.registry import Command, CommandOutput
from tests.autogpt_plugins import AGENT, Plugins, plugin_source
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
async def plugins(tmp_path: Path) -> AsyncIterator[Plugins]:
    made = Plugins(tmp_path)
    yield made
    await made.close()


def commands_of(plugins: Plugins, loaded: LoadedPlugin) -> tuple[Command, ...]:
    assert plugins.pool.load_sites is not None
    return PluginSet(loaded=[loaded]).commands(PluginTools(load_sites=plugins.pool.load_sites))


async def run(plugins: Plugins, command: str, rest: str = "") -> CommandOutput:
    """Run the one command of a plugin, whose body this is."""
    (made,) = commands_of(plugins, await plugins.one(plugin_source(command=command, rest=rest)))
    return await made.run({"kind": "green"}, plugins.context())


async def refusal(plugins: Plugins, command: str) -> str:
    with pytest.raises(CommandError) as refused:
        await run(plugins, command)
    return str(refused.value)


ANSWERS = [
    ("return named['kind']", "green"),
    ("return {'kind': 1}", "{'kind': 1}"),
    ("return None", "It gave no result."),
    ("print('noise'); sys.stderr.write('noise'); return 'said'", "said"),
    ("return sys.stdin.read() or 'nothing to read'", "nothing to read"),
    ("return 'x' * 200_000", f"{'x' * 150_000}\n(50,000 more characters are lost.)"),
    ("return '\\ud800'", "?"),
    ("return os.getcwd()", "/workspace"),
]


@pytest.mark.slow
@pytest.mark.proves("autogpt:worker")
@pytest.mark.parametrize(("body", "text"), ANSWERS, ids=[body[:40] for body, _ in ANSWERS])
async def test_a_commands_result_is_text_whatever_it_is(plugins: Plugins, body: str, text: str) -> None:
    assert (await run(plugins, body)).text == text


@pytest.mark.slow
async def test_an_asynchronous_command_is_awaited(plugins: Plugins) -> None:
    body = "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 'later'\nreturn later()"
    assert (await run(plugins, body)).text == "later"


@pytest.mark.slow
async def test_a_plugin_that_forks_is_answered_for_once(plugins: Plugins) -> None:
    assert (await run(plugins, "return 'child' if os.fork() == 0 else 'parent'")).text == "parent"


@pytest.mark.slow
@pytest.mark.proves("autogpt:time")
async def test_a_command_that_hangs_is_ended_and_the_loop_goes_on_meanwhile(tmp_path: Path) -> None:
    plugins = Plugins(tmp_path, seconds=0.5)
    said = await refusal(plugins, "while True: pass")
    assert "it did not answer within 0.5 seconds" in said
    assert "Look whether tea took effect before it is run again." in said
    await plugins.close()


@pytest.mark.proves("autogpt:once")
async def test_a_command_that_killed_its_worker_is_not_run_again_by_itself_and_the_next_one_has_a_new_worker(
    plugins: Plugins,
) -> None:
    body = """
        with open('runs', 'a') as runs:
            runs.write('x')
        if os.path.getsize('runs') == 1:
            os._exit(1)
        return 'second'
    """
    (made,) = commands_of(plugins, await plugins.one(plugin_source(command=body)))
    context = plugins.context()
    with pytest.raises(CommandError, match="its process ended"):
        await made.run({}, context)
    assert await context.files.read("runs") == b"x"
    assert (await made.run({}, context)).text == "second"


@pytest.mark.slow
@pytest.mark.proves("autogpt:sealed")
async def test_each_agent_has_a_worker_and_a_folder_of_its_own(plugins: Plugins) -> None:
    body = "tea.count = getattr(tea, 'count', 0) + 1\nopen('mine', 'w').close()\nreturn str((tea.count, os.listdir()))"
    (made,) = commands_of(plugins, await plugins.one(plugin_source(command=body)))
    other = plugins.context(replace(AGENT, id=AgentId("0other"), name="Other"))
    await other.files.write("theirs", b"secret")
    first = await made.run({}, plugins.context())
    again, apart = await made.run({}, plugins.context()), await made.run({}, other)
    assert (first.text[:2], again.text[:2], apart.text[:2]) == ("(1", "(2", "(1")
    assert "theirs" not in again.text
    assert "theirs" in apart.text


@pytest.mark.slow
@pytest.mark.proves("autogpt:environment")
async def test_only_named_variables_are_seen_and_their_values_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator")
    plugins = Plugins(tmp_path, environment={"TEA_KEY": "tea-secret-value"})
    body = """
        found = [os.environ['TEA_KEY'], 'OPENAI_API_KEY' in os.environ]
        for process in filter(str.isdecimal, os.listdir('/proc')):
            try:
                found.append('sk-of-the-operator' in open(f'/proc/{process}/environ').read())
            except OSError:
                pass
        return str(found)
    """
    text = (await run(plugins, body)).text
    assert text.startswith("['[secret]', False")
    assert "True" not in text
    await plugins.close()


@pytest.mark.slow
async def test_where_the_operator_opened_the_network_a_plugin_reaches_this_machine(tmp_path: Path) -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    plugins = Plugins(tmp_path, is_open=True)
    body = f"socket.create_connection(('127.0.0.1', {port}), 2).close(); return 'reached'"
    assert (await run(plugins, body)).text == "reached"
    await plugins.close()
    server.close()


@pytest.mark.slow
async def test_a_cancelled_command_ends_its_worker(plugins: Plugins) -> None:
    body = "open('begun', 'w').close()\ntime.sleep(1000)"
    (made,) = commands_of(plugins, await plugins.one(plugin_source(command=body)))
    context = plugins.context()
    task = asyncio.ensure_future(made.run({}, context))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not [each for each in await context.files.list_files() if each.path == "begun"]:
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not any(place.worker and place.worker.is_running for place in plugins.pool._places.values())


@pytest.mark.slow
async def test_an_idle_worker_is_ended(tmp_path: Path) -> None:
    clock = FakeClock()
    plugins = Plugins(tmp_path, clock=clock)
    assert (await run(plugins, "return 'tea'")).text == "tea"
    (place,) = plugins.pool._places.values()
    assert place.idling is not None
    clock.advance(plugins.pool.idle_seconds + 1)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.wait([place.idling])
    assert plugins.pool._places == {}
    assert place.worker is not None
    assert not place.worker.is_running


@pytest.mark.slow
@pytest.mark.proves("autogpt:hook-lost")
@pytest.mark.parametrize(
    ("body", "why"),
    [("time.sleep(1000)", "did not answer"), ("os._exit(1)", "process ended"), ("raise SystemExit", "SystemExit")],
)
async def test_a_hook_that_fails_is_left_out_from_then_on_and_said_once(
    tmp_path: Path, body: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugins = Plugins(tmp_path, seconds=1)
    rest = f"def can_handle_on_response(self): return True\ndef on_response(self, text): {body}"
    loaded = await plugins.one(plugin_source(rest=rest))
    plugin = loaded.plugin
    assert isinstance(plugin, AutoGptPlugin)
    assert plugin.has("on_response")
    assert await plugin.hook("on_response", ["hello"], plugins.context()) is None
    assert not plugin.has("on_response")
    assert [each.split(":")[0] for each in loaded.remarks] == ["on_response is left out"]
    assert why in loaded.remarks[0]
    assert [each.message for each in caplog.records].count("a plugin's hook is left out") == 1
    await plugins.close()


@pytest.mark.proves("autogpt:worker")
async def test_a_command_gets_numbers_and_objects_where_its_hints_name_them(plugins: Plugins) -> None:
    source = plugin_source(command="return repr(sorted(named.items()))").replace(
        "{'kind': '<kind of tea>'}", "{'cups': '<int>', 'order': '<dict>', 'kind': '<kind of tea>'}"
    )
    (made,) = commands_of(plugins, await plugins.one(source))
    given = fit_arguments(made.spec, {"cups": "3", "order": {"size": 2}, "kind": "7"})
    assert argument_faults(made.spec, given) == []
    answer = (await made.run(given, plugins.context())).text
    assert answer == "[('cups', 3), ('kind', '7'), ('order', {'size': 2})]"
