"""A tool server of a protocol with handshake that asks the client's model as often as it is told. JSON-RPC by hand."""

import json
import sys
from typing import Any

NUMBER = {"type": "object", "properties": {"times": {"type": "integer"}, "kind": {"type": "string"}}}
CONTENTS = {"picture": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(number: int, kind: str) -> str:
    """What the client answered."""
    text = "x" * 100_000 if kind == "long" else "Which tea\u202e?\nSay one word."
    content = CONTENTS.get(kind, {"type": "text", "text": text})
    messages = [{"role": "user", "content": content}] * (1_000 if kind == "many" else 1)
    send(id=f"ask {number}", method="sampling/createMessage", params={"messages": messages, "maxTokens": 9_000})
    for line in sys.stdin:
        answer = json.loads(line)
        if answer.get("id") == f"ask {number}" and "method" not in answer:
            return str(answer["result"]["content"]["text"] if "result" in answer else answer["error"]["message"])
    raise SystemExit


def call(arguments: dict[str, Any]) -> str:
    times = arguments.get("times", 1)
    answers: list[str] = []
    while times < 0 or len(answers) < times:
        answers.append(ask(len(answers), arguments.get("kind", "")))
        answers = answers[-10:]
    return " | ".join(answers)


def answer(asked: dict[str, Any]) -> None:
    match asked.get("method"):
        case "initialize":
            facts = {"serverInfo": {"name": "asking", "version": "1"}, "capabilities": {"tools": {}}}
            send(id=asked["id"], result={"protocolVersion": "2025-11-25", **facts})
            sys.stderr.write(f"{json.dumps(asked['params']['capabilities'])}\n")
            sys.stderr.flush()
        case "notifications/initialized":
            if "early" in sys.argv:
                sys.stderr.write(f"early: {ask(0, '')}\n")
                sys.stderr.flush()
        case "tools/list":
            send(id=asked["id"], result={"tools": [{"name": "ask", "inputSchema": NUMBER}]})
        case "tools/call":
            text = call(asked["params"].get("arguments", {}))
            send(id=asked["id"], result={"content": [{"type": "text", "text": text}]})
        case _ if "id" in asked and "method" in asked:
            send(id=asked["id"], error={"code": -32601, "message": "unknown"})
        case _:
            pass


for each in sys.stdin:
    answer(json.loads(each))
