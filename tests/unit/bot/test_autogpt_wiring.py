"""How the settings load plugins of AutoGPT beside Signoff's own, and what the doctor says of them."""

from pathlib import Path

import pytest

from agent_core.capabilities.autogpt.worker import LOAD_SECONDS
from agent_core.errors import SettingsError
from agent_core.providers.clock import SystemClock
from bot.capabilities import Capabilities
from bot.findings.plugins import plugins_finding
from bot.settings import Settings, load
from bot.wiring.plugins import load_all_plugins, plugin_environment
from tests.autogpt_plugins import plugin_source, zipped
from tests.packages import SANDBOX, need

OWN = "from agent_core.plugins import Plugin\n\nclass Own(Plugin):\n    name = 'own'\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "plugins"
    reports = "def can_handle_report(self): return True"
    zipped(folder / "tea.zip", {"tea_plugin/__init__.py": plugin_source(rest=reports)})
    zipped(folder / "mate.zip", {"mate_plugin/__init__.py": plugin_source("MatePlugin")})
    zipped(folder / "soup.zip", {"soup_plugin/__init__.py": plugin_source("SoupPlugin", imports="import bs4_of_2023")})
    (folder / "own.py").write_text(OWN)
    return load(
        {
            "SIGNOFF_HOME": str(tmp_path / "home"),
            "PLUGINS_DIR": str(folder),
            "ALLOWLISTED_PLUGINS": "TeaPlugin, SoupPlugin",
            "PLUGIN_ENV": "TEA_KEY,NOT_SET",
        },
        None,
    )


@pytest.mark.slow
async def test_plugins_of_autogpt_are_loaded_beside_signoffs_own(settings: Settings) -> None:
    need(*SANDBOX)
    plugins = await load_all_plugins(settings, SystemClock())
    assert [each.name for each in plugins.loaded] == ["own", "TeaPlugin"]
    assert plugins.thoughts is not None
    assert plugins.faults == [
        "zip mate.zip: MatePlugin not allowed; ALLOWLISTED_PLUGINS names what may run",
        "SoupPlugin (zip soup.zip): it needs bs4_of_2023, which PLUGIN_PYTHON does not have",
    ]
    assert [*(settings.home / "workspaces").iterdir()] == []
    await plugins.close()


@pytest.mark.slow
async def test_the_doctor_names_plugins_and_what_is_left_out(settings: Settings) -> None:
    need(*SANDBOX)
    finding = await plugins_finding(Capabilities.of(settings))
    assert finding is not None
    assert finding.state == "warn"
    assert "TeaPlugin sha256:" in finding.why
    assert "(1 command)" in finding.why
    assert "SoupPlugin (zip soup.zip): it needs bs4_of_2023, which PLUGIN_PYTHON does not have" in finding.why


@pytest.mark.slow
@pytest.mark.parametrize("where", ["constructor", "import"])
async def test_a_plugin_that_hangs_holds_the_start_no_longer_than_plugin_seconds(tmp_path: Path, where: str) -> None:
    need(*SANDBOX)
    hangs = plugin_source("SlowPlugin", imports="while True: pass" if where == "import" else "")
    hangs = hangs.replace("super().__init__()", "time.sleep(1000)")
    zipped(tmp_path / "plugins" / "slow.zip", {"slow_plugin/__init__.py": hangs})
    zipped(tmp_path / "plugins" / "tea.zip", {"tea_plugin/__init__.py": plugin_source()})
    given = {"PLUGINS_DIR": str(tmp_path / "plugins"), "ALLOWLISTED_PLUGINS": "SlowPlugin,TeaPlugin"}
    began = SystemClock().elapsed()
    finding = await plugins_finding(
        Capabilities.of(load({"SIGNOFF_HOME": str(tmp_path), "PLUGIN_SECONDS": "3", **given}, None))
    )
    assert SystemClock().elapsed() - began < LOAD_SECONDS
    assert finding is not None
    assert finding.why.startswith("TeaPlugin sha256:")
    assert "SlowPlugin (zip slow.zip): The plugin SlowPlugin was ended: it did not answer within 3 sec" in finding.why


async def test_without_a_sandbox_plugins_of_autogpt_are_off_and_others_are_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = "agent_core.capabilities.programs.bubblewrap.missing_tools"
    monkeypatch.setattr(missing, lambda _tools: "bwrap is not installed")
    finding = await plugins_finding(Capabilities.of(settings))
    assert finding is not None
    assert finding.why.startswith("own sha256:")
    assert "plugins of AutoGPT are off: they run in the sandbox bubblewrap only. The sandbox cannot" in finding.why


async def test_with_files_in_a_bucket_plugins_of_autogpt_are_off_and_others_are_not(settings: Settings) -> None:
    finding = await plugins_finding(Capabilities.of(settings.model_copy(update={"workspace_url": "s3://bucket/x"})))
    assert finding is not None
    assert finding.why.startswith("own sha256:")
    assert "plugins of AutoGPT are off: the agents' files are in a bucket, and programs and plugins" in finding.why
    assert "Set WORKSPACE_URL to a folder of this machine, or to one that is mounted" in finding.why


async def test_a_python_that_is_none_is_a_fault_of_its_setting(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "python").write_text("no program")
    wrong = settings.model_copy(update={"plugin_python": tmp_path / "python"})
    with pytest.raises(SettingsError, match="PLUGIN_PYTHON"):
        await load_all_plugins(wrong, SystemClock())
    finding = await plugins_finding(Capabilities.of(wrong))
    assert finding is not None
    assert (finding.state, finding.variable) == ("fault", "PLUGIN_PYTHON")


def test_the_environment_of_plugins_is_taken_from_here_and_from_the_file(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text("TEA_KEY=of-the-file\nOTHER_KEY=not-named\n")
    assert plugin_environment(settings, file) == {"TEA_KEY": "of-the-file"}
    monkeypatch.setenv("TEA_KEY", "of-the-environment")
    assert plugin_environment(settings, file) == {"TEA_KEY": "of-the-environment"}


@pytest.mark.slow
async def test_the_doctor_names_what_no_plugin_has(settings: Settings) -> None:
    need(*SANDBOX)
    wrong = {"denylisted_plugins": ("Coffee", "mate"), "plugin_classes": {"TeaPlugin": ("read",), "Tee": ("read",)}}
    finding = await plugins_finding(Capabilities.of(settings.model_copy(update=wrong)))
    assert finding is not None
    assert "DENYLISTED_PLUGINS names Coffee, which no plugin has" in finding.why
    assert "PLUGIN_CLASSES names Tee, which no plugin has" in finding.why
    assert finding.why.endswith("PLUGIN_ENV names TEA_KEY, NOT_SET, which is not set")


async def test_settings_of_plugins_without_a_plugin_are_told() -> None:
    finding = await plugins_finding(
        Capabilities.of(load({"PLUGIN_CLASSES": "Tea=read", "ALLOWLISTED_PLUGINS": "Tea"}, None))
    )
    assert finding is not None
    assert finding.state == "warn"
    assert finding.why.startswith("none: ALLOWLISTED_PLUGINS, PLUGIN_CLASSES changes nothing")


def test_classes_of_plugins_are_read_in_the_order_of_cards() -> None:
    settings = load({"PLUGIN_CLASSES": "Tea = Publish + read, Tea.brew=write"}, None)
    assert settings.plugin_classes == {"Tea": ("read", "publish"), "Tea.brew": ("write",)}


@pytest.mark.parametrize("wrong", ["Tea", "Tea=", "Tea=drink", "=read", "Tea=read,Tea=write"])
def test_classes_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"PLUGIN_CLASSES: must be names with = and some of read"):
        load({"PLUGIN_CLASSES": wrong}, None)
