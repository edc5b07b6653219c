"""What a person does with an agent, whatever the surface: stories are written against this and played on each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent_core.testing.language_model import reply_text


class OpenForm(Protocol):
    """A form that was opened from a card, and is sent later."""

    async def sends(self, **filled: str) -> None:
        """Fill it in and send it."""
        ...


class LateLine(Protocol):
    """A line that was written in the thread, and that Signoff has not heard of yet."""

    async def arrives(self) -> None:
        """Signoff hears of it now."""
        ...


class PressableCard(Protocol):
    """An open proposal as the person sees it."""

    @property
    def text(self) -> str:
        """Everything that can be read on it."""
        ...

    async def press(self, label: str, **filled: str) -> None:
        """Press a button by its label; `filled` is what its form asks for."""
        ...


class ShownCard(PressableCard, Protocol):
    """A card of which the controls stay those that the person saw, whatever becomes of the proposal."""

    @property
    def command(self) -> str:
        """Which of the awaited commands it asks for."""
        ...

    async def opens(self, label: str) -> OpenForm:
        """Press Edit or Reject, and leave its form open."""
        ...

    async def now(self) -> str:
        """Everything that can be read on the card as it is now."""
        ...

    async def whole(self) -> str:
        """What Show all gives of the card as it is now."""
        ...

    async def thoughts(self) -> str:
        """What Thoughts gives, where the card keeps them behind a button; else the card."""
        ...


class DayChat(Protocol):
    """One person at one surface, with one agent: what a working day takes."""

    async def new_agent(self, name: str, role: str, /, *goals: str) -> None:
        """Fill in the form of a new agent."""
        ...

    async def asks(self, command: str, /) -> PressableCard:
        """Wait until the agent asks to run this command, for the first time since the last card."""
        ...

    async def says(self, text: str) -> None:
        """Reply in the thread."""
        ...

    async def resume(self) -> None:
        """Press Resume."""
        ...

    async def sees(self, text: str) -> bool:
        """Wait until the thread shows this."""
        ...

    async def file(self, path: str) -> str:
        """What a file of the agent holds."""
        ...


class Chat(DayChat, Protocol):
    """The same with whatever a story needs besides."""

    async def new_agent(
        self, name: str, role: str, /, *goals: str, free: Sequence[str] = (), dry: bool = False
    ) -> None:
        """Fill in the form of a new agent; commands of the `free` classes are to run without asking."""
        ...

    async def asks(self, *commands: str) -> ShownCard:
        """Wait until the agent asks to run one of these commands, for the first time since the last card."""
        ...

    async def is_asked(self) -> ShownCard:
        """Wait for the card of a running command whose tool server asks people."""
        ...

    async def root(self) -> str:
        """What stands above the thread."""
        ...

    async def sees_status(self, text: str) -> bool:
        """Wait until it can be read, wherever the surface shows what the agent does, that it does this."""
        ...

    async def writes(self, text: str) -> LateLine:
        """Reply in the thread; Signoff hears of it later."""
        ...

    async def stops(self) -> None:
        """Press Stop, whatever the agent does."""
        ...

    async def told(self, text: str, times: int = 1) -> bool:
        """Wait until the person was told this so many times, where nobody else sees it."""
        ...


class MakingChat(Chat, Protocol):
    """A chat in which agents are asked for in another way."""

    async def asks_for_a_form(self, behind: str) -> str:
        """What the person is answered who types `/agent new`, and this behind it, and may not."""
        ...


def times_in(label: str) -> int:
    """The N of `Approve ×N`; 2 where a label names none."""
    return int(label.partition("×")[2] or 2)


def free_fields(classes: Sequence[str]) -> dict[str, str]:
    """The fields of a form in which these classes run without asking."""
    return {f"free.{each}": "on" for each in classes}


class ReadingChat(Chat, Protocol):
    """A chat in which a person looks things up."""

    async def audit(self) -> str:
        """Ask for the agent's decision log, and read what is shown."""
        ...

    async def audit_file(self) -> str:
        """The decision log as JSON lines, as it was handed out; "" where nothing can be."""
        ...

    async def reads_reply(self) -> str:
        """Read the reply of the model that could not be used."""
        ...


def writing(filename: str, text: str) -> str:
    """A reply that proposes to write a file."""
    return reply_text("write_to_file", {"filename": filename, "text": text}, text=f"I write {filename}.")


def adding(filename: str, text: str) -> str:
    """A reply that proposes to append to a file."""
    return reply_text("append_to_file", {"filename": filename, "text": text}, text=f"I add to {filename}.")


@dataclass(frozen=True, slots=True)
class Story:
    """The replies of the model, and what a person does about each of them."""

    replies: tuple[str, ...] = field(
        default=(
            writing("notes.md", "one\n"),
            adding("notes.md", "two\n"),
            adding("notes.md", "three\n"),
            adding("notes.md", "four\n"),
            writing("plan.md", "ask everybody"),
            reply_text("delete_file", {"filename": "notes.md"}, text="I tidy up."),
            reply_text("list_files", {"directory": ""}, text="I look around."),
            reply_text("do_nothing", text="I wait."),
            writing("report.md", "All is well."),
            reply_text("task_complete", {"reason": "The report is written."}, text="I am through."),
        )
    )

    async def play(self, ana: DayChat) -> None:
        """Approve, approve ×3, edit, reject with a reason, reply, stop, resume, approve to the end, read the files."""
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        assert "notes.md" in card.text
        assert "one" in card.text
        await card.press("Approve")
        await (await ana.asks("append_to_file")).press("Approve ×3")
        card = await ana.asks("write_to_file")
        await card.press("Edit", filename="plan.md", text="ask Ben")
        await (await ana.asks("delete_file")).press("Reject", reason="Keep the notes")
        assert await ana.sees("Keep the notes")
        await ana.asks("list_files")
        await ana.says("Don't list them, use what you wrote")
        assert await ana.sees("Don't list them, use what you wrote")
        await (await ana.asks("do_nothing")).press("Stop")
        assert await ana.sees("stopped by")
        await ana.resume()
        await (await ana.asks("write_to_file")).press("Approve")
        await (await ana.asks("task_complete")).press("Approve")
        assert await ana.sees("Clerk is done: “The report is written.”")
        assert await ana.file("notes.md") == "one\ntwo\nthree\nfour\n"
        assert await ana.file("plan.md") == "ask Ben"
        assert await ana.file("report.md") == "All is well."
