"""A tool server that asks people with every kind of field: `order` asks one of its questions, by name.

JSON-RPC by hand: it starts faster than one of the SDK.
"""

import json
import sys
from typing import Any

QUESTIONS: dict[str, dict[str, Any]] = {
    "order": {
        "tea": {"type": "string", "enum": ["green", "black"], "default": "black"},
        "cups": {"type": "integer", "minimum": 1, "maximum": 9},
        "mail": {"type": "string", "format": "email", "title": "Your address", "description": "For @everyone"},
        "milk": {"type": "boolean", "default": False},
    },
    "large": {
        "tea": {"type": "string", "oneOf": [{"const": "g", "title": "Green, mild"}, {"const": "b", "title": "Black"}]},
        "also": {"type": "array", "items": {"type": "string", "enum": ["milk", "sugar", "lemon; or lime"]}},
        "when": {"type": "string", "format": "date", "default": "2026-12-24"},
        "grams": {"type": "number", "default": 2.5},
        "more": {"type": "string", "maxLength": 40},
        "link": {"type": "string", "format": "uri"},
    },
    "sure": {},
}
REQUIRED = {"order": ["tea", "cups", "mail"], "large": ["tea"]}
ORDER = {
    "name": "order",
    "description": "Order tea as people want it.",
    "inputSchema": {"type": "object", "properties": {"question": {"type": "string", "default": "order"}}},
}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(question: str) -> str:
    """What people answered."""
    schema = {"type": "object", "properties": QUESTIONS[question], "required": REQUIRED.get(question, [])}
    params = {"message": "How do you want it?\u200b", "requestedSchema": schema}
    send(id="asked", method="elicitation/create", params=params)
    for line in sys.stdin:
        answer = json.loads(line)
        if answer.get("id") == "asked" and "result" in answer:
            return f"{answer['result']['action']}: {answer['result'].get('content')}"
        if answer.get("method") == "notifications/cancelled":
            return "cancelled"
    raise SystemExit


def answer(asked: dict[str, Any]) -> None:
    match asked.get("method"):
        case "initialize":
            facts = {"serverInfo": {"name": "inquiring", "version": "1"}, "capabilities": {"tools": {}}}
            send(id=asked["id"], result={"protocolVersion": "2025-11-25", **facts})
        case "tools/list":
            send(id=asked["id"], result={"tools": [ORDER]})
        case "tools/call":
            text = ask(asked["params"].get("arguments", {}).get("question", "order"))
            send(id=asked["id"], result={"content": [{"type": "text", "text": text}]})
        case _ if "id" in asked and "method" in asked:
            send(id=asked["id"], error={"code": -32601, "message": "unknown"})
        case _:
            pass


for each in sys.stdin:
    answer(json.loads(each))
