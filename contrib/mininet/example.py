#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A download over a lossy link in Mininet, without and with lasthop; prints what was lost, what was
repaired where, and whether every byte is right. As root:

    LASTHOP_BIN_DIR=target/release contrib/mininet/example.py [--switch] [--scheme SCHEME] [--json]
"""
import argparse
import hashlib
import json
import random
import sys
import time

from mininet.net import Mininet
from mininet.topo import Topo

from lasthop_mininet import LasthopRouter, LasthopSwitch, LossyLink

SERVE = """
import random, socket, sys
content = random.Random(7).randbytes(int(sys.argv[1]))
listener = socket.create_server(("", 8000))
print("ready", flush=True)
peer, _ = listener.accept()
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
peer.sendall(content)
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
resent = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[100:104]
print(int.from_bytes(resent, sys.byteorder))
"""
FETCH = """
import hashlib, socket, sys
peer, digest = socket.create_connection((sys.argv[1], 8000)), hashlib.sha256()
while part := peer.recv(1 << 16):
    digest.update(part)
print(digest.hexdigest())
"""


class Hop(Topo):
    """h1, a router or switch with the agent, the link, h2."""

    def build(self, switch=False, scheme="rack", loss=0.02):
        network = 1 if switch else 2
        self.addHost("h1", ip="10.0.1.2/24", defaultRoute=None if switch else "via 10.0.1.1")
        self.addHost("h2", ip=f"10.0.{network}.3/24", defaultRoute=None if switch else "via 10.0.2.1")
        if switch:
            self.addSwitch("s1", cls=LasthopSwitch, lossy="s1-eth2", scheme=scheme)
        else:
            self.addHost("r0", cls=LasthopRouter, ip="10.0.1.1/24", lossy="r0-eth1", scheme=scheme)
        self.addHost("air", cls=LossyLink, seed=3, rate_bps=20_000_000, delay_ns=10_000_000, queue_frames=150, loss=loss)
        middle = "s1" if switch else "r0"
        self.addLink("h1", middle)
        self.addLink(middle, "air", params1={} if switch else {"ip": "10.0.2.1/24"})
        self.addLink("air", "h2")


def run(size, switch, scheme):
    """One download. Returns what became of it."""
    net = Mininet(topo=Hop(switch=switch, scheme=scheme), controller=None, waitConnected=False)
    net.start()
    try:
        h1, h2 = net.get("h1", "h2")
        server = h1.popen([sys.executable, "-c", SERVE, str(size)], text=True)
        server.stdout.readline()
        began = time.monotonic()
        client = h2.popen([sys.executable, "-c", FETCH, h1.IP()], text=True)
        digest = client.communicate(timeout=240)[0].strip()
        seconds = time.monotonic() - began
        resent = int(server.communicate(timeout=30)[0])
        down = net.get("air").relay_stats()["a_to_b"]
        agent = net.get("s1" if switch else "r0")
        status = agent.agent_status() if scheme else None
        return {
            "scheme": scheme or "none",
            "digest": digest,
            "mbit_per_s": round(size * 8e-6 / seconds, 2),
            "lost": down["data_lost"] + down["data_queue_dropped"],
            "sender_resent": resent,
            "local_retransmits": status["counters"]["local_retransmits"] if status else 0,
        }
    finally:
        net.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--switch", action="store_true", help="a switch in the router's place")
    parser.add_argument("--scheme", default="rack")
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true", help="a line of JSON per run")
    options = parser.parse_args()
    right = hashlib.sha256(random.Random(7).randbytes(options.bytes)).hexdigest()
    for scheme in (None, options.scheme):
        record = run(options.bytes, options.switch, scheme)
        record["content_ok"] = record.pop("digest") == right
        if options.json:
            print(json.dumps(record), flush=True)
        else:
            print(", ".join(f"{key} {value}" for key, value in record.items()), flush=True)
        if not record["content_ok"]:
            sys.exit("the content differs")


if __name__ == "__main__":
    main()
