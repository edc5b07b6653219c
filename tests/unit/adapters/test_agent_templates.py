"""Templates for new agents: Signoff's own, those of the operator's folder, and files that cannot be used."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from adapters.typed.agent_templates import MAX_TEMPLATES, AgentTemplate, AgentTemplates, load_templates
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.errors import InvalidInput
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from tests.architecture.sources import ROOT

WHOLE = """\
signoff_label: Weekly report
ai_name: Reporter
ai_role: writes reports
ai_goals:
- Read the files
- 'Write: report.md'
api_budget: 1.5
signoff_model: gpt-5.4-mini
signoff_effort: low
signoff_approvers: owner
signoff_verbosity: brief
"""
GOAL = "ai_goals:\n- Write\n"


def folder_of(path: Path, **files: str) -> AgentTemplates:
    for name, text in files.items():
        (path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load_templates(path)


def labels(templates: AgentTemplates) -> list[str]:
    return [each.label for each in templates.every]


DEMO = RehearsalModel()
NEEDS = re.compile(r"^### (\w+)\n(?:(?!^### ).)*?^\| off at first \| ([^\n]*)", re.MULTILINE | re.DOTALL)
# What a goal says that makes a model use a command, besides the command's name.
HINTS = {"google": r"search\w* the web|web search", "download_file": "download", "send_tweet": "tweet|post on X"}


@pytest.mark.proves("templates:own")
def test_with_a_model_five_that_people_need_are_offered() -> None:
    assert labels(load_templates()) == [
        "Weekly report from files (upload them first)",
        "Price watch (name the pages)",
        "Review a repository (give its address)",
        "Inbox digest (needs a tool server for mail)",
        "Research with sources (ask a question)",
    ]


@pytest.mark.proves("templates:own")
def test_in_demo_mode_the_script_can_carry_out_each_that_is_offered() -> None:
    assert labels(load_templates(rehearsal=DEMO)) == [
        "Weekly report from files (upload them first)",
        "Write a file",
        "Append to a file",
        "Read a file",
        "List files",
        "Search in files",
        "Change a file",
    ]


@pytest.mark.proves("templates:own")
@pytest.mark.parametrize("template", load_templates().every, ids=lambda each: each.key)
def test_a_template_is_whole_and_says_what_has_to_be_turned_on(template: AgentTemplate) -> None:
    draft = template.draft
    assert draft == draft.tidied()
    assert 3 <= len(draft.goals) <= 5
    assert draft.budget
    assert draft.policy.free == ()
    said = " ".join((template.label, draft.role, *draft.goals))
    assert re.search(r"\b[\w-]+\.(?:md|csv)\b", said), "it names the file of the result"
    off = dict(NEEDS.findall((ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")))
    assert {"google", "execute_shell"} <= set(off)
    for command, why in off.items():
        if re.search(rf"\b(?:{command}|{HINTS.get(command, command)})\b", said, re.IGNORECASE):
            assert any(setting in said for setting in re.findall(r"[A-Z]+_[A-Z_]+", why)), command
    assert "tool server" not in said or "MCP_SERVERS" in said


@pytest.mark.proves("templates:own")
def test_no_template_of_signoff_is_left_out() -> None:
    assert load_templates().faults == load_templates(rehearsal=DEMO).faults == ()


@pytest.mark.proves("templates:folder")
def test_a_file_of_the_operator_has_every_setting_of_the_form(tmp_path: Path) -> None:
    templates = folder_of(tmp_path, weekly=WHOLE)
    assert (len(templates.every), templates.faults) == (6, ())
    assert templates.get("weekly").draft == AgentDraft(
        name="Reporter",
        role="writes reports",
        goals=("Read the files", "Write: report.md"),
        budget=Decimal("1.5"),
        model="gpt-5.4-mini",
        effort="low",
        policy=Policy(approvers="owner", verbosity="brief"),
    )


def test_a_file_of_the_same_name_takes_the_place_of_signoffs(tmp_path: Path) -> None:
    templates = folder_of(tmp_path, **{"1-weekly-report": f"ai_name: Ours\n{GOAL}"})
    assert labels(templates)[0] == "Ours"
    assert len(templates.every) == 5


@pytest.mark.proves("templates:folder")
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a", "ai_name: [", "a.yaml: it is not YAML"),
        ("a", "ai_name: Ada\n", "a.yaml: Goals: write at least one"),
        ("a", f"ai_name: {'n' * 81}\n{GOAL}", "at most 80 characters"),
        ("a", f"x: &a [1]\ny: *a\n{GOAL}", "YAML aliases"),
        ("a", "[" * 50 + "]" * 50, "nested too deeply"),
        ("a", f"ai_role: {'r' * 20_000}\n{GOAL}", "more than 20,000 characters"),
        ("a", f"signoff_free: execute\n{GOAL}", "signoff_free is not known; there are signoff_label"),
        ("a", f"signoff_approvers: nobody\n{GOAL}", "signoff_approvers is none of anyone, owner"),
        ("a", f"signoff_effort: lots\n{GOAL}", "Reasoning effort: one of"),
        ("a", f"signoff_label: {'l' * 71}\n{GOAL}", "more than 70 characters"),
        ("a", f'signoff_model: "a\\u202eb"\n{GOAL}', "U\\+202E"),
        ("two words", GOAL, "letters, digits, dots"),
        ("a\u202eb", GOAL, r"'a\\u202eb.yaml'"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_left_out(tmp_path: Path, name: str, text: str, why: str) -> None:
    templates = folder_of(tmp_path, **{name: text})
    assert len(templates.every) == 5
    assert len(templates.faults) == 1
    assert re.search(why, templates.faults[0]), templates.faults[0]


def test_bytes_and_other_files_are_no_templates(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / ".hidden.yaml").write_text(GOAL)
    (tmp_path / "b.yaml").mkdir()
    assert load_templates(tmp_path).faults == ("a.yaml: it is not UTF-8 text", "b.yaml: Is a directory")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert load_templates(gone).faults == (f"{gone}: No such file or directory",)


def test_there_are_at_most_fifty(tmp_path: Path) -> None:
    templates = folder_of(tmp_path, **{f"z{number:02}": GOAL for number in range(MAX_TEMPLATES - 4)})
    assert (len(templates.every), templates.faults) == (50, ("more than 50 templates: z45",))


def test_an_unknown_key_is_answered_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"There is no template nope\. There are: 1-weekly-report, 2-price-watch"):
        load_templates().get("nope")
    with pytest.raises(InvalidInput, match="Which template"):
        load_templates().get("")
