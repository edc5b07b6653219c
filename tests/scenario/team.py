"""The Chat of somebody in Slack: `/agent new`, the buttons of cards, their forms, replies in the thread."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.scenario.chat import times_in
from tests.scenario.slack_app import Office, Running, kind_of, text_of
from tests.standins.slack.forms import labels, widgets
from tests.standins.slack.people import Person
from tests.standins.slack.values import Json


@dataclass(frozen=True, slots=True)
class SlackForm:
    """A form that is open before somebody."""

    chat: "SlackChat"
    view: Json

    async def sends(self, **filled: str) -> None:
        """Fill it in and send it; what stands beside its fields then is kept."""
        values = {"Reason" if label == "reason" else label: value for label, value in filled.items()}
        sent = await self.chat.person.submits(self.view, values)
        assert sent.is_acknowledged, sent
        if sent.body:
            self.chat.answers.append(str(sent.body.get("errors") or text_of(sent.body)))


@dataclass(frozen=True, slots=True)
class SlackLine:
    """A message that Slack has not told of."""

    chat: "SlackChat"
    message: Json

    async def arrives(self) -> None:
        """Slack tells of it."""
        await self.chat.person.tells(self.chat.office.general, self.message)


@dataclass(frozen=True, slots=True)
class SlackCard:
    """A message of the thread."""

    chat: "SlackChat"
    message: Json
    command: str

    @property
    def text(self) -> str:
        """What can be read."""
        return text_of(self.message)

    async def press(self, label: str, **filled: str) -> None:
        """Press a button or choose, and fill in the form that opens."""
        if label in ("Edit", "Reject", "Answer"):
            await (await self.opens(label)).sends(**filled)
        elif label.startswith("Approve ×") and label not in text_of(self.message["blocks"]):
            form = await self._opened("Another number…", "Approve turn")
            await SlackForm(self.chat, form).sends(**{"How many commands": str(times_in(label))})
        else:
            answer = await self.chat.person.clicks(self.message, label)
            if answer.body == "connection_failed":  # the app renews its socket: a person presses again
                await self.chat.office.slack.connected()
                answer = await self.chat.person.clicks(self.message, label)
            assert answer.is_acknowledged, answer

    async def opens(self, label: str) -> SlackForm:
        """Press a button and leave its form open."""
        return SlackForm(self.chat, await self._opened(label, label))

    async def now(self) -> str:
        """What the message says now."""
        return text_of(self.chat.office.general.message(self.message["ts"]))

    async def whole(self) -> str:
        """Every page of Show all, where the card has it; else the card."""
        message = self.chat.office.general.message(self.message["ts"])
        assert message
        if "Show all" not in labels(message["blocks"]):
            return text_of(message)
        await self.chat.person.clicks(message, "Show all", which=0)
        view = await self.chat.office.form(self.chat.person, "")
        await self.chat.person.closes(view)
        return text_of(view)

    async def thoughts(self) -> str:
        """The view that the button opens."""
        await self.chat.person.clicks(self.message, "Thoughts")
        view = await self.chat.office.form(self.chat.person, "")
        await self.chat.person.closes(view)
        return text_of(view)

    async def _opened(self, label: str, title: str) -> Json:
        answer = await self.chat.person.clicks(self.message, label)
        assert answer.is_acknowledged, answer
        return await self.chat.office.form(self.chat.person, title)


@dataclass(slots=True)
class SlackChat:
    """One person in one channel, with one agent."""

    office: Office
    running: Running
    person: Person
    name: str = ""
    seen: set[tuple[str, str]] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)

    async def new_agent(self, name: str, role: str, *goals: str, free: Sequence[str] = (), dry: bool = False) -> None:
        """Type the command and fill in the form."""
        self.name = name
        await self.person.types("/agent", "new", self.office.general)
        form = await self.office.form(self.person, "New agent")
        filled = {"Name": name, "Role": role, "Goals": "\n".join(goals), "Run without asking": list(free)}
        filled["Dry run"] = ["Only simulate what changes or sends something"] if dry else []
        sent = await self.person.submits(form, filled)
        assert sent.is_acknowledged
        assert not sent.body, sent

    async def asks_for_a_form(self, behind: str) -> str:
        """What `/agent new` is answered with; a form that opened for it is a fault."""
        answer = await self.person.types("/agent", f"new {behind}", self.office.general)
        assert answer.is_acknowledged
        assert self.person.view is None
        return text_of(answer.body)

    async def asks(self, *commands: str) -> SlackCard:
        """Wait for an open card that was not looked at."""
        await self.office.slack.until(lambda: self._open(commands) is not None)
        card = self._open(commands)
        assert card
        self.seen.add(_look(card.message))
        return card

    async def is_asked(self) -> SlackCard:
        """Wait for the card."""

        def found() -> Json | None:
            return next((each for each in self.office.cards() if "Answer" in labels(each["blocks"])), None)

        await self.office.slack.until(lambda: found() is not None)
        message = found()
        assert message
        return SlackCard(self, {**message}, "")

    async def root(self) -> str:
        """The message above the thread."""
        return text_of(self._root())

    async def says(self, text: str) -> None:
        """Reply in the thread."""
        await (await self.writes(text)).arrives()

    async def writes(self, text: str) -> SlackLine:
        """Reply in the thread; Slack tells of it later."""
        return SlackLine(self, self.person.writes(self.office.general, text, thread=self._root()["ts"]))

    async def stops(self) -> None:
        """Write it: the card of a running command has the button too."""
        await self.says("!stop")

    async def resume(self) -> None:
        """Press Resume under the notice."""
        notice = await self.office.said("Resume to continue")
        await self.person.clicks(notice, "Resume")

    async def sees_status(self, text: str) -> bool:
        """Wait until the root message says this."""
        return await self.sees(text)

    async def sees(self, text: str) -> bool:
        """Wait until the thread shows this."""
        await self.office.said(text)
        return True

    async def told(self, text: str, times: int = 1) -> bool:
        """Wait until Slack shows this to the person alone, or in a form."""

        def heard() -> int:
            return sum(text in each for each in (*map(text_of, self.person.ephemerals), *self.answers))

        await self.office.slack.until(lambda: heard() >= times)
        return True

    async def file(self, path: str) -> str:
        """Read a file of the workspace."""
        agent = await self.running.agent(self.name)
        return (await self.running.stage.views.file(agent.channel, agent.id, path)).decode()

    async def audit(self) -> str:
        """Type the command, and read what only this person sees."""
        await self.person.types("/agent", f"audit {self.name}", self.office.general)
        return text_of(await self.office.told(self.person, "Decision log of"))

    async def audit_file(self) -> str:
        """The first of the files in the person's direct messages."""
        direct = self.office.team.direct(self.person)
        await self.office.slack.until(lambda: any(message.get("files") for message in direct.messages))
        sent = next(message for message in direct.messages if message.get("files"))
        assert not any(message.get("files") for message in self.office.general.messages)
        return self.office.slack.contents[sent["files"][0]["id"]].decode()

    async def reads_reply(self) -> str:
        """Press the button on the notice."""
        notice = await self.office.said("in the wrong format")
        await self.person.clicks(notice, "Show reply")
        return text_of(await self.office.form(self.person, "The model's reply"))

    def _root(self) -> Json:
        roots = [message for message in self.office.general.messages if kind_of(message) == "signoff_agent"]
        return next((message for message in roots if message["text"].startswith(f"{self.name}:")), roots[0])

    def _open(self, commands: Sequence[str]) -> SlackCard | None:
        for message in self.office.cards():
            command = next((each for each in commands if f"· {each}" in text_of(message)), "")
            if command and "Reject" in labels(message["blocks"]) and _look(message) not in self.seen:
                return SlackCard(self, message, command)
        return None


async def new_clerk(office: Office, running: Running) -> SlackChat:
    """Ana's chat with the Clerk, whom she has just made."""
    chat = SlackChat(office, running, office.ana)
    await chat.new_agent("Clerk", "keeps notes", "Write a report")
    return chat


def _look(message: Json) -> tuple[str, str]:
    """A card with what it would approve."""
    buttons = [widget.element for widget in widgets(message["blocks"]) if widget.kind == "button"]
    approve = next((each for each in buttons if each["action_id"] == "signoff.approve"), buttons[0])
    return message["ts"], str(approve.get("value") or approve["action_id"])
