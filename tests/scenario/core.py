"""The Chat of a surface that only records, over doubles: the story at its fastest."""

from dataclasses import dataclass, field

from adapters.answers import Answer
from adapters.buttons import Button
from adapters.cards import turn_card
from adapters.intents import Filled, Intents
from adapters.subcommands import Wish, granted
from adapters.visible_text import visible
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import TurnId
from agent_core.model.people import Actor
from agent_core.model.seen import Seen
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from tests.wiring import intents_of

VERBS = {"Approve": "approve", "Edit": "edit", "Reject": "reject"}


@dataclass(frozen=True, slots=True)
class CoreCard:
    """A card that was shown on the recording surface."""

    chat: "CoreChat"
    turn: Turn

    @property
    def text(self) -> str:
        """Every word of the card."""
        return str(turn_card(self.chat.agent, self.turn))

    async def press(self, label: str, **filled: str) -> None:
        """Press one of the card's buttons."""
        button = next(each for each in turn_card(self.chat.agent, self.turn).buttons if each.label == label)
        given = Filled(text=filled.get("reason", ""), arguments=filled)
        await self.chat.intents.press(button, given, self.chat.stage.origin(self.chat.person))


@dataclass(slots=True)
class CoreChat:
    """One person on a Stage that runs."""

    stage: Stage
    person: Actor = ANA
    agent: Agent = field(init=False)
    seen: set[TurnId] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)

    @property
    def intents(self) -> Intents:
        """What people press and type."""
        return intents_of(self.stage)

    @property
    def surface(self) -> RecordingSurface:
        """Where cards are shown."""
        return self.stage.shown

    async def new_agent(self, name: str, role: str, *goals: str) -> None:
        """Make the agent."""
        draft = AgentDraft(name=name, role=role, goals=goals)
        self.agent = await self.stage.service.create(draft, self.stage.origin(self.person))

    async def asks(self, command: str) -> CoreCard:
        """Wait for a card that was not looked at."""
        await self.surface.until(lambda _: bool(self._open(command)))
        turn = self._open(command)[0]
        self.seen.add(turn.id)
        return CoreCard(self, turn)

    async def says(self, text: str) -> None:
        """Write in the thread."""
        seen = Seen(hashes=[turn.shown_hash for turn in self.surface.cards.values() if turn.is_open])
        self.answers.append(await self.intents.say(self.agent.id, text, self.stage.origin(self.person), seen))

    async def resume(self) -> None:
        """Press Resume."""
        await self.intents.press(Button("resume", self.agent.id), Filled(), self.stage.origin(self.person))

    async def sees(self, text: str) -> bool:
        """Wait for a text on a card or in a notice."""
        await self.surface.until(lambda _: text in self._thread())
        return True

    async def told(self, text: str) -> bool:
        """Whether an answer said this."""
        return any(text in answer.text for answer in self.answers)

    async def file(self, path: str) -> str:
        """Read a file."""
        return (await self.stage.views.file(self.agent.channel, self.agent.id, path)).decode()

    async def audit(self) -> str:
        """Ask for the log as `/agent audit` does."""
        answer, _ = await granted(self.intents.wishes, Wish("audit", self.agent.name), self.stage.origin(self.person))
        self.answers.append(answer)
        return answer.text

    async def audit_file(self) -> str:
        """The first file of the last answer."""
        return self.answers[-1].files[0].data.decode()

    async def reads_reply(self) -> str:
        """What the notice leads to."""
        notice = next(each for each in self.surface.notices if each.reply)
        _, found = await self.stage.views.reply(self.agent.channel, notice.id)
        return visible(found.reply)

    def _open(self, command: str) -> list[Turn]:
        shown = self.surface.cards.values()
        return [turn for turn in shown if turn.is_open and turn.call.name == command and turn.id not in self.seen]

    def _thread(self) -> str:
        cards = (str(turn_card(self.agent, turn)) for turn in self.surface.cards.values())
        return "\n".join((*cards, *(notice.text for notice in self.surface.notices)))
