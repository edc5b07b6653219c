"""A tool server in memory that answers as a test says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent_core.errors import CommandError
from agent_core.model.command import Arguments
from agent_core.ports.tool_servers import (
    AskPeople,
    LocalProgram,
    ServerAnswer,
    ServerEntry,
    ServerResource,
    ServerState,
    ServerTool,
    SourcePrompt,
)
from agent_core.testing.clock import START

TEA_SERVER = ServerEntry(name="tea", reached=LocalProgram(command="tea"), place="the program tea")


@dataclass(slots=True, kw_only=True)
class InMemoryToolServer:
    """Implements `ToolServer`. `answers`: by name of a tool or address of a resource; `asked`: what was called.

    `asks`: what each call asks the model, whose answer is the call's.
    """

    entry: ServerEntry = TEA_SERVER
    tools: Sequence[ServerTool] = ()
    unmatched: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    answers: dict[str, ServerAnswer] = field(default_factory=dict)
    resources: Sequence[ServerResource] = ()
    prompts: Sequence[SourcePrompt] = ()
    instructions: str = ""
    state: ServerState = field(default_factory=lambda: ServerState(condition="connected", since=START))
    asked: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    @property
    def has_resources(self) -> bool:
        return bool(self.resources)

    async def call(
        self,
        tool: str,
        arguments: Arguments,
        report: Callable[[str], None],
        digest: str = "",
        ask_people: AskPeople | None = None,
    ) -> ServerAnswer:
        if digest and digest not in {each.digest for each in self.tools if each.name == tool}:
            raise CommandError(f"{tool!a} changed after this was approved.")
        self.asked.append((tool, dict(arguments)))
        report("1 of 1")
        return self._answer(tool)

    async def look_again(self) -> None:
        """Its list is what it is."""

    async def read(self, uri: str) -> ServerAnswer:
        return self._answer(uri)

    async def list_resources(self) -> Sequence[ServerResource]:
        return self.resources

    async def read_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        self.asked.append((name, dict(arguments)))
        return self._answer(name).text

    def _answer(self, key: str) -> ServerAnswer:
        if key not in self.answers:
            raise CommandError(f"The tool server {self.entry.name} refused this: there is no {key[:100]}")
        return self.answers[key]
