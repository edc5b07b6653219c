"""The Chat of a surface that only records, over doubles: the story at its fastest."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from adapters.screens.buttons import Button
from adapters.screens.cards import status_text, turn_card
from adapters.screens.ui_text import free_text
from adapters.screens.visible_text import visible
from adapters.typed.actions import ActionDispatcher, FormInput
from adapters.typed.answers import Answer
from adapters.typed.subcommands import ThreadSubcommand, grant_to_agent
from adapters.typed.typed_text import typed
from agent_core.errors import PersonError
from agent_core.model.agent import Agent
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor
from agent_core.model.question import field_id
from agent_core.model.turn import SeenProposal, Turn
from agent_core.testing.examples import ANA
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from tests.scenario.chat import times_in
from tests.wiring import actions_of


@dataclass(frozen=True, slots=True)
class CoreForm:
    """The form behind a button."""

    chat: "CoreChat"
    button: Button

    async def sends(self, **filled: str) -> None:
        """Do what the button says."""
        arguments = {**filled}
        if self.button.verb == "answer":
            asked = self.chat.surface.cards[TurnId(self.button.subject)].asked
            labels = [each.label for each in asked.question.fields] if asked else []
            arguments = {field_id(labels.index(label)): value for label, value in filled.items()}
        await self.chat.presses(self.button, FormInput(text=filled.get("reason", ""), arguments=arguments))


@dataclass(frozen=True, slots=True)
class CoreLine:
    """A line, and what its writer had seen."""

    chat: "CoreChat"
    text: str
    seen: SeenProposal

    async def arrives(self) -> None:
        """Say it."""
        await self.chat.sends(self.text, self.seen)


@dataclass(frozen=True, slots=True)
class CoreCard:
    """A card that was shown on the recording surface."""

    chat: "CoreChat"
    agent: Agent
    turn: Turn

    @property
    def text(self) -> str:
        """Every word of the card."""
        return card_text(self.agent, self.turn)

    @property
    def command(self) -> str:
        """What it asks to run."""
        return self.turn.call.name

    async def press(self, label: str, **filled: str) -> None:
        """Press one of the card's buttons, or give another number."""
        await CoreForm(self.chat, self._button(label)).sends(**filled)

    async def opens(self, label: str) -> CoreForm:
        """The form of a button."""
        return CoreForm(self.chat, self._button(label))

    async def now(self) -> str:
        """Every word of the card as it was shown last."""
        return card_text(self.agent, self.chat.surface.cards[self.turn.id])

    async def whole(self) -> str:
        """The same: nothing is cut here."""
        return await self.now()

    async def thoughts(self) -> str:
        """The same: nothing is behind a button here."""
        return await self.now()

    def _button(self, label: str) -> Button:
        buttons = {each.label: each for each in turn_card(self.agent, self.turn).buttons}
        return buttons.get(label) or Button("approve", self.turn.id, times_in(label), self.turn.control_hash)


@dataclass(slots=True)
class CoreChat:
    """One person on a Stage that runs."""

    stage: Stage
    person: Actor = ANA
    agent: Agent = field(init=False)
    seen: set[tuple[TurnId, str]] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)
    log: Answer = field(init=False)

    @property
    def actions(self) -> ActionDispatcher:
        """What people press and type."""
        return actions_of(self.stage)

    @property
    def surface(self) -> RecordingSurface:
        """Where cards are shown."""
        return self.stage.shown

    async def new_agent(self, name: str, role: str, *goals: str, free: Sequence[str] = (), dry: bool = False) -> None:
        """Make the agent."""
        policy = Policy(free=tuple(free))  # type: ignore[arg-type]
        draft = AgentDraft(name=name, role=role, goals=goals, policy=policy, dry_run=dry)
        self.agent = await self.stage.service.lifecycle.create(draft, self.stage.origin(self.person))

    async def asks_for_a_form(self, _behind: str) -> str:
        """What every surface asks before it opens a form."""
        try:
            await self.stage.service.lifecycle.load_agent_defaults(self.stage.origin(self.person))
        except PersonError as error:
            return str(error)
        return ""

    async def asks(self, *commands: str) -> CoreCard:
        """Wait for a card that was not looked at."""
        await self.surface.until(lambda _: bool(self._open(commands)))
        turn = self._open(commands)[0]
        self.seen.add((turn.id, turn.control_hash))
        return CoreCard(self, self.surface.agents.get(turn.agent_id, self.agent), turn)

    async def is_asked(self) -> CoreCard:
        """Wait for the card."""
        await self.surface.until(lambda shown: any(turn.open_question for turn in shown.cards.values()))
        turn = next(turn for turn in self.surface.cards.values() if turn.open_question)
        return CoreCard(self, self.surface.agents.get(turn.agent_id, self.agent), turn)

    async def root(self) -> str:
        """Who it is, and what it may do unasked."""
        return f"{self.agent.name}, {self.agent.role}. {free_text(self.agent)}"

    async def says(self, text: str) -> None:
        """Write in the thread."""
        await (await self.writes(text)).arrives()

    async def writes(self, text: str) -> CoreLine:
        """Write with the cards of this moment in sight."""
        shown = [turn.control_hash for turn in self.surface.cards.values() if turn.is_open]
        return CoreLine(self, text, SeenProposal(hashes=shown))

    async def sends(self, text: str, seen: SeenProposal) -> None:
        """Have a line heard."""
        try:
            answer = await self.actions.say(self.agent.id, typed(text), self.stage.origin(self.person), seen)
        except PersonError as error:
            answer = Answer(str(error))
        self.answers.append(answer.text)

    async def presses(self, button: Button, filled: FormInput | None = None) -> None:
        """Press a button; keep why it was refused."""
        try:
            await self.actions.press(button, filled or FormInput(), self.stage.origin(self.person))
        except PersonError as error:
            self.answers.append(str(error))

    async def resume(self) -> None:
        """Press Resume."""
        await self.presses(Button("resume", self.agent.id))

    async def stops(self) -> None:
        """Press Stop."""
        await self.presses(Button("stop", self.agent.id))

    async def sees_status(self, text: str) -> bool:
        """Wait for a status."""
        await self.surface.until(lambda shown: any(text in status_text(agent) for agent in shown.agents.values()))
        return True

    async def sees(self, text: str) -> bool:
        """Wait for a text on a card or in a notice."""
        await self.surface.until(lambda _: text in self._thread())
        return True

    async def told(self, text: str, times: int = 1) -> bool:
        """Whether answers said this."""
        return sum(text in answer for answer in self.answers) >= times

    async def file(self, path: str) -> str:
        """Read a file."""
        return (await self.stage.views.file(self.agent.channel, self.agent.id, path)).decode()

    async def audit(self) -> str:
        """Ask for the log as `/agent audit` does."""
        answer, _ = await grant_to_agent(
            self.actions.management_commands, ThreadSubcommand("audit", self.agent.name), self.stage.origin(self.person)
        )
        self.log = answer
        return answer.text

    async def audit_file(self) -> str:
        """The first file of the last answer."""
        return self.log.files[0].data.decode()

    async def reads_reply(self) -> str:
        """What the notice leads to."""
        notice = next(each for each in self.surface.notices if each.reply)
        _, found = await self.stage.views.reply(self.agent.channel, notice.id)
        return visible(found.reply)

    def _open(self, commands: Sequence[str]) -> list[Turn]:
        shown = self.surface.cards.values()
        fresh = [turn for turn in shown if turn.is_open and (turn.id, turn.control_hash) not in self.seen]
        return [turn for turn in fresh if turn.call.name in commands]

    def _thread(self) -> str:
        cards = (card_text(self.agent, turn) for turn in self.surface.cards.values())
        return "\n".join((*cards, *(notice.text for notice in self.surface.notices)))


def card_text(agent: Agent, turn: Turn) -> str:
    """Everything that a card says, each text as it stands."""
    card = turn_card(agent, turn)
    labelled = (*card.details, *card.changes, *card.arguments)
    previewed = (card.preview.title, card.preview.body) if card.preview else ()
    sign = {"good": "✓", "bad": "✗"}.get(card.tone, "")
    said = (card.headline, f"{sign} {card.standing}", card.says, card.remark, card.edits, card.outcome, card.review)
    apart = (card.model_reasoning, card.lease)
    return "\n".join((*said, *(f"{part.label}: {part.text}" for part in labelled), *previewed, *card.footer, *apart))
