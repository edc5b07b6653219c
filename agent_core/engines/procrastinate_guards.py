"""What Procrastinate 3.10 lacks for jobs that must go on whatever fails: each guard names the upstream issue."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

from procrastinate import App, JobContext, utils
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.worker import Worker

from agent_core.ports.clock import Clock

logger = logging.getLogger(__name__)

BEAT_SECONDS, RETRY_SECONDS = 1.0, 0.5
# A worker whose heartbeat stays older than SILENT_SECONDS for TAKEOVER_SECONDS is dead. That is longer than a live one
# needs to beat again after an outage: RETRY_SECONDS and the pool's timeout.
SILENT_SECONDS, TAKEOVER_SECONDS, GAP_SECONDS = 3.0, 5.0, 3.0
POLL_SECONDS = 1.0  # notifications are faster; one may be lost
NEVER_PRUNED_SECONDS = 30 * 24 * 3600.0
MAX_AT_ONCE = 10_000


class GuardedWorker(Worker):
    """A worker that goes on through outages and beats until its last job has ended.

    `late`: how many jobs a drain cancelled. `beaten`: when its heartbeat was last saved (`Clock.elapsed`).
    """

    def __init__(self, app: App, clock: Clock, queues: Sequence[str]) -> None:
        super().__init__(
            app,
            queues=list(queues),  # psycopg sends a tuple as a record
            concurrency=MAX_AT_ONCE,
            fetch_job_polling_interval=POLL_SECONDS,
            abort_job_polling_interval=POLL_SECONDS,
            update_heartbeat_interval=BEAT_SECONDS,
            stalled_worker_timeout=NEVER_PRUNED_SECONDS,
            shutdown_graceful_timeout=0.0,
            delete_jobs="always",
            install_signal_handlers=False,
            listen_notify=False,  # see _start_side_tasks
        )
        self._clock, self.late, self._news, self.beaten = clock, 0, 0, 0.0

    @property
    def running(self) -> dict[int | None, tuple[asyncio.Task[Any], str]]:
        """The jobs that run here, each with its task and its lock."""
        return {each.job.id: (task, str(each.job.lock)) for task, each in self._running_jobs.items()}

    async def _process_job(self, context: JobContext) -> None:
        try:
            await super()._process_job(context)
        except ConnectorException:  # its end was not saved: it was taken over, or becomes a stray
            logger.info("the end of a job was not saved", extra={"agent": context.job.lock})
        finally:
            self._note_news()  # the next job of a lock would wait for the poll

    async def _handle_notification(self, *, channel: str, notification: Any) -> None:
        await super()._handle_notification(channel=channel, notification=notification)
        self._note_news()

    def _note_news(self) -> None:
        self._news += 1
        self._new_job_event.set()

    async def _fetch_and_process_jobs(self) -> None:
        """Fetch, and again if anything happened meanwhile: upstream clears the event after a fetch that missed it."""
        seen = -1
        while seen != self._news and not self._stop_event.is_set():
            seen = self._news
            try:
                await super()._fetch_and_process_jobs()  # type: ignore[no-untyped-call]
            except ConnectorException:
                await self._clock.sleep(RETRY_SECONDS)

    async def _update_heartbeat(self) -> None:
        async def beat() -> None:
            while self.worker_id is not None:
                await self.app.job_manager.update_heartbeat(self.worker_id)
                self.beaten = self._clock.elapsed()
                await self._clock.sleep(BEAT_SECONDS)

        await self._last(beat)  # issue 1463: the first failure ended it

    def _start_side_tasks(self) -> list[asyncio.Task[Any]]:
        async def listen() -> None:
            self._note_news()  # for what came while nobody listened
            await self.app.job_manager.listen_for_jobs(on_notification=self._handle_notification, queues=self.queues)

        return [*super()._start_side_tasks(), asyncio.create_task(self._last(listen), name="listener")]

    async def _shutdown(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        """Beat and hear of aborted jobs until the last one has ended (pull request 1585)."""
        await super()._shutdown([])
        await utils.cancel_and_capture_errors(side_tasks)

    async def _abort_running_jobs(self) -> None:
        self.late = len(self._running_jobs)
        await super()._abort_running_jobs()  # type: ignore[no-untyped-call]

    async def _last(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run the job, and begin it again when a connection fails."""
        while True:
            with suppress(ConnectorException):
                await job()
            await self._clock.sleep(RETRY_SECONDS)


@dataclass(slots=True, kw_only=True)
class Takeover:
    """Ends the jobs of workers that died, and those that an outage left in the wrong state.

    `clock`: tells seconds. `revive`, `lose`: are called with the lock of each job that was ended, and of each that
    another worker ended while it ran here.
    """

    worker: GuardedWorker
    clock: Clock
    revive: Callable[[str], Awaitable[object]]
    lose: Callable[[str], Awaitable[object]]
    _looked: float = -inf  # when, if that did not fail
    _silent_since: dict[int | None, float] = field(default_factory=dict)
    _strays: set[int | None] = field(default_factory=set)
    _lost: set[int | None] = field(default_factory=set)

    async def look(self) -> None:
        """Look once; raise ConnectorException. Call this every BEAT_SECONDS.

        A worker is judged by looks that follow one another while this one's own heartbeat is saved. Otherwise this
        process slept, or the database was away or took no writes: nobody could beat, and the time counts from now.
        """
        worker, now, looked, self._looked = self.worker, self.clock.elapsed(), self._looked, -inf
        stalled = list(await worker.app.job_manager.get_stalled_jobs(seconds_since_heartbeat=SILENT_SECONDS))
        self._looked = now
        since = {} if now - min(looked, worker.beaten) > GAP_SECONDS else self._silent_since
        silent = {each.id: each for each in stalled if each.worker_id != worker.worker_id}  # nobody judges itself
        self._silent_since = {number: since.get(number, now) for number in silent}
        for number, job in silent.items():  # issues 1446 and 1543
            if now - self._silent_since[number] >= TAKEOVER_SECONDS:
                logger.warning("a worker died, its agent is taken over", extra={"agent": job.lock})
                await self._end(job)
        await self._look_at_own()

    async def _look_at_own(self) -> None:
        """Compare the jobs that this worker has with those that run here. What differs twice is mended.

        A job that does not run here is ended: the answer to its fetch or to its end was lost. One that runs here and
        is not this worker's was taken over: its task is cancelled.
        """
        worker = self.worker
        if worker.worker_id is None:
            return
        had = {each.id: each for each in await worker.app.job_manager.list_jobs_async(worker_id=worker.worker_id)}
        here = worker.running
        strays, lost = {*had} - {*here}, {*here} - {*had}
        for number in strays & self._strays:
            logger.warning("a job was lost by an outage, it runs again", extra={"agent": had[number].lock})
            await self._end(had[number])
        for number in lost & self._lost:
            task, lock = here[number]
            task.cancel()
            await self.lose(lock)
        self._strays, self._lost = strays, lost - self._lost

    async def _end(self, job: Job) -> None:
        """End the job; the process that does so, of several, has its agent go on."""
        with suppress(ConnectorException):  # another one was faster
            await self.worker.app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
            await self.revive(str(job.lock))
