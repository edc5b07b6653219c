"""What a command does as people say it: a verb with its object, an icon, and how many lines change."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adapters.screens.text_fit import cut
from adapters.screens.visible_text import one_line
from agent_core.model.turn import Turn, changed_lines, object_of
from agent_core.text.lines import quoted, unclosing

MAX_OBJECT, MAX_QUOTED = 140, 80  # UTF-16 units
OTHERS_ICON = "plug"  # of commands of plugins and tool servers
# Of Signoff's own commands: an icon of Lucide, and the verb that stands before what the command works on.
VERBS: Mapping[str, tuple[str, str]] = {
    "write_to_file": ("file-pen", "Change"),
    "append_to_file": ("file-pen", "Add to"),
    "read_file": ("file-text", "Read"),
    "list_files": ("folder", "List files in"),
    "search_files": ("search", "Search files for"),
    "delete_file": ("trash-2", "Delete"),
    "google": ("search", "Search the web for"),
    "browse_website": ("globe", "Read"),
    "get_text_summary": ("globe", "Summarise"),
    "get_hyperlinks": ("globe", "List the links of"),
    "download_file": ("download", "Download"),
    "clone_repository": ("git-branch", "Clone"),
    "memory_add": ("brain", "Remember"),
    "memory_recall": ("brain", "Recall"),
    "memory_list": ("brain", "List its memory"),
    "memory_forget": ("brain", "Forget memory"),
    "ingest_file": ("brain", "Remember all of"),
    "read_turn": ("file-text", "Read turn"),
    "start_agent": ("users", "Start helper"),
    "message_agent": ("users", "Message helper"),
    "list_agents": ("users", "List its helpers"),
    "delete_agent": ("trash-2", "Delete helper"),
    "analyze_code": ("code-xml", "Analyse"),
    "improve_code": ("code-xml", "Improve"),
    "write_tests": ("code-xml", "Write tests for"),
    "execute_python_file": ("terminal", "Run"),
    "execute_shell": ("terminal", "Run"),
    "execute_shell_popen": ("terminal", "Start"),
    "list_processes": ("terminal", "List processes"),
    "end_process": ("terminal", "End process"),
    "generate_image": ("image", "Draw"),
    "read_audio_from_file": ("audio-lines", "Transcribe"),
    "speak": ("audio-lines", "Say"),
    "view_image": ("image", "Look at"),
    "send_tweet": ("send", "Post"),
    "do_nothing": ("clock", "Wait"),
    "task_complete": ("flag", "Finish"),
}
PROSE = ("google", "search_files", "memory_add", "memory_recall", "generate_image", "speak", "send_tweet")
NEW_FILE = "file-plus", "Write"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTitle:
    """A command in words. `object`: what it works on; `is_code`: a line of a shell, `is_prose`: words of the model.

    `added`, `removed`: `+5`, `−11`.
    """

    icon: str
    verb: str
    object: str = ""
    is_code: bool = False
    is_prose: bool = False
    added: str = ""
    removed: str = ""

    @property
    def text(self) -> str:
        """The title on one line."""
        return " ".join(filter(None, (self.verb, self.object, self.added, self.removed)))

    @property
    def quoted_text(self) -> str:
        """The title where nothing but quotation marks tells the object, which the model chose, from our words."""
        about = quoted(self.object, MAX_QUOTED) if self.object else ""
        changed = f"({' '.join(filter(None, (self.added, self.removed)))})" if self.added else ""
        return " ".join(filter(None, (self.verb, about, changed)))


def title_of(turn: Turn) -> CardTitle:
    """The title of a turn's card, with how many lines it changes."""
    title, preview = title_of_command(turn.call.name, object_of(turn), is_ours=not turn.source), turn.shown_preview
    if turn.call.name == "write_to_file" and preview and " · new file" in preview.title:
        title = replace(title, icon=NEW_FILE[0], verb=NEW_FILE[1])
    added, _, removed = changed_lines(preview).partition(" ")
    return replace(title, added=added, removed="" if removed == "−0" else removed)


def title_of_command(name: str, about: str, *, is_ours: bool) -> CardTitle:
    """What a command does to what it works on. One that is not Signoff's own keeps its name.

    What could pass for words of Signoff is prose as well: two words are enough.
    """
    others = OTHERS_ICON, f"Run {one_line(name)}"
    icon, verb = VERBS.get(name, others) if is_ours else others
    is_code = name in ("execute_shell", "execute_shell_popen")
    is_told = name not in ("memory_list", "list_agents", "do_nothing", "task_complete")
    about = cut(one_line(about).removeprefix("" if is_code else "https://"), MAX_OBJECT) if is_told else ""
    is_prose = not is_code and (name in PROSE or " " in about.partition(" · ")[0])
    verb, about = verb if about else verb.removesuffix(" in"), unclosing(about) if is_prose else about
    return CardTitle(icon=icon, verb=verb, object=about, is_code=is_code, is_prose=is_prose)
