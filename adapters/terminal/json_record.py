"""One line of JSON for each ended turn: the output of `--json`."""

import json
from dataclasses import asdict

from agent_core.model.decision import Reject
from agent_core.model.turn import Turn, text_of

ENDED = ("done", "rejected", "withdrawn")


def turn_as_json(turn: Turn) -> str:
    """The JSON object of a turn, in ASCII only, so that it has no terminal control characters."""
    by = turn.decided_by
    whole = {
        "number": turn.number,
        "command": turn.call.name,
        "arguments": turn.call.arguments,
        "thoughts": asdict(turn.proposal.thoughts),
        "state": turn.state,
        "decided_by": by.display if by else None,
        "result": _result(turn),
        "cost": float(turn.usage.cost),
    }
    return json.dumps(whole, default=str)


def _result(turn: Turn) -> dict[str, str] | None:
    if turn.result:
        return {"kind": turn.result.kind, "text": text_of(turn.result)}
    decision = turn.approvals[-1].decision if turn.approvals else None
    return {"kind": "rejected", "text": decision.reason} if isinstance(decision, Reject) else None
