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
    lines, environment = {"POSTGRES_PASSWORD": "p", **written}, service["environment"]
    own = {
        name: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: lines[found[1]], text) for name, text in environment.items()
    }
    assert service["env_file"] == [{"path": ".env", "required": False}]
    return load({**lines, **own}, None, has_page=service["command"] == "web")


def test_compose_starts_with_a_token_or_with_the_sign_in_of_a_team() -> None:
    web, worker = (COMPOSE["services"][name] for name in ("web", "worker"))
    account = {"OIDC_ISSUER": "https://id.example", "OIDC_CLIENT_ID": "signoff", "OIDC_CLIENT_SECRET": "s"}
    groups = {"OIDC_GROUPS": "team,ops", "OIDC_GROUPS_CLAIM": "roles", "PUBLIC_URL": "https://signoff.example"}
    for service in (web, worker):
        team = settings_in_container(service, **account, **groups)
        assert (team.oidc_issuer, team.oidc_client_id) == ("https://id.example", "signoff")
        assert (team.oidc_client_secret.get_secret_value(), team.oidc_groups) == ("s", ("team", "ops"))
        assert (team.oidc_groups_claim, team.web_token.get_secret_value()) == ("roles", "")
        alone = settings_in_container(service, WEB_TOKEN="a-token-for-the-team")
        assert (alone.oidc_issuer, alone.oidc_groups_claim) == ("", "groups")
    with pytest.raises(SettingsError, match="WEB_TOKEN: must be set, with 16 characters or more, or OIDC_ISSUER"):
        settings_in_container(web)
    assert settings_in_container(worker).host == "0.0.0.0"


@pytest.mark.parametrize("name", ["web", "worker"])
def test_every_setting_of_the_file_reaches_the_containers_except_their_own_places(name: str) -> None:
    written = {"WEB_TOKEN": "a-token-for-the-team", "METRICS_TOKEN": "a-token-for-numbers", "LOG_FORMAT": "json"}
    found = settings_in_container(COMPOSE["services"][name], **written, SMART_MODEL="m", HOST="127.0.0.1", PORT="1")
    assert (found.metrics_token.get_secret_value(), found.log_format) == ("a-token-for-numbers", "json")
    assert (found.smart_model, found.host, found.port) == ("m", "0.0.0.0", 8700)


@pytest.mark.parametrize("file", ["Dockerfile", "requirements.txt"])
def test_what_the_pages_tell_of_is_installed(file: str) -> None:
    (extras,) = re.findall(r"\.\[([a-z0-9,]+)\]", (ROOT / file).read_text())
    assert {"claude", "otel", "postgres", "s3"} <= set(extras.split(","))


def test_the_service_and_commands_beside_it_read_one_data_folder() -> None:
    """The page's own step writes the file of settings, which both are given."""
    page = (ROOT / "docs/how-to/run-on-a-server.md").read_text()
    [step, file] = re.findall(r"^(sed '.*' \.env\.example) > (\S+)", page, re.MULTILINE)[0]
    written = subprocess.run(step, shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = dict(line.split("=", 1) for line in written.splitlines() if line and not line.startswith("#"))
    assert load(lines, None).home == Path("/var/lib/signoff")
    assert f"EnvironmentFile={file}" in UNIT.read_text()
    assert f"-p EnvironmentFile={file} /opt/signoff/bin/signoff" in page
    assert "Environment=" not in UNIT.read_text()


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
