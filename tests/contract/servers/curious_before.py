"""A tool server of a protocol with handshake that asks people in its calls. JSON-RPC by hand.

`pour` asks as often as it is told, a question of this kind: form, url, nested, or early (before any call).
"""

import json
import sys
from typing import Any

TIMES = {"type": "object", "properties": {"times": {"type": "integer"}, "kind": {"type": "string"}}}
TEA = {"type": "object", "properties": {"tea": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["tea"]}
KINDS: dict[str, dict[str, Any]] = {
    "form": {"message": "Which tea?", "requestedSchema": TEA},
    "url": {"mode": "url", "message": "Pay.", "url": "https://pay.example/", "elicitationId": "1"},
    "nested": {
        "message": "All.",
        "requestedSchema": {"type": "object", "properties": {"tea": {"type": "object", "properties": {}}}},
    },
}
later: list[dict[str, Any]] = []


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(number: int, kind: str) -> str:
    """What the client answered."""
    send(id=f"ask {number}", method="elicitation/create", params=KINDS[kind])
    for line in sys.stdin:
        answer = json.loads(line)
        if answer.get("id") == f"ask {number}" and "method" not in answer:
            return json.dumps(answer.get("result") or answer.get("error"))
        later.append(answer)
    raise SystemExit


def answer(asked: dict[str, Any]) -> None:
    match asked.get("method"):
        case "initialize":
            facts = {"serverInfo": {"name": "curious", "version": "1"}, "capabilities": {"tools": {}}}
            send(id=asked["id"], result={"protocolVersion": "2025-11-25", **facts})
        case "notifications/initialized":
            if "early" in sys.argv:
                sys.stderr.write(ask(0, "form"))
        case "tools/list":
            send(id=asked["id"], result={"tools": [{"name": "pour", "inputSchema": TIMES}]})
        case "tools/call":
            given = asked["params"].get("arguments", {})
            answers = [ask(number, given.get("kind", "form")) for number in range(given.get("times", 1))]
            send(id=asked["id"], result={"content": [{"type": "text", "text": " | ".join(answers)}]})
        case _ if "id" in asked and "method" in asked:
            send(id=asked["id"], error={"code": -32601, "message": "unknown"})
        case _:
            pass


for each in sys.stdin:
    later.append(json.loads(each))
    while later:
        answer(later.pop(0))
