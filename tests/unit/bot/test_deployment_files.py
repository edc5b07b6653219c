"""The files for Docker, Heroku, Kubernetes and systemd name commands, settings and probes that there are."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_core.errors import SettingsError
from bot.__main__ import SERVING, variables_of_line
from bot.settings import VARIABLES, Settings, load
from bot.wiring.probes import PROBE_PATHS
from tests.packages import need

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
KUBERNETES = list(yaml.safe_load_all((ROOT / "examples/deploy/kubernetes.yaml").read_text()))
UNIT = ROOT / "examples/deploy/signoff.service"
MOST_EXPOSED = "40"  # of 100, by systemd's own measure


def containers() -> dict[str, dict[str, Any]]:
    """The containers of the deployments by their names."""
    found = (each["spec"]["template"]["spec"]["containers"] for each in KUBERNETES if each["kind"] == "Deployment")
    return {container["name"]: container for several in found for container in several}


def test_compose_runs_commands_that_there_are_with_settings_that_are_read() -> None:
    ours = {name: service for name, service in COMPOSE["services"].items() if "command" in service}
    for name, service in ours.items():
        command, *_ = line = service["command"].split()
        assert (command, command in SERVING) == (name, True)
        assert set(service["environment"]) | set(variables_of_line(line)) <= set(VARIABLES)
        assert service["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in COMPOSE["services"]["database"]
    for volume in (mount for service in COMPOSE["services"].values() for mount in service["volumes"]):
        assert volume.partition(":")[0] in COMPOSE["volumes"]


def settings_in_container(service: dict[str, Any], **written: str) -> Settings:
    """The settings that a service reads with these lines in the file `.env` beside compose.yaml."""
    lines = {"POSTGRES_PASSWORD": "p", **written}

    def value_of(name: re.Match[str]) -> str:
        return lines.get(name[1]) or (name[3] if name[2] == "-" else pytest.fail(f"{name[1]} is demanded"))

    given = {
        name: re.sub(r"\$\{(\w+):([-?])([^}]*)\}", value_of, text) for name, text in service["environment"].items()
    }
    return load({"HOST": "0.0.0.0", "SIGNOFF_HOME": "/var/lib/signoff/data", **given}, None)


@pytest.mark.parametrize("name", ["web", "worker"])
def test_compose_starts_with_a_token_or_with_the_sign_in_of_a_team(name: str) -> None:
    service = COMPOSE["services"][name]
    account = {"OIDC_ISSUER": "https://id.example", "OIDC_CLIENT_ID": "signoff", "OIDC_CLIENT_SECRET": "s"}
    groups = {"OIDC_GROUPS": "team,ops", "OIDC_GROUPS_CLAIM": "roles", "PUBLIC_URL": "https://signoff.example"}
    team = settings_in_container(service, **account, **groups)
    assert (team.oidc_issuer, team.oidc_client_id) == ("https://id.example", "signoff")
    assert (team.oidc_client_secret.get_secret_value(), team.oidc_groups) == ("s", ("team", "ops"))
    assert (team.oidc_groups_claim, team.web_token.get_secret_value()) == ("roles", "")
    alone = settings_in_container(service, WEB_TOKEN="a-token-for-the-team")
    assert (alone.oidc_issuer, alone.oidc_groups_claim) == ("", "groups")
    with pytest.raises(SettingsError, match="WEB_TOKEN: must be set, with 16 characters or more, or OIDC_ISSUER"):
        settings_in_container(service)


def test_kubernetes_probes_each_process_where_it_answers() -> None:
    [secret] = (each for each in KUBERNETES if each["kind"] == "Secret")
    assert set(secret["stringData"]) <= set(VARIABLES)
    assert list(containers()) == ["web", "worker"]
    for name, container in containers().items():
        command, *_ = line = container["args"]
        assert (command, command in SERVING) == (name, True)
        assert {each["name"] for each in container.get("env", ())} <= set(VARIABLES)
        [port] = container["ports"]
        asked = variables_of_line(line)
        assert asked in ({}, {"PROBE_PORT": str(port["containerPort"])})
        probes = {key: value["httpGet"] for key, value in container.items() if key.endswith("Probe")}
        assert probes["livenessProbe"]["path"] == "/livez"  # an outage of the database is no reason for a restart
        assert all(probe["path"] in PROBE_PATHS and probe["port"] == port["name"] for probe in probes.values())


def test_heroku_makes_the_processes_of_the_procfile() -> None:
    app = json.loads((ROOT / "app.json").read_text())
    lines = dict(line.split(": ") for line in (ROOT / "Procfile").read_text().splitlines())
    assert set(app["formation"]) == set(lines) - {"release"}
    assert set(app["env"]) <= set(VARIABLES)


def test_the_image_runs_as_nobody_special_and_is_asked_whether_it_lives() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^USER 10001$", text, re.MULTILINE)
    assert "http://127.0.0.1:8700/livez" in text
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    allowed = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert {name for line in copied for name in line.split()} == allowed


def test_the_image_follows_the_rules_of_hadolint() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_the_service_is_written_well_and_confined() -> None:
    need("systemd")
    verified = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True, check=False)
    told = [line for line in verified.stderr.splitlines() if "is not executable" not in line]  # /opt/signoff
    assert told == []
    measured: list[str | Path] = ["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", UNIT]
    assert subprocess.run(measured, capture_output=True, check=False).returncode == 0
    assert "RestartPreventExitStatus=2" in UNIT.read_text()
