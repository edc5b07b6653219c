"""Pages of a thread, a channel, a new agent, an answer; an invalid form is shown again with its values and errors."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from adapters.screens.buttons import Button
from adapters.screens.question_form import sent_texts
from adapters.typed.actions import FormInput
from adapters.typed.answers import Answer
from adapters.typed.form_values import FormValues
from adapters.typed.prompt_drafts import left_out_text, list_choices, usable_by_source
from adapters.web.guard import Handler
from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.file_preview import FilePreview, medium_of, preview_of
from adapters.web.render import agent_path
from adapters.web.requests import agent_id_of, channel_of, check_again, is_own, read_form, turn_before
from agent_core.errors import CommandError, CommitUnknown, DatabaseAway, InvalidInput
from agent_core.model.agent import Agent, Finished, Thinking
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, AgentDraft
from agent_core.model.files import FileEntry
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin


@dataclass(frozen=True, slots=True)
class FormState:
    """The values of a form, and an error message for each invalid field."""

    given: FormValues = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def values(self) -> Mapping[str, Any]:
        """The arguments for `WebContext.answer`: this state, its messages, and the HTTP status (422 if invalid)."""
        return {"asked": self, "status": 422 if self.problems else 200, "said": " ".join(self.problems.values())}


NOTHING = FormState()
MAX_READ_BYTES, MAX_REPORT_BYTES = 1_000_000, 6_000  # of the file that the end of a thread shows


def with_errors_shown(act: Handler, page: Callable[[web.Request, FormState], Awaitable[web.Response]]) -> Handler:
    """Wrap a handler: on InvalidInput, show the page again with the typed values and the error messages."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await act(request)
        except InvalidInput as error:
            return await page(request, FormState(read_form(request), error.problems))

    return handle


async def thread_page(
    workspace: WebContext, request: web.Request, asked: FormState = NOTHING, told: Answer | None = None
) -> web.Response:
    """An agent's thread: its newest turns, or those before `?before=`. `told`: an answer for this person alone.

    The turn `?found=`, to which a search leads, is not folded.
    """
    channel, views = channel_of(request), workspace.views
    number = turn_before(request)
    thread = await views.thread(channel, agent_id_of(request), before=number)
    files = await views.files(channel, thread.agent.id)
    response = await workspace.answer(
        request,
        "thread.html",
        **asked.values,
        told=told,
        channel=channel,
        agent=thread.agent,
        thread=thread,
        files=files,
        report=await _report_of(workspace, thread.agent, files) if number is None else None,
        is_own=is_own(channel),
        can_decide=is_own(channel) and views.may_decide(thread.agent, person_of(request)),
        is_newest=number is None,
        found=request.query.get("found", ""),
        is_thinking=isinstance(thread.agent.status, Thinking),
        spec_of=views.spec,
    )
    await workspace.record_showings(request, ((channel, turn) for turn in thread.turns.values()))
    return response


@dataclass(frozen=True, slots=True)
class Report:
    """The file that a finished agent changed last, with its preview."""

    entry: FileEntry
    preview: FilePreview


async def _report_of(workspace: WebContext, agent: Agent, files: Sequence[FileEntry]) -> Report | None:
    """What a finished agent wrote last, if it is a text; of a long one the beginning."""
    entry = max(files, key=lambda each: each.changed_at, default=None)
    if not isinstance(agent.status, Finished) or entry is None or entry.size > MAX_READ_BYTES or medium_of(entry.path):
        return None
    try:
        data = await workspace.views.file(agent.channel, agent.id, entry.path)
    except CommandError:
        return None
    first = data if len(data) <= MAX_REPORT_BYTES else data[:MAX_REPORT_BYTES].rpartition(b"\n")[0]
    preview = await preview_of(entry.path, first, workspace.renderer, files=f"{agent_path(agent)}/files/")
    notes = preview.notes if first is data else ("This is the beginning; the file has more.",)
    return None if preview.kind == "none" else Report(entry, replace(preview, notes=notes))


async def channel_page(
    workspace: WebContext, request: web.Request, asked: FormState = NOTHING, told: str = ""
) -> web.Response:
    """The agents of a channel, or with `?archived` the archived ones, and their common budget.

    `told`: what became of the person's request.
    """
    channel, is_archive = channel_of(request), "archived" in request.query
    budget = await workspace.agent_settings.channel_budget(channel)
    asking = [each for each in await workspace.views.agents(channel) if each.status.kind == "awaiting"]
    return await workspace.answer(
        request,
        "channel.html",
        **asked.values,
        told=told,
        channel=channel,
        budget=budget,
        can_decide=is_own(channel),
        is_archive=is_archive,
        listed=await workspace.views.list_archived(channel) if is_archive else None,
        asked_by={each.agent.id: each.turn for each in await workspace.views.queue.list_waiting(asking)},
    )


async def new_agent_page(
    workspace: WebContext,
    request: web.Request,
    asked: FormState,
    *,
    last: AgentDraft | None = None,
    filled_in: str = "",
) -> web.Response:
    """The form for a new agent, with an error message beside each invalid field. `filled_in`: from what, or ""."""
    await check_again(request)
    choices = await list_choices(workspace.views, channel_of(request))
    return await workspace.answer(
        request,
        "new.html",
        status=asked.values["status"],
        channel=channel_of(request),
        given=asked.given,
        problems=asked.problems,
        defaults={"name": DEFAULT_NAME, "role": DEFAULT_ROLE},
        last=last,
        templates=workspace.templates.every,
        prompts_of=usable_by_source(choices),
        prompts_left_out=left_out_text(choices),
        filled_in=filled_in,
    )


@contextmanager
def after_saving() -> Iterator[None]:
    """Raise CommitUnknown if the database goes away, so that nobody reads that nothing was done."""
    try:
        yield
    except DatabaseAway as away:
        raise CommitUnknown from away


async def send_answer(
    workspace: WebContext, request: web.Request, form: FormValues, button: Button, origin: Origin
) -> web.Response | None:
    """Answer with the form; return the page of a refused form, None if it was sent."""
    agent, turn = await workspace.views.turn(origin.channel, TurnId(button.subject))
    written = sent_texts(turn, form)
    try:
        await workspace.actions.press(button, FormInput(arguments=written), origin)
    except InvalidInput as wrong:
        return await workspace.answer(
            request,
            "answer.html",
            status=422,
            said=" ".join(wrong.problems.values()),
            channel=origin.channel,
            agent=agent,
            turn=turn,
            written=written,
            problems=wrong.problems,
            sends_to=form.get("to", ""),
        )
    return None
