"""Where traces and metrics are sent, by the names of OpenTelemetry's SDK in the environment or in `.env`."""

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from agent_core.capabilities.capability import Finding
from agent_core.capabilities.setting_types import without_secrets
from agent_core.errors import SettingsError
from agent_core.text.own_commands import install_text
from bot.settings import otel_names, written_variables

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
EXAMPLE = "http://127.0.0.1:4318"
SIGNALS = ("traces", "metrics")
NUMBERS = ("OTEL_BSP_", "OTEL_METRIC_EXPORT_")
NO_ADDRESS = "must be the address of a collector, which begins with http:// or https://."
ONE_PROTOCOL = "must be http/protobuf, the only protocol that Signoff sends: collectors take it on port 4318."
NO_PAIRS = "must be pairs of name=value with commas between them."


def read_names() -> Mapping[str, str]:
    """The names of OpenTelemetry that have a text. Those of `.env` are put where its SDK reads them."""
    written = {name: text for name, text in written_variables(".env").items() if name.startswith("OTEL_") and text}
    os.environ.update({name: text for name, text in written.items() if name not in os.environ})
    return {name: text.strip() for name, text in os.environ.items() if name.startswith("OTEL_") and text.strip()}


def find_collectors(names: Mapping[str, str]) -> Mapping[str, str]:
    """The address for each signal that is sent; raise SettingsError for what Signoff cannot follow."""
    if names.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return {}
    found = {signal: address for signal in SIGNALS if (address := _address(signal, names))}
    for name, text in names.items() if found else ():
        if name.startswith(NUMBERS) and not re.fullmatch(r"\d+", text):  # the SDK would log a traceback and go on
            raise SettingsError(name, "must be a whole number of milliseconds, or of spans for a size.")
    return found


def telemetry_finding() -> Finding:
    """What the doctor says of what is sent."""
    try:
        found = find_collectors(read_names())
    except SettingsError as fault:
        return Finding(name="telemetry", state="fault", why=fault.fault, variable=fault.variable)
    if not found:
        return Finding(name="telemetry", state="off", why="nothing is sent by OpenTelemetry", variable=ENDPOINT)
    why = ", ".join(f"{signal} to {without_secrets(address)}" for signal, address in found.items())
    if not otel_names():
        why = f"nothing is sent, as its packages are missing: run {install_text('otel')}"
        return Finding(name="telemetry", state="warn", why=why, variable=ENDPOINT)
    return Finding(name="telemetry", state="on", why=why, variable=ENDPOINT)


def _address(signal: str, names: Mapping[str, str]) -> str:
    """The address of a signal, "" if it is not sent."""
    name = signal.upper()
    exporter = names.get(f"OTEL_{name}_EXPORTER", "otlp")
    own, variable = f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT", ENDPOINT
    address = f"{names[ENDPOINT].removesuffix('/')}/v1/{signal}" if ENDPOINT in names else ""
    if own in names:
        variable, address = own, names[own]
    if exporter == "none" or not address:
        return ""
    if exporter != "otlp":
        raise SettingsError(f"OTEL_{name}_EXPORTER", "must be otlp or none.")
    for each in ("OTEL_EXPORTER_OTLP", f"OTEL_EXPORTER_OTLP_{name}"):
        if names.get(f"{each}_PROTOCOL", "http/protobuf") != "http/protobuf":
            raise SettingsError(f"{each}_PROTOCOL", ONE_PROTOCOL)
        if not all("=" in pair for pair in names.get(f"{each}_HEADERS", "=").split(",") if pair.strip()):
            raise SettingsError(f"{each}_HEADERS", NO_PAIRS)  # the SDK would log them, keys and all
    if not _is_address(address):
        raise SettingsError(variable, NO_ADDRESS, EXAMPLE)
    return address


def _is_address(text: str) -> bool:
    try:
        found = urlsplit(text)
    except ValueError:
        return False
    return found.scheme in ("http", "https") and bool(found.hostname)
