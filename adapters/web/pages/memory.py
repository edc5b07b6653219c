"""The page of an agent's memory: list, search, add, forget, export."""

from dataclasses import dataclass

from aiohttp import web

from adapters.typed.management_commands import MEMORY_FILE
from adapters.web.guard import Handler
from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import NOTHING, FormState, with_errors_shown
from adapters.web.requests import (
    AGENT,
    FormFile,
    agent_id_of,
    channel_of,
    check_again,
    download,
    form_of,
    is_own,
    redirect_from_form,
    redirect_to,
    redirect_to_parent,
    upload_of,
)
from agent_core.errors import InvalidInput
from agent_core.model.ids import MemoryId
from agent_core.service.memories import AgentMemories, MemorySearchResult
from agent_core.service.uploads import safe_name

MEMORY = f"{AGENT}/memory"
MAX_UPLOAD_BYTES = 500_000


@dataclass(frozen=True, slots=True)
class MemoryPages:
    """One handler for each action. The text of a memory is untrusted."""

    workspace: WebContext

    @property
    def memories(self) -> AgentMemories:
        return self.workspace.memories

    def get_routes(self) -> list[web.RouteDef]:
        return [
            web.get(MEMORY, self.page),
            web.get(f"{MEMORY}/{{form:search|add|file|forget|forget-all}}", redirect_from_form),
            web.get(f"{AGENT}/{MEMORY_FILE}", self.export),
        ]

    def post_routes(self) -> list[web.RouteDef]:
        acts: dict[str, Handler] = {
            "search": self.search,
            "add": self.add,
            "file": self.ingest,
            "forget": self.forget,
            "forget-all": self.forget_all,
        }
        return [web.post(f"{MEMORY}/{name}", with_errors_shown(act, self.page)) for name, act in acts.items()]

    async def export(self, request: web.Request) -> web.StreamResponse:
        text = await self.memories.export(channel_of(request), agent_id_of(request))
        return download(text.encode(), MEMORY_FILE)

    async def search(self, request: web.Request) -> web.StreamResponse:
        """Search by meaning. This is a POST, because it costs an embedding call."""
        form, origin = await form_of(request), self.workspace.own(request)
        found = await self.memories.search(agent_id_of(request), form.get("words", ""), origin)
        await check_again(request)
        return await self.page(request, FormState(form), found)

    async def add(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        pieces = await self.memories.add(agent_id_of(request), form.get("text", ""), origin)
        return _redirect_with(request, f"kept={pieces}")

    async def ingest(self, request: web.Request) -> web.StreamResponse:
        """Remember a text file; long text is stored in pieces."""
        file, origin = await upload_of(request, "file"), self.workspace.own(request)
        text = _text_of(file)
        pieces = await self.memories.ingest(agent_id_of(request), safe_name(file.name if file else ""), text, origin)
        return _redirect_with(request, f"kept={pieces}")

    async def forget(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        await self.memories.forget(agent_id_of(request), MemoryId(form.get("memory", "")), origin)
        return _redirect_with(request, "forgotten=1")

    async def forget_all(self, request: web.Request) -> web.StreamResponse:
        """Forget all memories, if the agent's name was typed to confirm."""
        form, origin = await form_of(request), self.workspace.own(request)
        agent = await self.workspace.views.agent(origin.channel, agent_id_of(request))
        if " ".join(form.get("name", "").split()).casefold() != agent.name.casefold():
            raise InvalidInput({"name": f"To have {agent.name} forget everything, type its name."})
        return _redirect_with(request, f"forgotten={await self.memories.forget_all(agent.id, origin)}")

    async def page(
        self, request: web.Request, asked: FormState = NOTHING, found: MemorySearchResult | None = None
    ) -> web.Response:
        """The page of the newest memories, or of those older than the memory in `?before=`."""
        channel, agent_id = channel_of(request), agent_id_of(request)
        agent, before = await self.workspace.views.agent(channel, agent_id), request.query.get("before", "")
        return await self.workspace.answer(
            request,
            "memory.html",
            **asked.values,
            channel=channel,
            agent=agent,
            kept=await self.memories.page(channel, agent_id, MemoryId(before) if before else None),
            is_newest=not before,
            found=found,
            did={name: _number(request.query.get(name, "")) for name in ("kept", "forgotten")},
            is_own=is_own(channel),
            can_decide=is_own(channel) and self.workspace.views.may_decide(agent, person_of(request)),
            most_kilobytes=MAX_UPLOAD_BYTES // 1000,
        )


def _text_of(file: FormFile | None) -> str:
    if file is None:
        raise InvalidInput({"file": "Choose a text file first."})
    if len(file.data) > MAX_UPLOAD_BYTES:
        raise InvalidInput({"file": f"{file.name} is larger than {MAX_UPLOAD_BYTES // 1000} KB, so it was not read."})
    if not file.text.strip():
        raise InvalidInput({"file": f"{file.name} is empty, so there is nothing to remember."})
    return file.text


def _redirect_with(request: web.Request, what: str) -> web.Response:
    return redirect_to(f"{redirect_to_parent(request).headers['Location']}?{what}")


def _number(text: str) -> int:
    return int(text[:9]) if text.isascii() and text.isdigit() else 0
