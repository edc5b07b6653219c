"""The pages of an agent's files: one file with its versions, downloads, uploads, deleted files to restore."""

from dataclasses import dataclass
from functools import partial
from posixpath import normpath

from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionResetError

from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.file_preview import FilePreview, medium_of, preview_of
from adapters.web.pages.form_pages import NOTHING, FormState, after_saving, thread_page, with_errors_shown
from adapters.web.render import agent_path
from adapters.web.requests import (
    AGENT,
    agent_id_of,
    channel_of,
    download,
    download_headers,
    form_of,
    is_own,
    is_still_admitted,
    redirect_to_parent,
    uploads_of,
)
from agent_core.errors import CommandError, InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry
from agent_core.service.reading.agent_files import FileChange, FileHistory
from agent_core.service.uploads import MAX_UPLOAD_BYTES

MAX_FORM_BYTES = 5 * MAX_UPLOAD_BYTES  # of a form with several files
SOURCE, VERSIONS = "source", "versions"  # the values of `?as=`
MAX_SHOWN_VERSIONS = 20
DELETED = f"{AGENT}/deleted"


@dataclass(frozen=True, slots=True)
class FilePages:
    """One handler for each page. Names and contents of files are untrusted."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [
            web.get(f"{AGENT}/view/{{path:.+}}", self.view),
            web.get(f"{AGENT}/files/{{path:.+}}", self.download),
            web.get(f"{AGENT}/files.zip", self.download_all, allow_head=False),
            web.get(DELETED, self.list_deleted),
        ]

    def post_routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"{AGENT}/add-file", with_errors_shown(self.add, partial(thread_page, self.workspace))),
            web.post(DELETED, with_errors_shown(self.restore, self.list_deleted)),
        ]

    async def view(self, request: web.Request) -> web.StreamResponse:
        """One file: its preview, with `?as=source` its text, with `?as=versions` what became of it turn by turn.

        Of many changes the newest are shown, or those before the turn or note `?before=`.
        """
        channel, path, shown = channel_of(request), request.match_info["path"], request.query.get("as", "")
        agent = await self.workspace.views.agent(channel, agent_id_of(request))
        entry, preview, history = await self._find(agent, path), None, None
        if shown == VERSIONS:
            history = await self.workspace.views.agent_files.history(channel, agent.id, path)
            _require_known(path, entry, history)
        else:
            preview = await self._preview(agent, path, entry, as_source=shown == SOURCE)
        changes, earlier = _page_of(history, request.query.get("before", "")) if history else ((), "")
        return await self.workspace.answer(
            request,
            "file.html",
            channel=channel,
            agent=agent,
            path=path,
            entry=entry,
            preview=preview,
            history=history,
            changes=changes,
            earlier=earlier,
            is_newest=changes[-1:] == (history.changes[-1:] if history else ()),
            shown=shown if shown in (SOURCE, VERSIONS) else "",
        )

    async def download(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        data = await self.workspace.views.file(channel_of(request), agent_id_of(request), path)
        return download(data, path.rpartition("/")[2])

    async def download_all(self, request: web.Request) -> web.StreamResponse:
        """All files as one zip, which is made while it is sent; it breaks off where the session ends."""
        agent, pieces = await self.workspace.views.agent_files.archive(channel_of(request), agent_id_of(request))
        response = web.StreamResponse(headers=download_headers(f"{agent.name}.zip"))
        response.content_type = "application/zip"
        await response.prepare(request)
        try:
            async for piece in pieces:
                if not await is_still_admitted(request):
                    return response
                await response.write(piece)
        except ClientConnectionResetError:
            return response
        await response.write_eof()
        return response

    async def add(self, request: web.Request) -> web.StreamResponse:
        """Put files into the agent's workspace and tell the agent; of those that are refused, say why of each."""
        files, origin = await uploads_of(request, "file", MAX_FORM_BYTES), self.workspace.own(request)
        refused, number = list[str](), 0
        for file in files:
            number += 1
            try:
                await self.workspace.uploads.receive(agent_id_of(request), file.name, file.read(), origin)
            except InvalidInput as error:
                refused += error.problems.values()
            except CommandError as error:
                refused.append(f"{file.name} was not taken: {error}")
        if not number:
            raise InvalidInput({"file": "Choose a file first."})
        if refused:
            raise InvalidInput({"file": " ".join(refused)})
        return redirect_to_parent(request)

    async def list_deleted(self, request: web.Request, asked: FormState = NOTHING, restored: str = "") -> web.Response:
        """The files in the trash, each with a button that restores it. `restored`: the path of one that was."""
        channel = channel_of(request)
        agent = await self.workspace.views.agent(channel, agent_id_of(request))
        return await self.workspace.answer(
            request,
            "deleted.html",
            **asked.values,
            channel=channel,
            agent=agent,
            deleted=await self.workspace.views.list_deleted_files(channel, agent.id),
            can_decide=is_own(channel) and self.workspace.views.may_decide(agent, person_of(request)),
            restored=restored,
        )

    async def restore(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        path = await self.workspace.uploads.restore(agent_id_of(request), form.get("file", ""), origin)
        with after_saving():
            return await self.list_deleted(request, restored=path)

    async def _find(self, agent: Agent, path: str) -> FileEntry | None:
        files = await self.workspace.views.files(agent.channel, agent.id)
        return next((entry for entry in files if entry.path == normpath(path)), None)

    async def _preview(self, agent: Agent, path: str, entry: FileEntry | None, *, as_source: bool) -> FilePreview:
        """The preview of a file; raise CommandError if there is none. Pictures and sound are not read for it."""
        if entry and (medium := medium_of(path)):
            return FilePreview(kind=medium)
        data = await self.workspace.views.file(agent.channel, agent.id, path)
        files = f"{agent_path(agent)}/files/"
        return await preview_of(normpath(path), data, self.workspace.renderer, files=files, as_source=as_source)


def _page_of(history: FileHistory, before: str) -> tuple[tuple[FileChange, ...], str]:
    """The newest changes before the one of an id, or of all if none has it; and the id for older ones, "" if none."""
    ids = [str(change.id) for change in history.changes]
    end = ids.index(before) if before in ids else len(ids)
    start = max(0, end - MAX_SHOWN_VERSIONS)
    return history.changes[start:end], ids[start] if start else ""


def _require_known(path: str, entry: FileEntry | None, history: FileHistory) -> None:
    """Raise CommandError for a file that neither exists nor ever did, as far as is known."""
    if entry is None and not history.changes:
        raise CommandError(f"There is no file {path}, and no turn that changed one of this name.")
