"""The rehearsal model with the real prompts: what it proposes, in which order, and how honest it is."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from adapters.typed.agent_templates import AgentTemplate, load_templates
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.demo.rehearsal import LABEL, NO_GOALS, RehearsalModel, complete_prompt
from agent_core.capabilities.demo.tour import APPROVED, TOUR_GOAL
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.command import Arguments, CommandCall, Failed, Proposal, Result, Succeeded, Thoughts
from agent_core.model.decision import Approve, ApproveEdited, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import TurnId
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.model.turn import Turn
from agent_core.ports.models import CallOptions
from agent_core.prompt.packing import Situation, TokenRoom, pack
from agent_core.replies.reading import parse
from agent_core.service.schedules import WantedSchedule
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import ANA, NOON, a_note, a_turn, an_agent
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, Commands

COMMANDS = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS)
WRITE, READ, LIST = 'Write "hello" to a.txt', "Read a.txt", "List files"

OK = Succeeded("ok")


@dataclass
class Story:
    """An agent whose turns are decided one after the other."""

    agent: Agent
    commands: Commands = COMMANDS
    turns: list[Turn] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, *goals: str, **facts: Any) -> "Story":
        return cls(an_agent(goals=goals), **facts)

    def next(self) -> tuple[Thoughts, CommandCall]:
        notes = [a_note(self.agent, text=text) for text in self.notes]
        situation = Situation(
            agent=replace(self.agent, turns=len(self.turns)),
            commands=self.commands.specs,
            turns=self.turns,
            notes=notes,
            now=NOON,
        )
        prompt = pack(situation, TokenRoom(10_000, EstimatedTokens().count))
        thoughts, call = parse(Reply(text=complete_prompt(prompt, "OPENAI_API_KEY or OPENAI_BASE_URL"), usage=Usage()))
        return thoughts, self.commands.checked(call)

    def proposes(self) -> Turn:
        thoughts, call = self.next()
        number = len(self.turns) + 1
        proposal = Proposal(thoughts=thoughts, call=call)
        return a_turn(self.agent, id=TurnId(f"t{number}"), number=number, proposal=proposal)

    def approves(self, result: Result = OK) -> CommandCall:
        turn = self.proposes().decide(Approve(), by=ANA, at=NOON).start(NOON).finish(result, NOON)
        self.turns.append(turn)
        return turn.call

    def rejects(self, reason: str = "") -> CommandCall:
        turn = self.proposes().decide(Reject(reason), by=ANA, at=NOON)
        self.turns.append(turn)
        return turn.call

    def stops(self) -> CommandCall:
        turn = self.proposes().stop(ANA, NOON)
        self.turns.append(turn)
        return turn.call

    def complains(self, complaint: str) -> None:
        self.agent = replace(self.agent, complaint=complaint)

    def reason(self) -> str:
        _, call = self.next()
        assert call.name == "task_complete"
        return str(call.arguments["reason"])


def test_goals_become_commands_in_order_and_then_it_is_done() -> None:
    story = Story.of(WRITE, READ, LIST)
    calls = [story.approves() for _ in range(3)]
    assert calls == [
        CommandCall("write_to_file", {"filename": "a.txt", "text": "hello"}),
        CommandCall("read_file", {"filename": "a.txt"}),
        CommandCall("list_files", {}),
    ]
    assert story.reason() == (
        "This was demo mode: a script, no AI.\n"
        "- Done: Write “hello” to a.txt\n- Done: Read a.txt\n- Done: List the files\n"
        "To connect a model, put OPENAI_API_KEY or OPENAI_BASE_URL into .env and start again."
    )


def test_all_five_thoughts_are_filled_and_plain() -> None:
    thoughts, _ = Story.of(WRITE, READ).next()
    assert thoughts == Thoughts(
        text="Step 1 of 2 · Write “hello” to a.txt",
        reasoning="Goal 1 matched the pattern for write_to_file. No AI was asked.",
        plan="- Write “hello” to a.txt\n- Read a.txt\n- Say what was done",
        criticism="I match words and understand none of them: look at the arguments before you approve.",
        speak="May I do this: Write “hello” to a.txt?",
    )


def test_one_goal_may_become_several_commands() -> None:
    story = Story.of('Write "one" to a.txt, append "two" to it and then read it back')
    assert [story.approves().name for _ in range(4)] == [
        "write_to_file",
        "append_to_file",
        "read_file",
        "task_complete",
    ]


def test_a_rejected_step_is_not_proposed_again_and_the_script_says_why() -> None:
    story = Story.of(WRITE, READ)
    story.rejects("not that file")
    thoughts, call = story.next()
    assert call.name == "read_file"
    assert thoughts.text.splitlines()[1:] == [
        "@ana rejected it: not that file",
        "I am a script: I cannot rethink, so I go on with the next step.",
    ]


def test_what_was_rejected_or_failed_is_in_the_reason() -> None:
    story = Story.of(WRITE, READ)
    story.rejects()
    story.approves(Failed("There is no file a.txt."))
    assert story.reason().splitlines()[1:-1] == [
        "- Rejected: Write “hello” to a.txt (@ana rejected it without a reason.)",
        "- Failed: Read a.txt (Error: There is no file a.txt.)",
    ]


def test_a_step_withdrawn_by_a_stop_is_proposed_again() -> None:
    story = Story.of(WRITE, READ)
    stopped = story.stops()
    assert story.approves() == stopped
    assert story.approves().name == "read_file"
    assert story.reason().count("Done") == 2


def test_a_rejected_end_is_proposed_again_with_plain_words() -> None:
    story = Story.of(LIST)
    story.approves()
    assert story.rejects("there is more").name == "task_complete"
    thoughts, call = story.next()
    assert call.name == "task_complete"
    assert thoughts.text.endswith("I am a script: I cannot rethink, and I have no other step.")


def test_a_goal_of_no_known_shape_is_told_with_the_way_out() -> None:
    story = Story.of("Find the best pizza in town", READ)
    thoughts, call = story.next()
    assert call == CommandCall("do_nothing", {})
    assert thoughts.text.startswith("Step 1 of 2 · Goal 1 is not understood: Find the best pizza in town")
    assert all(word in thoughts.text for word in ("list files", "OPENAI_API_KEY", "OPENAI_BASE_URL", ".env"))
    story.approves()
    assert story.approves().name == "read_file"
    assert "- Goal 1 is not understood: Find the best pizza in town" in story.reason()


def test_notes_are_received_and_not_understood() -> None:
    story = Story.of(WRITE, notes=["Make it rhyme.\nPlease."])
    assert story.next()[0].text.endswith("I received what you wrote, but I am a script and cannot understand it.")


def test_a_step_that_could_not_be_put_before_people_takes_a_turn_of_doing_nothing() -> None:
    story = Story.of(READ, LIST)
    story.complains("There is no file a.txt.")
    assert story.approves() == CommandCall("do_nothing", {})
    story.complains("")
    assert story.approves().name == "list_files"
    assert "- Not possible: Read a.txt (There is no file a.txt.)" in story.reason()


def test_a_command_that_is_switched_off_is_named() -> None:
    story = Story.of(WRITE, commands=Commands.of(*FINISH_COMMANDS))
    thoughts, call = story.next()
    assert call.name == "do_nothing"
    assert "Goal 1 needs write_to_file, which this agent does not have." in thoughts.text


def test_goals_added_later_do_not_repeat_what_was_done() -> None:
    story = Story.of(WRITE, READ)
    story.approves()
    story.approves()
    story.agent = replace(story.agent, goals=(WRITE, READ, LIST))
    assert story.approves().name == "list_files"
    story.agent = replace(story.agent, goals=(READ, LIST))
    assert story.next()[1].name == "task_complete"


async def test_it_says_that_it_is_no_model_and_costs_nothing() -> None:
    model = RehearsalModel()
    reply = await model.complete([Message("user", "Summarise this.")], CallOptions(max_tokens=9))
    assert model.label == LABEL == "Demo · scripted, no AI"
    assert reply.text == NO_GOALS
    assert model.price(reply.usage, model.default_model) == 0


def test_the_tour_is_seven_commands_and_puts_the_reply_that_corrects_it_into_the_report() -> None:
    story = Story.of(TOUR_GOAL, commands=Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS, _recall()))
    calls = [story.approves() for _ in range(5)]
    assert [call.name for call in calls] == ["list_files", "read_file", "read_file", "search_files", "memory_recall"]
    assert "36" in str(story.rejects("it is 37").arguments["text"])
    assert str(story.approves().arguments["text"]).endswith("Corrected for the reason: it is 37\n")
    assert "To connect a model" in story.reason()


def test_goals_and_models_that_the_script_does_not_have_are_named_with_the_way_out() -> None:
    model = RehearsalModel("A_KEY")
    assert model.goals_problem((WRITE, LIST, TOUR_GOAL)) == ""
    said = model.goals_problem((WRITE, "Research tea"))
    assert said.startswith("Goals: demo mode can't do “Research tea”. Connect a model (A_KEY in .env) or try: write")
    assert model.model_problem("") == model.model_problem(model.default_model) == ""
    assert model.default_model == "demo mode"  # what people read where models are listed
    assert "has no gpt-5" in model.model_problem("gpt-5")


@pytest.mark.proves("templates:own")
@pytest.mark.parametrize("template", load_templates(rehearsal=RehearsalModel()).every, ids=lambda each: each.key)
def test_every_template_runs_in_demo_mode(template: AgentTemplate) -> None:
    assert RehearsalModel().goals_problem(template.draft.goals) == ""


@pytest.mark.proves("templates:own")
async def test_the_weekly_report_runs_in_demo_mode_to_its_end() -> None:
    stage = Stage(model=RehearsalModel(), rehearsal=RehearsalModel())
    draft = load_templates().get("1-weekly-report").draft
    agent = await stage.wait_until_settled(await stage.service.lifecycle.create(draft, stage.origin()))
    for _ in range(len(draft.goals) + 1):
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    assert agent.status.kind == "finished"
    assert "An outline by demo mode" in (await stage.workspaces.of(agent).read("weekly.md")).decode()


async def test_demo_mode_refuses_a_goal_before_an_agent_is_made_and_starts_tours_with_their_files() -> None:
    stage = Stage(model=RehearsalModel(), rehearsal=RehearsalModel())
    with pytest.raises(InvalidInput, match="can't do"):
        await stage.service.lifecycle.create(AgentDraft(goals=("Research tea",)), stage.origin())
    with pytest.raises(InvalidInput, match="has no gpt-5"):
        await stage.service.lifecycle.create(AgentDraft(goals=(WRITE,), model="gpt-5"), stage.origin())
    first, second = await stage.tour.start(stage.origin()), await stage.tour.start(stage.origin())
    assert (first.name, second.name) == ("Tour", "Tour 2")
    paths = [entry.path for entry in await stage.workspaces.of(first).list_files()]
    assert paths == ["notes.md", "orders.csv", "report.md"]


def _recall() -> Command:
    stage = Stage()
    return stage.commands.by_name["memory_recall"]


def edits(story: Story, arguments: Arguments) -> None:
    turn = story.proposes().decide(ApproveEdited(arguments), by=ANA, at=NOON).start(NOON).finish(OK, NOON)
    story.turns.append(turn)


def test_the_end_does_not_say_that_a_step_was_done_as_proposed_when_a_person_changed_it() -> None:
    story = Story.of(WRITE)
    edits(story, {"filename": "b.txt", "text": "something else"})
    assert "- Done: Write “hello” to a.txt\n" not in f"{story.reason()}\n", "a.txt was never written"


def test_the_tour_says_to_nobody_who_corrected_the_report_by_edit_that_they_approved_the_mistake() -> None:
    story = Story.of(TOUR_GOAL, commands=Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS, _recall()))
    for _ in range(5):
        story.approves()
    report = story.proposes().call.arguments
    edits(story, {**report, "text": str(report["text"]).replace("36", "37")})
    assert APPROVED not in story.next()[0].text


async def test_a_run_of_a_schedule_says_that_the_script_does_each_step_once() -> None:
    stage = Stage(model=RehearsalModel(), clock=FakeClock(NOON))
    agent = await stage.create(WRITE)
    for _ in range(2):
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    wanted = WantedSchedule(when="every day at 9:00")
    agent = await stage.service.schedules.set(agent.id, wanted, stage.origin())
    await stage.service.schedules.act(agent.id, "now", stage.origin())
    agent = await stage.wait_until_settled(agent)
    turn = await stage.turn(agent)
    once = "The script does each step once, so a run of the schedule repeats none."
    assert turn.proposal.thoughts.text == f"The only step was proposed. {once}"
    assert f"This was demo mode: a script, no AI. {once}\n" in str(turn.call.arguments["reason"])
