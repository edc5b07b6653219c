"""Pure rules for each step of an agent: propose, complain, delay, conclude, pause; exposure, recall, bills, runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agent_core.loop.outcome import Outcome
from agent_core.loop.proposing import Delay, ProposedCommand, Thought, UnusableAnswer
from agent_core.loop.recall import Recall
from agent_core.loop.turn_context import TurnContext
from agent_core.model.agent import Acting, Agent, AgentStatus, Awaiting, Digest, Finished, Paused, Stopped, Thinking
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approve
from agent_core.model.ids import TurnId, new_id
from agent_core.model.model_calls import NO_USAGE, CallKind, Usage
from agent_core.model.note import Note, Notice
from agent_core.model.turn import Turn
from agent_core.oversight.evaluation import Allowed, Asks, Denied, Granters, evaluate
from agent_core.oversight.lease import end_lease, why_lease_ends
from agent_core.oversight.policy import may_decide
from agent_core.oversight.repetition import continues_repetition
from agent_core.oversight.untrusted_content import (
    expose,
    has_tainted_memory,
    is_from_outside,
)
from agent_core.text.lines import counted, listed, one_line, quoted

MAX_REPLY_CHARACTERS = 200_000  # of an unusable reply, for people
MAX_UNUSABLE_REPLIES = 3
MAX_REASON_CHARACTERS = 200
MAX_WAIT = timedelta(days=1)
MAX_OUTAGE = timedelta(hours=1)
LATE = timedelta(minutes=5)  # from then on people are told that a run of a schedule began late


def propose(
    agent: Agent, thought: ProposedCommand, turn_context: TurnContext, granters: Granters, now: datetime
) -> Outcome:
    """Make the agent's next turn. It runs without asking if a rule, the policy or a lease covers it; else it asks.

    If the agent was told that it repeats itself and proposes the same again, it pauses instead, unless it has an unread
    note.
    """
    if (
        turn_context.circling
        and not turn_context.waiting
        and continues_repetition(thought.proposal.call, turn_context.turns)
    ):
        why = f"{agent.name} goes round in a circle: {turn_context.circling} It was told, and proposed the same again."
        return pause(agent, f"{why} Give it a hint, then Resume.", now)
    before = agent
    agent, notices = _expose_to_notes(agent, turn_context, now)
    agent, more = _expose_to_plugins(agent, thought, now)
    notices = (*notices, *more)
    turn = _next_turn(agent, thought, now)
    numbered = replace(agent, turns=turn.number, unusable=0, complaint="", unbilled=NO_USAGE)
    outcome = _approve_or_ask(numbered, turn, turn_context, granters, now)
    if isinstance(outcome, Denied):
        return complain(before, thought.denied(str(outcome.error)), now)
    return _with_folder(thought, replace(outcome, read=turn_context.waiting, notices=(*notices, *outcome.notices)))


def _next_turn(agent: Agent, thought: ProposedCommand, now: datetime) -> Turn:
    turn = Turn(
        id=TurnId(new_id(now)),
        agent_id=agent.id,
        channel=agent.channel,
        number=agent.turns + 1,
        proposal=thought.proposal,
        risks=thought.spec.risks,
        source=thought.spec.source,
        always_asks=thought.spec.always_asks,
        needs_two=thought.spec.needs_two,
        finishes=thought.spec.finishes,
        usage=agent.unbilled,
        begun_at=agent.since,
        proposed_at=now,
        exposed=agent.exposed,
        exposures=agent.exposures,
    )
    return turn.marked_for_two(agent.policy_in_force)


def expose_to_recalled(
    agent: Agent, seen: Recall, digest: Digest | None, now: datetime
) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent, exposed if a tainted long-term memory offered memories to the prompt, with notices to post."""
    is_offered = bool(seen.offered or (digest and digest.recalled))
    return expose(agent, "what its memory offered", now) if is_offered and has_tainted_memory(agent) else (agent, ())


def complain(agent: Agent, thought: UnusableAnswer, now: datetime) -> Outcome:
    """Tell the model what was wrong with its reply; pause the agent after three unusable replies in a row.

    People read one sentence, and can open the last reply, of which at most MAX_REPLY_CHARACTERS are kept.
    """
    exposed, notices = _expose_to_plugins(agent, thought, now)
    complaining = replace(exposed, unusable=agent.unusable + 1, complaint=thought.problem)
    if complaining.unusable < MAX_UNUSABLE_REPLIES:
        return _with_folder(thought, Outcome(agent=complaining, notices=notices))
    brief = one_line(thought.brief or thought.problem, MAX_REASON_CHARACTERS)
    why = f"The model answered in the wrong format {MAX_UNUSABLE_REPLIES} times in a row. The last answer: {brief}"
    outcome = pause(replace(complaining, unusable=0), f"{why} Give it a hint, then Resume.", now)
    replies = tuple(replace(notice, reply=thought.reply[:MAX_REPLY_CHARACTERS]) for notice in outcome.notices)
    return _with_folder(thought, replace(outcome, notices=(*notices, *replies)))


def with_recall(outcome: Outcome, seen: Recall, now: datetime) -> Outcome:
    """Add the recall to an outcome: memories to save, and a notice when long-term memory becomes unreachable."""
    agent = outcome.agent
    shown = tuple(one.memory.id for one in seen.offered)
    changed = replace(agent, remembered=max(agent.remembered, seen.upto), recalled=(*agent.recalled, *shown))
    if seen.fresh:
        changed = replace(changed, forgetful=seen.away)
    notices = outcome.notices
    if seen.away and not agent.forgetful:
        text = f"Long-term memory is not available: {seen.away} {agent.name} continues without it and updates it later."
        notices = (*notices, Notice.to(agent, "waiting", text, now))
    return replace(outcome, agent=changed, notices=notices, seen=seen)


def switch_model(agent: Agent, thought: Thought, first: str, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent after a reply, with a notice if the fallback model has taken over or `first` answers again.

    `first`: the label of the operator's first model.
    """
    if not isinstance(thought, ProposedCommand | UnusableAnswer) or thought.answered_by == agent.fallback:
        return agent, ()
    first, second = agent.model or first, thought.answered_by
    text = f"{first} has not answered for a minute, so {second} answers until it does."
    notice = Notice.to(agent, "waiting", text if second else f"{first} answers again.", now)
    return replace(agent, fallback=second), (notice,)


def delay(agent: Agent, thought: Delay, now: datetime) -> Outcome:
    """Let the agent ask the model again later; pause it if the model cannot be reached for an hour."""
    before = agent.status if isinstance(agent.status, Thinking) else Thinking()
    held_since = before.held_since or now
    if now - held_since >= MAX_OUTAGE:
        return pause(agent, f"The model could not be reached for an hour: {thought.why} Resume tries again.", now)
    held_up = Thinking(held_up=thought.why, tries=before.tries + 1, held_since=held_since)
    later = agent.become(held_up, now)
    return Outcome(agent=replace(later, wake_at=now + timedelta(seconds=thought.seconds)))


def move(agent: Agent, turn: Turn, status: AgentStatus, now: datetime) -> Outcome:
    """The outcome that saves a changed turn and gives the agent this status."""
    return Outcome(agent=agent if agent.status == status else agent.become(status, now), changed=turn)


def stop_circling(agent: Agent, turn_context: TurnContext, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """End the lease of an agent that repeats itself, so that people are asked again; return it with notices to post."""
    if not turn_context.circling:
        return agent, ()
    return end_lease(agent, f"it goes round in a circle: {turn_context.circling[:-1]}", now)


def conclude(agent: Agent, turn: Turn, earlier: Sequence[Turn], *, finishes: bool, now: datetime) -> Outcome:
    """Go on after a command ended: count it against the lease, then think again or finish."""
    spent, used_up = _use_lease(agent, turn, now) if turn.started_at else (agent, ())
    spent, exposures = _expose_to_result(spent, turn, now)
    offered = (*_file_notices(agent, turn, now), *exposures)
    if not isinstance(agent.status, Acting):
        return Outcome(agent=spent, changed=turn, notices=offered)
    if finishes and isinstance(turn.result, Succeeded):
        notice = Notice.to(agent, "finished", _end_text(agent, turn.result.output, now), now)
        return Outcome(agent=spent.become(Finished(turn.result.output), now), changed=turn, notices=(*offered, notice))
    ended = [before for before in earlier if before.state == "done" and agent.is_in_run(before.number)]
    why = why_lease_ends([*ended, turn])
    going, notices = end_lease(spent, why, now) if why else (spent, ())
    return Outcome(agent=going.become(Thinking(), now), changed=turn, notices=(*offered, *used_up, *notices))


def _use_lease(agent: Agent, turn: Turn, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent after its lease let one more command run, with a notice if that was the last."""
    lease = agent.lease
    if lease is None or not lease.counts(turn):
        return agent, ()
    if left := lease.spend():
        return replace(agent, lease=left), ()
    text = f"{lease} is used up: {lease.total} of {lease.total} commands ran."
    return replace(agent, lease=None), (Notice.to(agent, "lease ended", text, now),)


def read_before_finishing(before: Agent, outcome: Outcome, turn: Turn, notes: Sequence[Note], now: datetime) -> Outcome:
    """Let an agent that would finish read the notes of members first, unless people approved its end beside them.

    A run that has used what it may ends all the same: the next one reads them.
    """
    if not isinstance(outcome.agent.status, Finished):
        return outcome
    unread = [note for note in notes if note.by.kind == "member" and not _is_under_card(note, turn)]
    going = replace(outcome.agent, schedule=before.schedule).become(Thinking(), now)  # its run is still open
    if not unread or why_run_ends(going):
        return _keep_for_next_run(outcome, notes, now)
    text = f"{outcome.agent.name} reads what {unread[-1].by} wrote before it finishes."
    kept = tuple(notice for notice in outcome.notices if notice.kind != "finished")
    return replace(outcome, agent=going, notices=(*kept, Notice.to(going, "waiting", text, now)))


def _is_under_card(note: Note, turn: Turn) -> bool:
    """Whether the note stood under the turn's card when a person decided on it."""
    decided = turn.approvals[-1] if turn.approvals else None
    if decided is None or (isinstance(decided.decision, Approve) and decided.decision.under):
        return False
    return turn.proposed_at < note.at < decided.at


def wait_for(helpers: Sequence[str], outcome: Outcome, now: datetime) -> Outcome:
    """Let the agent wait until one of these helpers reports or a person writes, for one day at most."""
    agent = outcome.agent
    if not helpers or not isinstance(agent.status, Thinking):
        return outcome
    waiting = agent.become(Thinking(waits_for=tuple(helpers)), now)
    return replace(outcome, agent=replace(waiting, wake_at=now + MAX_WAIT))


def bill(agent: Agent, turn: Turn, spent: Mapping[CallKind, Usage]) -> tuple[Agent, Turn]:
    """Charge the agent for the model calls of its command, and add their usage to the command's turn."""
    if not spent:
        return agent, turn
    paid = replace(agent.pay(spent), unbilled=agent.unbilled)
    return paid, replace(turn, usage=sum(spent.values(), turn.usage))


def pause(agent: Agent, reason: str, now: datetime) -> Outcome:
    """Pause the agent and post the reason in the thread."""
    resting, ended = end_lease(agent, f"{agent.name} paused", now)
    notice = Notice.to(agent, "paused", f"paused: {reason}", now)
    return Outcome(agent=resting.become(Paused(reason), now), notices=(*ended, notice))


def _end_text(agent: Agent, report: str, now: datetime) -> str:
    """That the agent or its run is done, with the first line of its report: the turn's card shows all of it."""
    first = one_line(report.strip().partition("\n")[0], MAX_REASON_CHARACTERS)
    run = agent.schedule.open if agent.schedule else None
    who = f"Run {run.number}" if run else agent.name
    return f"{who} is done: {quoted(first, MAX_REASON_CHARACTERS)}{_next_run(agent, now)}"


def _next_run(agent: Agent, now: datetime) -> str:
    """When the next run begins, if one does."""
    schedule = agent.schedule
    return f" Next run: {schedule.when(schedule.next_at, now)}." if schedule and schedule.next_at else ""


def _keep_for_next_run(outcome: Outcome, notes: Sequence[Note], now: datetime) -> Outcome:
    """Tell people of a schedule whose run has ended that their notes are for the next."""
    schedule, writers = outcome.agent.schedule, dict.fromkeys(str(note.by) for note in notes if note.by.kind != "bot")
    if schedule is None or not writers:
        return outcome
    at = f", {schedule.when(schedule.next_at, now)}" if schedule.next_at else ""
    text = f"What {listed(writers)} wrote is kept for the next run{at}."
    return replace(outcome, notices=(*outcome.notices, Notice.to(outcome.agent, "waiting", text, now)))


def _file_notices(agent: Agent, turn: Turn, now: datetime) -> tuple[Notice, ...]:
    """One notice for each file that the command produced; the file is posted with it."""
    files = turn.result.files if isinstance(turn.result, Succeeded) else ()
    caption = f"{agent.name} · turn {turn.number}"
    return tuple(Notice.to(agent, "file", f"{caption}: {file}", now, file=file) for file in files)


def _expose_to_notes(agent: Agent, turn_context: TurnContext, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent after its notes: what a person forwards, or one who may not decide writes, is untrusted content."""
    for note in turn_context.waiting:
        if note.is_forwarded:
            return expose(agent, f"a message that {note.by} forwarded", now)
        if note.by.kind != "bot" and not may_decide(agent, note.by):
            return expose(agent, f"the words of {note.by}", now)
    return agent, ()


def _expose_to_plugins(
    agent: Agent, thought: ProposedCommand | UnusableAnswer, now: datetime
) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent after a thought: exposed if plugins changed it, or had the folder, whose programs they may change."""
    is_exposed = thought.is_touched or thought.had_folder
    return expose(agent, "a plugin that took part in its thought", now) if is_exposed else (agent, ())


def _with_folder(thought: ProposedCommand | UnusableAnswer, outcome: Outcome) -> Outcome:
    """The outcome of a thought, with the folder tainted if plugins had it."""
    return outcome.taint_folder() if thought.had_folder else outcome


def _expose_to_result(agent: Agent, turn: Turn, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent after a result: untrusted output exposes it."""
    if not is_from_outside(turn.result):
        return agent, ()
    return expose(agent, f"{turn.call.name} (turn {turn.number})", now)


def _approve_or_ask(
    agent: Agent, turn: Turn, turn_context: TurnContext, granters: Granters, now: datetime
) -> Outcome | Denied:
    own = turn_context.own.spend(turn.usage.cost) if agent.head else agent.budget
    verdict = evaluate(replace(agent, budget=own), turn, now, granters, turn_context.turns)
    match verdict:
        case Allowed(by, decision):
            return _run_without_asking(agent, turn.decide(decision, by=by, at=now), now)
        case Asks(ends_lease=why, remark=remark):
            asking, notices = end_lease(agent, why, now) if why else (agent, ())
            return replace(_ask(asking, replace(turn, remark=remark), now), notices=notices)
        case Denied():
            return verdict


def _ask(agent: Agent, turn: Turn, now: datetime) -> Outcome:
    return Outcome(agent=agent.become(Awaiting(), now), made=turn)


def _run_without_asking(agent: Agent, approved: Turn, now: datetime) -> Outcome:
    return Outcome(agent=agent.become(Acting(), now), made=approved)


def run_due(agent: Agent, now: datetime, most_late: timedelta) -> Outcome:
    """A run begins if one is due, or people are told that it is left out or was missed."""
    schedule = agent.schedule
    if schedule is None or not schedule.is_due(now):
        return Outcome(agent=agent)
    if agent.is_archived:  # by the release before, which knows no schedules
        return Outcome(agent=replace(agent, schedule=replace(schedule, next_at=None)))
    if (quiet_until := schedule.quiet_until(now)) > now:
        return Outcome(agent=replace(agent, schedule=replace(schedule, next_at=quiet_until)))
    due, following = schedule.last_due(now), replace(agent, schedule=schedule.from_now(now))
    if now - due > max(most_late, LATE):
        text = f"Nobody ran Signoff when the run of {schedule.when(due, now)} was due, so it is left out."
        return Outcome(agent=following, notices=(Notice.to(agent, "waiting", text, now),))
    if isinstance(agent.status, Finished):
        begun, title = agent.begin_run(due, now)
        title += ", begun late" if now - due > LATE else ""
        return Outcome(agent=begun, notices=(Notice.to(begun, "resumed", title, now),))
    if schedule.is_left_out:
        return Outcome(agent=following)
    text = f"The run of {schedule.when(due, now)} is left out: {_hindrance(agent)} Runs go on when it is finished."
    told = replace(schedule.from_now(now), is_left_out=True)
    return Outcome(agent=replace(agent, schedule=told), notices=(Notice.to(agent, "waiting", text, now),))


def pause_schedule(agent: Agent, now: datetime) -> Outcome:
    """The schedule waits for somebody who may decide, as who set it may not any more."""
    if (schedule := agent.schedule) is None:
        return Outcome(agent=agent)
    text = f"{schedule.by}, who set the schedule, may not decide here any more: it is paused, until !schedule resume."
    paused = replace(agent, schedule=replace(schedule, next_at=None))
    return Outcome(agent=paused, notices=(Notice.to(agent, "waiting", text, now),))


def why_run_ends(agent: Agent) -> str:
    """Which limit of its schedule the open run has reached, once no command of it is open; "" for none."""
    schedule = agent.schedule
    if schedule is None or schedule.open is None or not isinstance(agent.status, Thinking):
        return ""
    if agent.turns - schedule.open.after_turn >= schedule.turns:
        return f"its {counted(schedule.turns, 'turn')}"
    return f"its ${schedule.budget:,.2f}" if schedule.budget is not None and _has_spent(agent) else ""


def why_helper_ends(root: Agent, earlier: Sequence[Turn]) -> str:
    """Why a helper of this agent does no more: the run that it works for has ended, or used its dollars. Else "".

    A helper may take as many turns as the run. `earlier`: the first of so many of its newest turns, if it has them.
    """
    if root.schedule is None or root.schedule.last_at is None:
        return ""
    if root.schedule.open and any(turn.proposed_at >= root.schedule.last_at for turn in earlier):
        return f"It took {counted(root.schedule.turns, 'turn')}, the most for a run of {root.name}."
    is_over = root.schedule.open is None and isinstance(root.status, Finished)
    return f"The run of {root.name} that it worked for has ended." if is_over or _has_spent(root) else ""


def _has_spent(agent: Agent) -> bool:
    """Whether the open run, with its helpers, has spent what it may."""
    schedule = agent.schedule
    if schedule is None or schedule.open is None or schedule.budget is None:
        return False
    return agent.budget.spent - schedule.open.spent >= schedule.budget


def end_run(agent: Agent, why: str, notes: Sequence[Note], now: datetime) -> Outcome:
    """The agent finishes, since the open run has used what it may. `notes`: those that it has not read."""
    number = agent.schedule.runs if agent.schedule else 0
    ended = finish(agent, f"Run {number} of {agent.name} ended: it used {why}.", now, _next_run(agent, now))
    return _keep_for_next_run(ended, notes, now)


def finish(agent: Agent, text: str, now: datetime, more: str = "") -> Outcome:
    """The agent is finished, and the text is posted, with more."""
    notice = Notice.to(agent, "finished", f"{text}{more}", now)
    return Outcome(agent=agent.become(Finished(text), now), notices=(notice,))


def _hindrance(agent: Agent) -> str:
    match agent.status:
        case Stopped(by):
            return f"{by} stopped {agent.name}. Resume lets it go on."
        case Paused():
            return f"{agent.name} is paused. Resume lets it go on."
        case _:
            schedule = agent.schedule
            return f"run {schedule.open.number} is still open." if schedule and schedule.open else "it is at work."
