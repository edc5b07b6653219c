"""Saves the pictures, sounds and files of a server's answer in the agent's folder, where its classes allow it."""

import hashlib
from collections.abc import Sequence

from agent_core.errors import CommandError
from agent_core.plugins.loaded import one_line
from agent_core.ports.files import Files
from agent_core.ports.tool_servers import AnswerFile, ServerEntry
from agent_core.text.lines import counted

MAX_ATTACHMENTS, NAME_DIGITS = 20, 12
ENDINGS = {
    "image/png": ("png", b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": ("jpg", b"\xff\xd8\xff"),
    "audio/mpeg": ("mp3", b""),
    "audio/wav": ("wav", b"RIFF"),
    "application/pdf": ("pdf", b"%PDF-"),
    "text/plain": ("txt", b""),
}


async def keep_attachments(
    attachments: Sequence[AnswerFile], entry: ServerEntry, files: Files
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A line on each attachment, and the paths of those that were written.

    They are written only for a server with the class `write`, since they are untrusted content in the agent's folder.
    """
    lines, paths = [], []
    for each in attachments[:MAX_ATTACHMENTS]:
        about = f"{one_line(each.media_type, 60) or 'data'}, {counted(len(each.data), 'byte')}"
        if "write" not in entry.classes:
            lines.append(f"(Left out: {about}. The operator's entry has no class write.)")
            continue
        path = f"tools/{entry.name}-{hashlib.sha256(each.data).hexdigest()[:NAME_DIGITS]}.{_ending(each)}"
        try:
            await files.write(path, each.data)
        except CommandError as full:
            lines.append(f"(Not kept: {about}. {full})")
        else:
            lines.append(f"(Kept as {path}: {about}.)")
            paths.append(path)
    if lost := len(attachments) - MAX_ATTACHMENTS:
        lines += [f"({counted(lost, 'more attachment')} left out.)"] if lost > 0 else []
    return tuple(lines), tuple(dict.fromkeys(paths))


def _ending(attachment: AnswerFile) -> str:
    """The ending of the file's name: that of its media type if its first bytes agree."""
    ending, magic = ENDINGS.get(attachment.media_type.lower(), ("bin", b""))
    return ending if attachment.data.startswith(magic) else "bin"
