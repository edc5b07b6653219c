"""Runs the typed commands that manage an agent or a channel: goals, model, budget, policy, memory, export, trash."""

import re
import shlex
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from adapters.screens.cards import estimate_text, money
from adapters.screens.decision_log import newest_rows
from adapters.screens.ui_text import ago, first_word, model_text
from adapters.screens.visible_text import readable, visible
from adapters.typed.answers import Answer, Attachment
from adapters.typed.command_lines import ChannelVerb, ThreadVerb, is_about_channel
from adapters.typed.form_values import dollars, model_name
from adapters.typed.notification_commands import NotificationCommands
from adapters.typed.policies import ChannelPolicyCommands, set_policy
from adapters.typed.schedule_commands import ScheduleCommands
from adapters.typed.settings_file import FILENAME, settings_text
from adapters.typed.standing_rules import RuleCommands
from adapters.typed.tool_settings import set_sites, set_tools
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.ids import MemoryId
from agent_core.model.model_calls import Budget, CallKind, Usage
from agent_core.model.origin import Origin
from agent_core.model.records.memory import Memory
from agent_core.service.agent_settings import AgentSettings
from agent_core.service.creating.forking import AgentForks
from agent_core.service.memories import AgentMemories
from agent_core.service.reading.decision_log import LogFilter
from agent_core.service.reading.views import AgentViews
from agent_core.service.uploads import FileUploads
from agent_core.text.lines import counted, one_line
from agent_core.text.own_commands import command_text

MEMORY_FILE = "memory.jsonl"
BRIEF_CHARACTERS, SOURCE_CHARACTERS = 120, 50
NO_LIMIT = ("none", "no limit", "unlimited")
LIST_MARKER = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+")
CALLS: dict[CallKind, str] = {
    "chat": "turns",
    "summary": "summaries",
    "repair": "repairs",
    "review": "self-reviews",
    "answer": "answers to questions",
    "draft": "drafts",
    "function": "commands that ask a model",
    "embedding": "embeddings",
    "image": "images",
    "audio": "audio",
}
HOW_BUDGET = "Budget: write an amount in US dollars such as 5, or none for no limit; channel 20 sets it for all agents."
DEMO_SPENDING = "In demo mode a script leads the agents: nothing is spent. A limit counts once a model is connected."
HOW_AUDIT = "Audit: write audit for this agent's decision log, audit channel for that of all agents here."
FORK = re.compile(r"(?P<real>real(?!\S))?\s*(?:(?P<turn>\d{1,6})(?!\S)(?P<text>.*))?", re.IGNORECASE | re.DOTALL)
HOW_FORK = (
    "Fork: write fork 12, and after the turn's number what the new agent should do differently; fork alone takes the "
    "last turn that ended. Of a dry run, fork real makes an agent that acts."
)
HOW_FILES = "Files: write files deleted to list the trash, files restore NAME to bring a file back."
HOW_MEMORY = "Memory: write search WORDS, add TEXT, forget ID, forget all or export."


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagementCommands:
    """Runs the commands. The services check rights. A mistake such as a wrong amount raises a PersonError."""

    views: AgentViews
    agent_settings: AgentSettings
    memories: AgentMemories
    notifications: NotificationCommands
    channel_policy: ChannelPolicyCommands
    rules: RuleCommands
    schedules: ScheduleCommands
    uploads: FileUploads
    forks: AgentForks

    async def run(self, verb: ThreadVerb, agent: Agent, said: str, origin: Origin) -> Answer:
        """Run a command. `said`: the text after the verb; if it is empty, the answer shows the present state."""
        match verb:
            case "policy" | "schedule" if is_about_channel(verb, said):
                return await self.run_on_channel(verb, said, origin)
            case "goals" | "model" | "budget" | "policy":
                return await self._show_or_set(verb, agent, said.strip(), origin)
            case "rules" | "schedule":
                told = await (self.rules if verb == "rules" else self.schedules).run(agent, said.strip(), origin)
                return _wanted(told)
            case "memory":
                return await self._memory(agent, said.strip(), origin)
            case "export":
                return _wanted(text := settings_text(agent), Attachment(FILENAME, text.encode()))
            case "audit":
                return await self._audit(agent, said.strip(), origin)
            case "fork":
                return await self._fork(agent, said.strip(), origin)
            case _:
                return await self.run_on_channel(verb, said, origin)

    async def run_on_channel(
        self, verb: ChannelVerb | Literal["policy", "schedule"], said: str, origin: Origin
    ) -> Answer:
        """Run a command about the channel, which may have no agent yet. `policy` begins with `channel`."""
        match verb:
            case "schedule":
                return _wanted(await self.schedules.list_all(origin))
            case "policy":
                return _wanted(await self.channel_policy.run(first_word(said)[1].strip(), origin))
            case "sites":
                return _wanted(await set_sites(self.agent_settings, said.strip(), origin))
            case "tools":
                return _wanted(await set_tools(self.agent_settings, self.views, said.strip(), origin))
            case "reminders":
                return _wanted(await self.notifications.reminders(said.strip(), origin))
            case "notify":
                return _wanted(await self.notifications.notify(said.strip(), origin))

    async def run_on_trash(self, agent: Agent, said: str, origin: Origin) -> str:
        """List the deleted files of the agent, or restore one."""
        verb, name = first_word(said)
        match verb:
            case "deleted":
                deleted = await self.views.list_deleted_files(origin.channel, agent.id)
                now = self.views.clock.now()
                lines = (f"{visible(each.path)} · deleted {ago(each.deleted_at, now)}" for each in deleted)
                return "\n".join(lines) or "No deleted files."
            case "restore" if name:
                path = await self.uploads.restore(agent.id, name, origin)
                return f"Restored: {visible(path)}" if path else "Restored."
            case _:
                raise InvalidInput({"files": HOW_FILES})

    async def audit(self, name: str, origin: Origin) -> Answer:
        """The decision log of the agent that has or had this name; for an empty name, that of the channel."""
        return await newest_rows(self.views, origin, LogFilter(agent=name))

    async def _fork(self, agent: Agent, said: str, origin: Origin) -> Answer:
        """Fork the agent: `12`, and what people write to the new one; `real` before it ends a dry run."""
        wanted = FORK.fullmatch(said)
        if wanted is None:
            raise InvalidInput({"fork": HOW_FORK})
        turn, text = int(wanted["turn"]) if wanted["turn"] else None, (wanted["text"] or "").strip()
        fork = await self.forks.fork(agent.id, origin, turn=turn, text=text, for_real=bool(wanted["real"]))
        after = fork.forked.turn if fork.forked else fork.turns
        if fork.channel.surface == "terminal":
            again = command_text(f"solo --name {shlex.quote(fork.name)}")
            return _wanted(f"{fork.name} goes on from turn {after} of {agent.name}: {again}")
        return _wanted(f"{fork.name} goes on from turn {after} of {agent.name}, in a thread of its own.")

    async def _audit(self, agent: Agent, said: str, origin: Origin) -> Answer:
        match said.casefold():
            case "":
                return await newest_rows(self.views, origin, LogFilter(agent_id=agent.id))
            case "channel":
                return await self.audit("", origin)
            case _:
                raise InvalidInput({"audit": HOW_AUDIT})

    async def _show_or_set(
        self, verb: Literal["goals", "model", "budget", "policy"], agent: Agent, said: str, origin: Origin
    ) -> Answer:
        match verb:
            case "goals":
                return await self._goals(agent, said, origin)
            case "model":
                return await self._model(agent, said, origin)
            case "budget":
                return await self._budget(agent, said, origin)
            case "policy":
                return _wanted(await set_policy(self.agent_settings, agent, said, origin))

    async def _goals(self, agent: Agent, said: str, origin: Origin) -> Answer:
        changed = agent
        if said:
            goals = re.sub(r"\Aset\b:?", "", said, count=1, flags=re.IGNORECASE)
            changed = await self.agent_settings.set_goals(agent.id, _each(goals), origin)
        numbered = (f"{number}. {goal}" for number, goal in enumerate(changed.goals, 1))
        return _wanted("\n".join((f"Goals of {changed.name}:", *numbered)))

    async def _model(self, agent: Agent, said: str, origin: Origin) -> Answer:
        changed = agent
        if said:
            changed = await self.agent_settings.set_model(agent.id, model_name(said), origin)
        return _wanted(f"Model of {changed.name}: {model_text(changed) or 'the default'}")

    async def _budget(self, agent: Agent, said: str, origin: Origin) -> Answer:
        word, rest = first_word(said)
        if word == "channel":
            shared = await self._channel_budget(rest, origin)
            return _wanted(_of_channel(shared))
        if said:
            changed = await self.agent_settings.set_budget(agent.id, _limit(said), origin)
            return _wanted(f"{changed.name}: {_spent(changed.budget)}")
        shared = await self.agent_settings.channel_budget(origin.channel)
        kinds = _by_kind(agent, is_demo=self.agent_settings.rehearsal is not None)
        return _wanted("\n".join((f"{agent.name}: {_spent(agent.budget)}", *kinds, _of_channel(shared))))

    async def _channel_budget(self, said: str, origin: Origin) -> Budget:
        if said:
            return await self.agent_settings.set_channel_budget(_limit(said), origin)
        return await self.agent_settings.channel_budget(origin.channel)

    async def _memory(self, agent: Agent, said: str, origin: Origin) -> Answer:
        match first_word(said):
            case (("" | "list"), ""):
                return await self._list(agent)
            case "search", words:
                return await self._search(agent, words, origin)
            case "add", text:
                pieces = await self.memories.add(agent.id, text, origin)
                return _wanted(f"Saved to the memory of {agent.name}{f', in {pieces} pieces' if pieces > 1 else ''}.")
            case "forget", what if what.casefold().split()[:1] == ["all"]:
                return await self._forget(agent, what[3:], origin)
            case "forget", what if what:
                memory = await self.memories.forget(agent.id, MemoryId(what.lower()), origin)
                return _wanted(f"Forgotten: {_brief(memory.text)}")
            case "export", "":
                return await self._export(agent)
            case _:
                raise InvalidInput({"memory": HOW_MEMORY})

    async def _list(self, agent: Agent) -> Answer:
        page = await self.memories.page(agent.channel, agent.id)
        if not page.memories:
            return _wanted(f"{agent.name} has no memories yet.")
        more = page.total - len(page.memories)
        rest = [f"and {more:,} more: search finds them, export gives them all."] if more > 0 else []
        behind = ["Long-term memory is catching up: search may miss the newest."] if page.is_behind else []
        head = f"Memory of {agent.name}: {counted(page.total, 'memory')}, newest first:"
        return _wanted("\n".join((head, *map(self._line, page.memories), *rest, *behind)))

    async def _search(self, agent: Agent, words: str, origin: Origin) -> Answer:
        found = await self.memories.search(agent.id, words, origin)
        said = [found.said] if found.said else []
        lines = [self._line(recalled.memory) for recalled in found.recalled]
        head = f"{agent.name} recalls, best match first:" if lines else f"{agent.name} recalls nothing like this."
        return _wanted("\n".join((*said, head, *lines)))

    async def _forget(self, agent: Agent, name: str, origin: Origin) -> Answer:
        """Forget everything, if the person typed the agent's name to confirm."""
        if " ".join(name.split()).casefold() != agent.name.casefold():
            page = await self.memories.page(agent.channel, agent.id)
            return _wanted(
                f"This deletes all memories of {agent.name} ({page.total:,}) for good. "
                f"To confirm, write: forget all {agent.name}"
            )
        number = await self.memories.forget_all(agent.id, origin)
        return _wanted(f"{agent.name} has forgotten {counted(number, 'memory')}.")

    async def _export(self, agent: Agent) -> Answer:
        text = await self.memories.export(agent.channel, agent.id)
        if not text:
            return _wanted(f"{agent.name} has no memories yet.")
        count = counted(text.count("\n"), "memory")
        said = f"{MEMORY_FILE} has the memory of {agent.name}: {count}, one per line."
        return _wanted(said, Attachment(MEMORY_FILE, text.encode()))

    def _line(self, memory: Memory) -> str:
        when = ago(memory.at, self.views.clock.now())
        return f"• {_brief(memory.text)} · {_brief(memory.source, SOURCE_CHARACTERS)} · {when} · {memory.id}"


def _wanted(text: str, file: Attachment | None = None) -> Answer:
    return Answer(text, is_wanted=True, files=(file,) if file else ())


def _each(said: str) -> tuple[str, ...]:
    """Split the text into goals at semicolons and line ends, and remove list markers."""
    return tuple(LIST_MARKER.sub("", goal).strip() for goal in re.split(r"[;\n]", said))


def _limit(said: str) -> Decimal | None:
    if said.casefold() in NO_LIMIT:
        return None
    limit = dollars(said)
    if limit is None or limit <= 0:
        raise InvalidInput({"budget": HOW_BUDGET})
    return limit


def _spent(budget: Budget) -> str:
    spent, estimate = money(budget.spent), estimate_text(budget)
    said = f"{spent} of {money(budget.limit)} spent" if budget.limit is not None else f"{spent} spent, no limit"
    return f"{said} ({estimate})" if estimate else said


def _of_channel(budget: Budget) -> str:
    return f"All agents in this channel: {_spent(budget)}"


def _by_kind(agent: Agent, *, is_demo: bool) -> list[str]:
    """One line with cost and tokens for each kind of model call, highest cost first; not for those of a script."""
    dearest = sorted(agent.calls.items(), key=lambda call: call[1].cost, reverse=True)
    counting = ((kind, usage) for kind, usage in dearest if usage.cost or not is_demo)
    lines = [f"• {CALLS[kind]}: {money(usage.cost)}, {_tokens_text(usage)}" for kind, usage in counting]
    return [*lines, DEMO_SPENDING] if is_demo else lines


def _tokens_text(usage: Usage) -> str:
    """The tokens of a kind of call in words: those read, how many of them cached, those written, how many reasoning."""
    parts = ((usage.cached, "cached"), (usage.cache_written, "saved to the cache"))
    cache = ", ".join(f"{tokens:,} {what}" for tokens, what in parts if tokens)
    reasoning = f" ({usage.reasoning:,} for reasoning)" if usage.reasoning else ""
    read = f"{counted(usage.prompt, 'token')} read" + (f" ({cache})" if cache else "")
    return f"{read}, {usage.completion:,} written{reasoning}"


def _brief(text: str, most: int = BRIEF_CHARACTERS) -> str:
    return one_line(readable(text), most)
