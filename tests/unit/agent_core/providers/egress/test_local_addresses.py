"""Which addresses are this machine's own, and which networks it is attached to."""

import json
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from agent_core.model.channel_settings import Sites
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.local_addresses import (
    LocalAddresses,
    read_interfaces,
    read_local_addresses,
    read_proc_net,
)
from tests.packages import need

TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
        /0 link UNICAST
     |-- 198.51.100.0
        /26 link UNICAST
     |-- 192.0.2.0
        /24 universe UNICAST
Local:
  +-- 0.0.0.0/0 3 0 5
     |-- 198.51.100.7
        /32 host LOCAL
     |-- 203.0.113.0
        /28 host LOCAL
     |-- 198.51.100.63
        /32 link BROADCAST
"""
ROUTE = """\
Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 00000000 016433C6 0003 0 0 0 00000000 0 0 0
wg0 00000000 00000000 0001 0 0 0 00000080 0 0 0
wg0 0000160B 00000000 0001 0 0 0 0000FFFF 0 0 0
eth0 00002C0B 016433C6 0003 0 0 0 0000FFFF 0 0 0
* 0000370B 00000000 0201 0 0 0 0000FFFF 0 0 0
"""
NONE = "0" * 32
ROUTE6 = f"""\
26062800022000000000000000000000 30 {NONE} 00 {NONE} 00000100 00000001 00000000 00000001 eth0
{NONE} 00 {NONE} 00 fe800000000000000000000000000001 00000400 00000002 00000000 00000003 eth0
{NONE} 00 {NONE} 00 {NONE} 00000400 00000002 00000000 00000001 tun0
26062800022000010000000000000007 80 {NONE} 00 {NONE} 00000000 00000003 00000000 80200001 eth0
2a000000000000000000000000000000 20 {NONE} 00 {NONE} 00000000 00000003 00000000 00200200 lo
"""


def proc(folder: Path, **files: str) -> LocalAddresses:
    for name, text in files.items():
        (folder / name).write_text(text)
    return read_proc_net(folder)


@pytest.mark.skipif(sys.byteorder != "little", reason="the sample of /proc/net/route is of a little-endian machine")
def test_routes_without_a_gateway_are_attached_and_local_ones_are_own(tmp_path: Path) -> None:
    told = proc(tmp_path, fib_trie=TRIE, route=ROUTE, ipv6_route=ROUTE6)
    assert told.own == {*map(ip_network, ("198.51.100.7/32", "203.0.113.0/28", "2606:2800:220:1::7/128"))}
    assert told.attached - told.own == {*map(ip_network, ("198.51.100.0/26", "11.22.0.0/16", "2606:2800:220::/48"))}


def test_a_machine_without_these_files_has_its_interfaces(tmp_path: Path) -> None:
    assert proc(tmp_path) == LocalAddresses()
    told = read_interfaces()
    assert told.describe(ip_address("127.0.0.1")) == "is an address of this machine"
    assert read_local_addresses().own >= told.own


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("198.51.100.7", "is an address of this machine"),
        ("198.51.100.8", "lies in a network that this machine is attached to"),
        ("198.51.100.64", ""),
        ("8.8.8.8", ""),
        ("2606:2800:220:1::7", "is an address of this machine"),
        ("2606:2800:220:9::1", "lies in a network that this machine is attached to"),
        ("2606:2800:221::1", ""),
    ],
)
def test_an_address_is_told_from_the_open_internet(tmp_path: Path, address: str, said: str) -> None:
    told = proc(tmp_path, fib_trie=TRIE, route="", ipv6_route=ROUTE6)
    assert told.describe(ip_address(address)) == said


@pytest.mark.parametrize("allowed", ["93.184.216.34", "93.184.216.0/24", "own.example.org"])
async def test_an_operator_can_open_an_address_of_this_machine(allowed: str) -> None:
    async def resolve(_host: str) -> list[str]:
        return ["93.184.216.34"]

    own = LocalAddresses(own=frozenset({ip_network("93.184.216.34/32")}))
    door = EgressGateway(internal=InternalHosts.of([allowed]), resolve=resolve, local_addresses=lambda: own)
    way = await door.admit("http://own.example.org/", Sites())
    assert str(way.addresses[0]) == "93.184.216.34"


async def test_addresses_are_read_at_every_check() -> None:
    answers = [LocalAddresses(), LocalAddresses(own=frozenset({ip_network("93.184.216.34/32")}))]
    door = EgressGateway(local_addresses=lambda: answers.pop(0))
    await door.admit("http://93.184.216.34/", Sites())
    with pytest.raises(Exception, match=r"93\.184\.216\.34 is an address of this machine\. Agents reach"):
        await door.admit("http://93.184.216.34/", Sites())


INSIDE = """
import asyncio, json
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.values import FetchLimits

async def tried(url):
    try:
        return (await EgressGateway().fetch(url, Sites(), FetchLimits(max_bytes=100))).data.decode()
    except CommandError as refusal:
        return str(refusal)

async def console(_reader, writer):
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\n\\r\\nsecret")
    writer.close()

async def main():
    async with await asyncio.start_server(console, "93.184.216.34", 8080):
        urls = ("93.184.216.34", "93.184.216.35", "11.22.33.44", "[2606:2800:220:1::7]")
        print(json.dumps([await tried(f"http://{host}:8080/") for host in urls]))

asyncio.run(main())
"""
NETWORK = (
    "ip link set lo up",
    "ip address add 93.184.216.34/26 dev lo",
    "ip address add 2606:2800:220:1::7/64 dev lo nodad",
    "ip route add 11.22.0.0/16 dev lo",
)


@pytest.mark.slow
@pytest.mark.proves("door:own")
def test_a_console_on_a_public_address_of_the_machine_is_not_read() -> None:
    need("iproute2", "util-linux")
    steps = " && ".join((*NETWORK, '"$0" -c "$1"'))
    command = ["unshare", "--map-root-user", "--net", "sh", "-c", steps, sys.executable, INSIDE]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[5])
    assert said.returncode == 0, said.stderr
    own, neighbour = "is an address of this machine", "lies in a network that this machine is attached to"
    # Every address of a network on the loopback is the machine's own.
    for what, told in zip((own, own, neighbour, own), json.loads(said.stdout), strict=True):
        assert what in told
