"""Taint tracking: which results contain untrusted content (pages, search hits, program output made from them).

Whoever wrote that content may have meant it for the agent. It is material to work on: until a person who was told of
it decides again, no lease and no policy covers execute and publish.

    result from outside ─► agent exposed ─► (writes, runs, spends) ─► folder tainted ─► others that read the folder
                                └─► messages and reports to helpers and back
"""

from dataclasses import replace
from datetime import datetime

from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.command import GUARDED_CLASSES, CommandSpec, RiskClass
from agent_core.model.decision import Approve
from agent_core.model.note import Notice
from agent_core.model.result import Result
from agent_core.model.turn import Turn
from agent_core.oversight.policy import is_free, may_decide

WORKING, KEEPING = ("code", "shell"), ("files", "memory")  # categories that work on, and give back, what was kept
LEAVING_TRACES: frozenset[RiskClass] = frozenset({"write", "execute", "spend"})


def is_from_outside(result: Result | None) -> bool:
    """Whether others wrote some of it."""
    return result is not None and result.outside


def brings_in(spec: CommandSpec, agent: Agent) -> bool:
    """Whether the command's result may contain untrusted content: its own, or what memory or folder hold of it."""
    if spec.outside:
        return True
    inherits = spec.category in WORKING or (spec.category in KEEPING and spec.risks == ("read",))
    return inherits and (agent.is_tainted or agent.folder_tainted)


def is_held_back(agent: Agent, risks: tuple[RiskClass, ...]) -> bool:
    """Whether people are asked although a lease or the policy covers these classes."""
    return agent.exposed and bool(GUARDED_CLASSES.intersection(risks))


def runs_unasked(agent: Agent, risks: tuple[RiskClass, ...], owner: Actor | None) -> bool:
    """Whether the policy lets commands of these classes run; `owner`, who chose it, must still have the right to."""
    is_allowed = is_free(agent.policy, risks) and not is_held_back(agent, risks)
    return is_allowed and owner is not None and may_decide(agent, owner)


def leaves_traces(agent: Agent, risks: tuple[RiskClass, ...]) -> bool:
    """Whether a command of these classes may put untrusted content into the agent's folder."""
    return agent.is_tainted and bool(LEAVING_TRACES.intersection(risks))


def takes_in_unseen(agent: Agent, spec: CommandSpec) -> Agent:
    """The agent after a command of which nobody knows how far it came: what it may have brought in is there."""
    if not brings_in(spec, agent):
        return agent
    exposed = agent.expose()
    return replace(exposed, folder_tainted=agent.folder_tainted or leaves_traces(exposed, spec.risks))


def is_still_allowed(agent: Agent, turn: Turn) -> bool:
    """Whether what lets a turn run unasked is still in force; what a person decided stays decided."""
    match turn.approvals[-1].decision:
        case Approve(under="lease", granted_at=granted_at):
            lease = agent.lease
            holds = lease is not None and lease.granted_at == granted_at and lease.covers(turn.risks)
            return holds and not is_held_back(agent, turn.risks)
        case Approve(under="policy"):
            return is_free(agent.policy, turn.risks) and not is_held_back(agent, turn.risks)
        case _:
            return True


def remembers_untrusted(agent: Agent) -> bool:
    """Whether what long-term memory offers may be others' words."""
    return agent.is_tainted or agent.folder_tainted


def expose(agent: Agent, how: str, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent after it was given untrusted content, and what the thread is told where its lease loses a class.

    `how` completes "has been given untrusted content by …".
    """
    exposed = agent.expose()
    if agent.lease is None or exposed.lease is None or agent.lease.classes == exposed.lease.classes:
        return exposed, ()
    lost = " and ".join(risk for risk in agent.lease.classes if risk not in exposed.lease.classes)
    said = f"The approval by {agent.lease.granted_by} no longer covers {lost}: {agent.name} was given untrusted content"
    return exposed, (Notice.to(agent, "changed", f"{said} by {how}.", now),)
