"""The program that runs one plugin of AutoGPT inside the sandbox. Only the standard library; never imported by Signoff.

It speaks on one inherited socket: messages of JSON, each after its length in 4 bytes. Whatever the plugin does to this
process ends at worst this process. stdin, stdout and stderr belong to the plugin and lead nowhere.

    {"do": "load", "agent": [name, role, goals], …} → {"hooks": […], "commands": […], "constraints": […], …}
    {"do": "command", "label": …, "name": …, "arguments": {…}} → {"text": …}
    {"do": "hook", "hook": …, "given": […]} → {"value": …}
    any of them → {"error": …, "missing": the module that is not there}
"""

import asyncio
import dis
import importlib
import importlib.util
import inspect
import json
import os
import site
import socket
import struct
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

MAX_REQUEST_BYTES, MAX_TEXT_CHARACTERS, MAX_LISTED = 8_000_000, 150_000, 200
MAX_LINE_CHARACTERS = 1_000
ARCHIVE, UNPACKED, LIBRARY = "/sealed/plugin.zip", "/tmp/plugin", "/sealed/library"  # noqa: S108 - of the sandbox
HOOKS = (
    "on_planning",
    "post_planning",
    "pre_command",
    "post_command",
    "on_response",
    "pre_instruction",
    "on_instruction",
    "post_instruction",
    "report",
)
RETURNING_STEPS = 2  # of bytecode: a constant, and its return
OWN_PID, LOOP = os.getpid(), asyncio.new_event_loop()


class Prompt:
    """What a plugin is given as AutoGPT's PromptGenerator; it records what the plugin adds."""

    def __init__(self) -> None:
        self.constraints: list[str] = []
        self.commands: list[dict[str, Any]] = []
        self.resources: list[str] = []
        self.performance_evaluation: list[str] = []
        self.goals: list[str] = []
        self.command_registry = types.SimpleNamespace(commands={})
        self.name, self.role = "", "AI"
        self.response_format: dict[str, Any] = {}

    def add_constraint(self, constraint: str) -> None:
        self.constraints.append(constraint)

    def add_resource(self, resource: str) -> None:
        self.resources.append(resource)

    def add_performance_evaluation(self, evaluation: str) -> None:
        self.performance_evaluation.append(evaluation)

    def add_command(
        self, command_label: str, command_name: str, args: Any = None, function: Any = None, *_more: Any, **_named: Any
    ) -> None:
        given = {str(key): str(value) for key, value in (args or {}).items()}
        self.commands.append({"label": command_label, "name": command_name, "args": given, "function": function})

    def generate_prompt_string(self, *_given: Any) -> str:
        return ""


class PluginProcess:
    """One plugin. `prompt`: what its post_prompt added."""

    def __init__(self) -> None:
        self.plugin: Any = None
        self.prompt: Any = Prompt()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "load":
                return self._load(request)
            case "command":
                return {"text": self._command(request)}
            case _:
                return {"value": self._hook(request["hook"], request["given"])}

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        os.environ.update(request["environment"])
        for folder in request["packages"]:
            site.addsitedir(folder)
        sys.path.insert(0, LIBRARY)
        if Path(ARCHIVE).exists():
            with zipfile.ZipFile(ARCHIVE) as archive:
                archive.extractall(UNPACKED)
            sys.path.append(str(Path(UNPACKED, request["root"])))
        Path("auto_gpt_workspace").mkdir(exist_ok=True)
        self.plugin = getattr(imported(request["root"], request["module"]), request["class"])()
        self.prompt.name, self.prompt.role, self.prompt.goals = request["agent"]
        if self._handles("post_prompt"):
            given = finished(self.plugin.post_prompt(self.prompt))
            self.prompt = self.prompt if given is None else given
        return {
            "hooks": [each for each in HOOKS if self._handles(each)],
            "answers": self._decides("chat_completion"),
            "embeds": self._decides("text_embedding"),
            "commands": [described(each) for each in listed(self.prompt, "commands")],
            **{kind: lines(self.prompt, kind) for kind in ("constraints", "resources", "performance_evaluation")},
        }

    def _handles(self, hook: str) -> bool:
        """Whether the plugin says that it handles a hook; older templates have neither method."""
        asked, does = getattr(self.plugin, f"can_handle_{hook}", None), getattr(self.plugin, hook, None)
        return callable(asked) and callable(does) and bool(finished(asked()))

    def _decides(self, hook: str) -> bool:
        """Whether the plugin decides anew each time if it handles a hook: not if it only returns False."""
        own = getattr(type(self.plugin), f"can_handle_{hook}", None)
        if own is None or str(getattr(own, "__module__", "")) == "auto_gpt_plugin_template":
            return False
        steps = [each for each in dis.get_instructions(own) if each.opname not in ("RESUME", "NOP", "CACHE")]
        return not (len(steps) <= RETURNING_STEPS and steps[0].argval in (False, None))

    def _command(self, request: dict[str, Any]) -> str:
        wanted = (request["label"], request["name"])
        for each in listed(self.prompt, "commands"):
            if (str(each["label"]), str(each["name"])) == wanted:
                if not callable(each.get("function")):
                    raise TypeError("the plugin gave no function for it")
                return shown(finished(each["function"](**request["arguments"])))
        raise LookupError("the plugin does not have this command any more")

    def _hook(self, hook: str, given: list[Any]) -> Any:
        match hook:
            case "on_planning":
                return finished(self.plugin.on_planning(self.prompt, *given))
            case "chat_completion":
                if not finished(self.plugin.can_handle_chat_completion(**given[0])):
                    return None
                return finished(self.plugin.handle_chat_completion(**given[0]))
            case "text_embedding":
                return self._vectors(*given)
            case _:
                return finished(getattr(self.plugin, hook)(*given))

    def _vectors(self, texts: list[str]) -> Any:
        """A vector for each text; None as soon as the plugin says that it does not handle one."""
        vectors = []
        for text in texts:
            if not finished(self.plugin.can_handle_text_embedding(text)):
                return None
            vectors.append([float(each) for each in finished(self.plugin.handle_text_embedding(text))])
        return vectors


def finished(value: Any) -> Any:
    """The value, or what an asynchronous function gave."""

    async def wait() -> Any:
        return await value

    return LOOP.run_until_complete(wait()) if inspect.isawaitable(value) else value


def imported(root: str, module: str) -> Any:
    """Import the plugin's module; its top package may have a name that is no name, or that Python itself uses."""
    if not Path(ARCHIVE).exists():
        return importlib.import_module(module)
    top, *rest = module.split("/")
    name = "".join(letter if letter.isalnum() else "_" for letter in top)
    if name in sys.stdlib_module_names or name in sys.modules or Path(LIBRARY, f"{name}.py").exists():
        name = f"plugin_{name}"
    package = top_package(name, Path(UNPACKED, root, top))
    return importlib.import_module(".".join((name, *rest))) if rest else package


def top_package(name: str, path: Path) -> Any:
    """Import a package, a package without `__init__.py`, or the module `path`.py, under this name."""
    main, places = path / "__init__.py", [str(path)]
    if path.is_dir() and not main.is_file():
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = places
        return package
    main, searched = (main, places) if path.is_dir() else (path.with_name(f"{path.name}.py"), None)
    spec = importlib.util.spec_from_file_location(name, main, submodule_search_locations=searched)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python source")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(prompt: Any, kind: str) -> list[Any]:
    found = getattr(prompt, kind, None)
    return list(found)[:MAX_LISTED] if isinstance(found, list | tuple) else []


def lines(prompt: Any, kind: str) -> list[str]:
    return [str(each)[:MAX_LINE_CHARACTERS] for each in listed(prompt, kind)]


def described(command: Any) -> dict[str, Any]:
    label, name, arguments = str(command["label"]), str(command["name"]), command.get("args") or {}
    hints = {str(key)[:MAX_LINE_CHARACTERS]: str(arguments[key])[:MAX_LINE_CHARACTERS] for key in arguments}
    return {"label": label[:MAX_LINE_CHARACTERS], "name": name[:MAX_LINE_CHARACTERS], "arguments": hints}


def shown(value: object) -> str:
    """Any result as text."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    lost = len(text) - MAX_TEXT_CHARACTERS
    return f"{text[:MAX_TEXT_CHARACTERS]}\n({lost:,} more characters are lost.)" if lost > 0 else text


def failure(error: BaseException) -> dict[str, Any]:
    try:
        text = str(error)
    except BaseException:
        text = ""
    missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
    return {"error": f"{type(error).__name__}: {text or 'no text'}"[:MAX_LINE_CHARACTERS], "missing": missing}


def encoded(answer: dict[str, Any]) -> bytes:
    """The message; what is no JSON is left out as text."""
    return json.dumps(answer, default=shown, ensure_ascii=False).encode("utf-8", "replace")


def received(channel: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = channel.recv(min(count - len(data), 65_536))
        if not chunk:
            os._exit(0)
        data += chunk
    return bytes(data)


def hand_over(channel: socket.socket) -> None:
    """Give Signoff the listening socket of this network, and send requests there."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]
    socket.send_fds(channel, [struct.pack(">I", port)], [listener.fileno()])
    listener.close()


def close_streams() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def main(descriptor: int, network: str) -> None:
    """Answer requests until Signoff closes the socket."""
    close_streams()
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    os.register_at_fork(after_in_child=channel.close)
    if network == "gateway":
        hand_over(channel)
    process = PluginProcess()
    while True:
        (length,) = struct.unpack(">I", received(channel, 4))
        if length > MAX_REQUEST_BYTES:
            os._exit(1)
        request = json.loads(received(channel, length))
        try:
            answer = encoded(process.answer(request))
        except BaseException as error:
            answer = encoded(failure(error))
        if os.getpid() != OWN_PID:
            os._exit(0)  # a child that the plugin forked came back here
        channel.sendall(struct.pack(">I", len(answer)) + answer)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
