"""The queue of jobs for Procrastinate's own command line: `python -m procrastinate --app bot.queue.app shell`."""

from bot.bootstrap import queue_app
from bot.settings import load

app = queue_app(load(has_page=False))
