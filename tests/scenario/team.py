"""The Chat of somebody in Slack: `/agent new`, the buttons of cards, their forms, replies in the thread."""

from dataclasses import dataclass, field

from tests.scenario.office import Office, Running, kind_of, text_of
from tests.standins.slack.people import Person
from tests.standins.slack.values import Json


@dataclass(frozen=True, slots=True)
class SlackCard:
    """A message of the thread."""

    chat: "SlackChat"
    message: Json

    @property
    def text(self) -> str:
        """What can be read."""
        return text_of(self.message)

    async def press(self, label: str, **filled: str) -> None:
        """Press a button or choose, and fill in the form that opens."""
        person = self.chat.person
        answer = await person.clicks(self.message, label)
        assert answer.is_acknowledged, answer
        if label == "Edit":
            sent = await person.submits(await self.chat.office.form(person, "Edit"), filled)
        elif label == "Reject":
            form = await self.chat.office.form(person, "Reject")
            sent = await person.submits(form, {"Reason": filled["reason"]})
        else:
            return
        assert sent.is_acknowledged
        assert not sent.body, sent


@dataclass(slots=True)
class SlackChat:
    """One person in one channel, with one agent."""

    office: Office
    running: Running
    person: Person
    name: str = ""
    seen: set[str] = field(default_factory=set)

    async def new_agent(self, name: str, role: str, *goals: str) -> None:
        """Type the command and fill in the form."""
        self.name = name
        await self.person.types("/agent", "new", self.office.general)
        form = await self.office.form(self.person, "New agent")
        sent = await self.person.submits(form, {"Name": name, "Role": role, "Goals": "\n".join(goals)})
        assert sent.is_acknowledged
        assert not sent.body, sent

    async def asks(self, command: str) -> SlackCard:
        """Wait for an open card that was not looked at."""
        await self.office.slack.until(lambda: self._open(command) is not None)
        card = self._open(command)
        assert card
        self.seen.add(card["ts"])
        return SlackCard(self, card)

    async def says(self, text: str) -> None:
        """Reply in the thread."""
        await self.person.says(self.office.general, text, thread=self._root()["ts"])

    async def resume(self) -> None:
        """Press Resume under the notice."""
        notice = await self.office.said("Resume to let it think anew")
        await self.person.clicks(notice, "Resume")

    async def sees(self, text: str) -> bool:
        """Wait until the thread shows this."""
        await self.office.said(text)
        return True

    async def told(self, text: str) -> bool:
        """Wait until Slack shows this to the person alone."""
        await self.office.told(self.person, text)
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
        notice = await self.office.said("replies could not be used")
        await self.person.clicks(notice, "Show reply")
        return text_of(await self.office.form(self.person, "The model's reply"))

    def _root(self) -> Json:
        return next(message for message in self.office.general.messages if kind_of(message) == "signoff_agent")

    def _open(self, command: str) -> Json | None:
        for card in self.office.cards():
            if f"· {command}" in text_of(card) and "Approve ×N" in text_of(card) and card["ts"] not in self.seen:
                return card
        return None
