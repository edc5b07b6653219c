"""The dashboard, the alert rules and the page on watching name metrics that there are."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from aiohttp import ClientSession, web

from adapters.web.page_context import WebContext
from agent_core.testing.language_model import ScriptedModel
from bot.wiring.metrics import Metrics
from tests.architecture.sources import ROOT
from tests.scenario.served import served

DEPLOY = ROOT / "examples" / "deploy"
NAME = re.compile(r"\bsignoff_[a-z_]+")
MADE_OF_HISTOGRAMS = re.compile(r"_(?:bucket|count|sum)$")


def all_metrics(workspace: WebContext) -> Sequence[web.RouteDef]:
    """A page with every metric, also that of a platform."""
    metrics = Metrics(guard=workspace.guard, page=workspace, heard={"slack": lambda: None})
    return (web.get("/all-metrics", metrics.answer),)


async def names_of_metrics(folder: Path) -> dict[str, str]:
    """The type of each metric, by its name."""
    async with (
        served(ScriptedModel(), folder, pages=all_metrics) as base,
        ClientSession() as session,
        session.get(f"{base}/all-metrics") as answer,
    ):
        text = await answer.text()
    return dict(re.findall(r"^# TYPE (signoff_\w+) (\w+)$", text, re.MULTILINE))


@pytest.mark.proves("watch:dashboard")
async def test_the_dashboard_the_rules_and_the_page_name_only_metrics_that_there_are(tmp_path: Path) -> None:
    known = await names_of_metrics(tmp_path)
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
    rules = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    for expression in asked:
        for name in NAME.findall(expression):
            base = MADE_OF_HISTOGRAMS.sub("", name)
            assert known.get(name) or known.get(base) == "histogram", name
    page = (ROOT / "docs" / "how-to" / "watch-it.md").read_text("utf-8")
    assert set(NAME.findall(page)) == set(known)


async def test_names_and_units_follow_the_conventions_of_prometheus(tmp_path: Path) -> None:
    ends = {"counter": "_total", "histogram": "_seconds"}
    wrong = [name for name, kind in (await names_of_metrics(tmp_path)).items() if not name.endswith(ends.get(kind, ""))]
    assert wrong == []
