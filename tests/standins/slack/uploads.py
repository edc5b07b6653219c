"""Files: what people attach and the app uploads, and where they are downloaded."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.standins.slack.state import Slack
from tests.standins.slack.values import Json


@dataclass(frozen=True, slots=True)
class File:
    """A file to attach."""

    name: str
    content: bytes
    mimetype: str = "text/plain"


Upload: TypeAlias = File | tuple[str, bytes] | tuple[str, bytes, str]


def keep(slack: Slack, upload: Upload, user: str) -> Json:
    """The file as Slack describes it; its content waits for a download."""
    file = upload if isinstance(upload, File) else File(*upload)
    described = describe(slack, slack.new_id("F"), file.name, user) | {"mimetype": file.mimetype}
    described["size"] = len(file.content)
    slack.files[described["id"]] = described
    slack.contents[described["id"]] = file.content
    return described


def keep_all(slack: Slack, uploads: Any, user: str) -> list[Json]:
    """Those given to an input of a form."""
    return [keep(slack, upload, user) for upload in uploads or ()]


def describe(slack: Slack, file_id: str, name: str, user: str) -> Json:
    """A file without its content."""
    extension = name.rpartition(".")[2] if "." in name else "text"
    return {
        "id": file_id,
        "created": 1,
        "name": name,
        "title": name,
        "mimetype": "text/plain",
        "filetype": extension,
        "user": user,
        "mode": "hosted",
        "is_external": False,
        "url_private": f"{slack.base_url}/files-pri/{file_id}/{name}",
        "url_private_download": f"{slack.base_url}/files-pri/{file_id}/download/{name}",
        "permalink": f"{slack.base_url}/files/{user}/{file_id}/{name}",
        "size": 0,
    }
