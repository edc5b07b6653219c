"""Taint tracking: which commands and results bring untrusted content, which need approval, what exposes an agent.

Untrusted content may contain instructions (prompt injection). After an agent read some, no lease and no policy covers
execute, publish and the commands of plugins and servers until a person who was informed decides again.

    result from outside ─► agent exposed ─► (writes, runs, spends) ─► folder tainted ─► all that share it exposed
                                └─► messages and reports to helpers and back
"""

from dataclasses import replace
from datetime import datetime

from agent_core.model.agent import Agent
from agent_core.model.command import GUARDED_CLASSES, CommandSpec, Result, RiskClass
from agent_core.model.note import Notice
from agent_core.model.turn import Turn

PROCESSING_CATEGORIES, STORAGE_CATEGORIES = ("code", "shell"), ("files", "memory")
WRITING_CLASSES: frozenset[RiskClass] = frozenset({"write", "delete", "execute", "spend"})


def is_from_outside(result: Result | None) -> bool:
    """Whether the result contains untrusted content."""
    return result is not None and result.outside


def may_return_untrusted(spec: CommandSpec, agent: Agent) -> bool:
    """Whether the command's result may contain untrusted content, from outside, from memory or from the folder."""
    if spec.outside:
        return True
    inherits = spec.category in PROCESSING_CATEGORIES or (
        spec.category in STORAGE_CATEGORIES and spec.risks == ("read",)
    )
    return inherits and (agent.is_tainted or agent.folder_tainted)


def requires_approval(agent: Agent, turn: Turn) -> bool:
    """Whether the turn needs approval even if a lease or the policy covers it: what else may send something out."""
    return agent.exposed and bool(turn.source or GUARDED_CLASSES.intersection(turn.risks))


def may_write_untrusted(spec: CommandSpec, agent: Agent) -> bool:
    """Whether the command may write untrusted content into the agent's folder, as soon as it runs."""
    writes = bool(WRITING_CLASSES.intersection(spec.risks))
    return spec.is_lent_folder or (writes and (agent.is_tainted or may_return_untrusted(spec, agent)))


def assume_exposed(agent: Agent, spec: CommandSpec) -> Agent:
    """The agent after an interrupted command: exposed if the lost result may have been untrusted content."""
    if not may_return_untrusted(spec, agent):
        return agent
    exposed = agent.expose()
    return replace(exposed, folder_tainted=agent.folder_tainted or may_write_untrusted(spec, exposed))


def has_tainted_memory(agent: Agent) -> bool:
    """Whether the agent's long-term memory may contain untrusted content."""
    return agent.is_tainted or agent.folder_tainted


def expose(agent: Agent, how: str, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """The agent after it read untrusted content, and notices for its thread if its lease loses a class.

    `how` completes the sentence "… was given untrusted content by …".
    """
    exposed = agent.expose()
    if agent.lease is None or exposed.lease is None or agent.lease.classes == exposed.lease.classes:
        return exposed, ()
    lost = " and ".join(risk for risk in agent.lease.classes if risk not in exposed.lease.classes)
    text = f"{agent.lease} no longer covers {lost}: {agent.name} was given untrusted content"
    return exposed, (Notice.to(agent, "changed", f"{text} by {how}.", now),)
