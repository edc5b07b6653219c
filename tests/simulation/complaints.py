"""What went wrong in a run, as people would see it: in the files, the chat, the pages, and what the model was told."""

from collections import Counter

from agent_core.model.agent import Paused
from agent_core.model.decision import Reject
from agent_core.model.ids import AgentId
from tests.simulation.town import Town
from tests.simulation.world import PRICE_PER_TOKEN, REPLY_USAGE


def list_complaints(town: Town) -> list[str]:
    found = [*_of_files(town), *_of_notes(town), *_of_decisions(town), *_of_chat(town), *_of_money(town)]
    paused = ((agent.id, agent.status) for agent in town.chat.agents.values() if isinstance(agent.status, Paused))
    found += [f"{agent_id}: {status.reason}" for agent_id, status in paused if "went wrong" in status.reason]
    found += [f"{turn_id}: people were asked what became of it" for turn_id in town.asked]
    found += town.chat.doings.overlaps
    found += town.database.takers.late if town.webs else []  # without webs, workers save what people do
    return [*found, *town.too_late, *town.pages.outdated]


def _of_files(town: Town) -> list[str]:
    """Whether a command ran twice, or without being allowed."""
    found = []
    ends = Counter(turn.agent_id for turn in town.turns.values() if turn.call.name == "task_complete" and turn.result)
    for agent_id, files in town.workspaces.by_agent.items():
        words = files.contents["a.txt"][0].decode().split() if "a.txt" in files.contents else []
        found += [
            f"{agent_id}: {word} was written {count} times" for word, count in Counter(words).items() if count > 1
        ]
        if (ran := len(words) + ends[agent_id]) > town.allowed[agent_id]:
            found.append(f"{agent_id}: {ran} commands ran, {town.allowed[agent_id]} were allowed")
    return found


def _of_notes(town: Town) -> list[str]:
    """Whether what people wrote was lost, or taken for two notes although it was delivered twice."""
    found = []
    saved = Counter(note.text for note in town.notes)
    for turn in town.turns.values():
        saved.update(each.decision.reason for each in turn.approvals if isinstance(each.decision, Reject))
    for agent_id, note in town.written:
        if not any(note in prompt for prompt in town.model.read.get(agent_id, ())):
            found.append(f"{agent_id}: nobody read {note}")
        if saved[note] > 1:
            found.append(f"{agent_id}: {note} was saved {saved[note]} times")
    return found


def _of_decisions(town: Town) -> list[str]:
    """Whether decisions were lost, or one person's were taken for two."""
    for turn in town.turns.values():
        if turn.needs_two and turn.started_at and len({approval.by.id for approval in turn.approvals}) < 2:
            return [f"{turn.id}: it ran, and one person had approved it"]
    lost = [turn for turn in map(town.turns.__getitem__, town.clicks) if not turn.approvals and not turn.asked_at]
    return [f"{turn.id}: its decision was lost" for turn in lost]


def _of_chat(town: Town) -> list[str]:
    """Whether cards and statuses are wrong for good, and whether a notice was posted twice.

    What a process drew when it was suspended may be wrong, until somebody clicks on it.
    """
    found: list[str] = []
    if town.on_page:
        return found  # the chat was sent nothing
    if "suspended" not in town.ends:
        cards, statuses = town.chat.cards.values(), town.chat.statuses.items()
        found += [f"{card.id}: its card is outdated" for card in cards if card.stage != town.turns[card.id].stage]
        found += [
            f"{agent_id} is shown as {kind}" for agent_id, kind in statuses if not _is_right(town, agent_id, kind)
        ]
        for program in town.processes:
            found += program.surface.left_out
    if {"killed", "suspended"}.isdisjoint(town.ends):
        found += [f"{notice} was posted {count} times" for notice, count in town.chat.posted.items() if count > 1]
    return found


def _is_right(town: Town, agent_id: AgentId, kind: str) -> bool:
    """Whether this status is what it should be at the end. A Stop may take effect after people were told it failed."""
    return kind == "finished" or (town.is_late and kind == town.database.peek(agent_id).status.kind == "stopped")


def _of_money(town: Town) -> list[str]:
    """Whether each reply was charged: by its price, or, if its process ended, by an estimate, which is more."""
    known = town.model.words * (REPLY_USAGE.prompt + REPLY_USAGE.completion) * PRICE_PER_TOKEN
    found = []
    if not town.budget.spent - town.budget.estimated <= known <= town.budget.spent:
        found.append(f"{town.budget} was charged for replies of ${known}")
    if town.charged != town.budget.spent:
        found.append(f"the agents were charged ${town.charged}, their channel ${town.budget.spent}")
    if town.reserved:
        found.append(f"${town.reserved} is still reserved")
    return found
