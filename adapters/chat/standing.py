"""Standing lines in root messages: what an agent does, its last command, its number of files, and what is shown."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from cachetools import LRUCache

from adapters.chat.status_updates import is_kept_waiting, recorded
from adapters.screens.cards import status_text
from adapters.screens.turn_lines import command_text, line_of
from adapters.screens.ui_text import free_text
from agent_core.errors import CommandError
from agent_core.model.agent import Acting, Agent, Awaiting, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.ports.files import Workspaces
from agent_core.text.lines import counted

WORKING = "working"
MAX_SUBJECT = 80  # UTF-16 units
MAX_REMEMBERED = 1_000  # agents


@dataclass(slots=True)
class StandingLines:
    """The standing lines of agents, and which root messages show theirs already.

    `asked`: the number of each agent's newest turn and what it asks for. After a restart the line lacks it until a card
    is shown again.
    `ended`: the last command of each agent that ended, on one line; also lost by a restart.
    `files`: how many files each workspace has, by its root agent. A workspace is listed only if its count is wanted and
    not known: once, and again after a command that may have changed files or after a person added some here.
    `shown`: the facts that each root message shows.
    """

    workspaces: Workspaces
    asked: LRUCache[AgentId, tuple[int, str]] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))
    ended: LRUCache[AgentId, str] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))
    files: LRUCache[AgentId, int] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))
    shown: LRUCache[AgentId, tuple[str, str, str]] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))

    def remember(self, agent: Agent, turn: Turn) -> None:
        """Remember what the newest turn of this agent asks for, and how it ended if its command ran."""
        if turn.started_at and not turn.only_reads:
            self.forget_files(agent)
        if turn.number < self.asked.get(turn.agent_id, (0, ""))[0]:
            return
        self.asked[turn.agent_id] = (turn.number, command_text(turn, MAX_SUBJECT))
        if turn.state == "done":
            self.ended[turn.agent_id] = line_of(turn).signed_text

    def last_line(self, agent: Agent) -> str:
        """The last command that ended, or "" while the agent works: the line is not edited then."""
        return "" if self.line(agent) == WORKING else self.ended.get(agent.id, "")

    async def files_text(self, agent: Agent) -> str:
        """The number of files in the agent's workspace: "3 files".

        It is "" if there are none, while the agent works, and while the storage cannot be reached.
        """
        if self.line(agent) == WORKING:
            return ""
        if agent.home not in self.files:
            try:
                self.files[agent.home] = len(await self.workspaces.of(agent).list_files())
            except CommandError:
                return ""
        return counted(self.files[agent.home], "file") if self.files[agent.home] else ""

    def line(self, agent: Agent) -> str:
        """What the agent does. Thinking and running are one state here, so that few edits are needed."""
        match agent.status:
            case Awaiting():
                number, asked = self.asked.get(agent.id, (0, ""))
                return f"needs approval · turn {agent.turns}" + (f": {asked}" if number == agent.turns else "")
            case Acting() if not agent.asks:
                return WORKING
            case Thinking() if not is_kept_waiting(agent):
                return WORKING
            case _:
                return status_text(agent)

    def is_shown(self, agent: Agent) -> bool:
        """Whether the root message shows these facts of the agent, as far as this process knows."""
        return bool(self.shown.get(agent.id) == self.facts(agent))

    def facts(self, agent: Agent) -> tuple[str, str, str]:
        """What the root message says of the agent's state: the line, the fallback and the free classes."""
        return self.line(agent), agent.fallback, free_text(agent)

    def showing(self, agent: Agent) -> AbstractContextManager[None]:
        """Record that the with-block edits the root message to the facts of this agent."""
        return recorded(self.shown, agent.id, self.facts(agent))

    def forget_files(self, agent: Agent) -> None:
        """Count the files again at the next change of the root message: a person or a command may have added some."""
        self.files.pop(agent.home, None)

    def forget(self, agent: Agent) -> None:
        """Forget what the root message shows and what is asked: another process has changed them."""
        self.asked.pop(agent.id, None)
        self.ended.pop(agent.id, None)
        self.shown.pop(agent.id, None)
        self.forget_files(agent)
