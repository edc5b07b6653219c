"""LangGraph's part of the overhead bench: agent → approval by `interrupt()` → tool, saved by SqliteSaver on a file.

Run by the interpreter of an environment of its own, so it imports nothing of Signoff's: `python overhead_langgraph.py
FOLDER` reads FOLDER/replies.json and prints its figures as JSON. As in LangGraph's tutorials, the messages are kept in
the state. Its tool has the disk keep a file before it answers, as Signoff's does.
"""

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # type: ignore[import-not-found]
from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]
from langgraph.graph import START, MessagesState, StateGraph  # type: ignore[import-not-found]
from langgraph.types import Command, interrupt  # type: ignore[import-not-found]

THREAD = {"configurable": {"thread_id": "1"}}


def main() -> None:
    folder = Path(sys.argv[1])
    replies = json.loads((folder / "replies.json").read_text("utf-8"))
    connection = sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    graph = build_graph(iter(replies), folder / "files", SqliteSaver(connection))
    seconds = run(graph, len(replies))
    connection.close()
    disk = sum(path.stat().st_size for path in folder.glob("checkpoints.db*"))
    sys.stdout.write(json.dumps({"whole": seconds, "disk": disk, "version": version("langgraph")}))


def run(graph: Any, turns: int) -> list[float]:
    """Approve every proposal but the last; the seconds of each."""
    graph.invoke({"messages": [HumanMessage("Study the market and keep notes in files.")]}, THREAD, durability="sync")
    seconds = []
    for _ in range(turns - 1):
        before = time.perf_counter()
        asked = graph.invoke(Command(resume="approve"), THREAD, durability="sync")
        seconds.append(time.perf_counter() - before)
        if "__interrupt__" not in asked:
            raise RuntimeError("The graph ended without asking.")
    return seconds


def build_graph(replies: Iterator[dict[str, Any]], files: Path, saver: Any) -> Any:
    """The graph, ready to be invoked."""
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent(replies))
    graph.add_node("approval", approval)
    graph.add_node("tools", tools(files))
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "approval")
    graph.add_edge("approval", "tools")
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=saver)


def agent(replies: Iterator[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The node that asks the model, which answers at once."""

    def node(state: dict[str, Any]) -> dict[str, Any]:
        reply = next(replies)
        call = {**reply["command"], "id": f"call-{len(state['messages'])}", "type": "tool_call"}
        return {"messages": [AIMessage(json.dumps(reply["thoughts"]), tool_calls=[call])]}

    return node


def approval(state: dict[str, Any]) -> dict[str, Any]:
    """The node where a person decides."""
    call = state["messages"][-1].tool_calls[0]
    if interrupt({"name": call["name"], "args": call["args"]}) != "approve":
        raise RuntimeError("Nothing but an approval was to come.")
    return {"messages": []}


def tools(files: Path) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The node that runs the command."""
    files.mkdir()

    def node(state: dict[str, Any]) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage(_result(files, call["name"], call["args"]), tool_call_id=call["id"])]}

    return node


def _result(files: Path, name: str, args: dict[str, Any]) -> str:
    match name:
        case "write_to_file" | "append_to_file":
            with (files / args["filename"]).open("w" if name == "write_to_file" else "a", encoding="utf-8") as file:
                file.write(args["text"])
                file.flush()
                os.fsync(file.fileno())
            return f"{len(args['text'])} characters were written to {args['filename']}."
        case "read_file":
            text: str = (files / args["filename"]).read_text("utf-8")
            return text[int(args["start"]) :]
        case _:
            return "\n".join(sorted(path.name for path in files.iterdir()))


if __name__ == "__main__":
    main()
