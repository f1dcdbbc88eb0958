# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""lasthop in Mininet: a router and a switch with the agent on the device that faces a lossy link, and
the link itself.

    class Hop(Topo):
        def build(self):
            self.addHost('h1', ip='10.0.1.2/24', defaultRoute='via 10.0.1.1')
            self.addHost('h2', ip='10.0.2.2/24', defaultRoute='via 10.0.2.1')
            self.addHost('r0', cls=LasthopRouter, ip='10.0.1.1/24', lossy='r0-eth1')
            self.addHost('air', cls=LossyLink, seed=1, rate_bps=20_000_000, delay_ns=10_000_000, loss=0.02)
            self.addLink('h1', 'r0')
            self.addLink('r0', 'air', params1={'ip': '10.0.2.1/24'})
            self.addLink('air', 'h2')

The programs are looked for in $LASTHOP_BIN_DIR, then in PATH. As root, as all of Mininet; README.md beside
this file has more.
"""
import json
import os
import shutil
import signal
import subprocess
import threading

from mininet.node import Node, Switch

PATIENCE_S = 30


def program(name):
    """Path of one of lasthop's programs."""
    at = os.path.join(os.environ.get("LASTHOP_BIN_DIR", ""), name)
    found = at if os.path.isfile(at) else shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} is neither in $LASTHOP_BIN_DIR nor in PATH")
    return found


class Service:
    """A program in a node's namespace, which says when it is ready."""

    def __init__(self, node, words, ready, feed=None):
        self.name = os.path.basename(words[0])
        self.said = []
        self.process = node.popen(words, stdin=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.process.stdin.write(feed or "")
        self.process.stdin.close()
        is_ready = threading.Event()
        threading.Thread(target=self._listen, args=(ready, is_ready), daemon=True).start()
        is_ready.wait(PATIENCE_S)
        if not any(line.startswith(ready) for line in self.said):
            self.stop()
            raise RuntimeError(f"{self.name}: " + ("".join(self.said).strip() or "says nothing"))

    def _listen(self, ready, is_ready):
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith(ready):
                is_ready.set()
        is_ready.set()  # it has ended

    def stop(self):
        """Ends it as Ctrl-C does, and waits."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Lasthop:
    """What router and switch have in common: an agent.

    lossy: the device that faces the link, NODE-ethN; scheme; attach: more words for `lasthop attach`.
    """

    agent = None

    def set_up(self, lossy, scheme="rack", attach=()):
        self.lossy, self.scheme, self.attach = lossy, scheme, list(attach)

    def start_agent(self):
        """Attaches the agent; nothing if it is there."""
        if self.agent is None:
            words = [program("lasthop"), "attach", self.lossy, "--once", "--scheme", self.scheme, *self.attach]
            self.agent = Service(self, words, "lasthop: attached to")

    def stop_agent(self):
        """Ends it: what is left is a plain router or switch."""
        if self.agent is not None:
            self.agent.stop()
            self.agent = None

    def agent_status(self):
        """The object that `lasthop status -j` prints of the device."""
        words = ["mnexec", "-a", str(self.pid), program("lasthop"), "status", "-j"]
        lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
        return next(status for status in map(json.loads, lines) if status["dev"] == self.lossy)


class LasthopRouter(Lasthop, Node):
    """A router with the agent on device `lossy`. scheme=None: without."""

    def __init__(self, name, lossy, scheme="rack", attach=(), **params):
        self.set_up(lossy, scheme, attach)
        super().__init__(name, **params)

    def config(self, **params):
        result = super().config(**params)
        for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            self.cmd(f"sysctl -qw {key}=1")
        if self.scheme:
            self.start_agent()
        return result

    def terminate(self):
        self.stop_agent()
        super().terminate()


class LasthopSwitch(Lasthop, Switch):
    """A learning switch (the kernel's bridge) with the agent on port `lossy`. scheme=None: without."""

    def __init__(self, name, lossy, scheme="rack", attach=(), **params):
        self.set_up(lossy, scheme, attach)
        params["inNamespace"] = True
        super().__init__(name, **params)

    def start(self, controllers):
        """No controller has a say in it."""
        self.cmd(f"ip link add {self.name} type bridge && ip link set {self.name} up")
        for port in self.intfNames():
            if port != "lo":
                self.cmd(f"ip link set {port} master {self.name} up")
        if self.scheme:
            self.start_agent()

    def stop(self, deleteIntfs=True):
        self.stop_agent()
        self.cmd(f"ip link delete {self.name}")
        super().stop(deleteIntfs)

    def terminate(self):
        self.stop_agent()
        super().terminate()


class LossyLink(Node):
    """A link with losses by seed, for kernels without netem and for runs that can be repeated: a node
    between two others, in which `linkemu` carries the frames.

    up: what it does to frames that arrive on its second device; all else is for both directions, such as
    rate_bps, delay_ns, queue_frames, loss (`linkemu run --help` has the keys).
    """

    KEYS = ("up", "seed")
    relay = None

    def __init__(self, name, up=None, seed=1, **params):
        own = ("inNamespace", "ip", "mac", "defaultRoute", "isSwitch", "cls")
        both = {key: value for key, value in params.items() if key not in own}
        self.directions = {"a_to_b": both, "b_to_a": {**both, **(up or {})}}
        self.seed = seed
        super().__init__(name, inNamespace=True)

    def config(self, **_params):
        """Without addresses: it is a wire."""
        self.cmd("sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        ports = [intf for intf in self.intfList() if intf.name != "lo"]
        if len(ports) != 2:
            raise ValueError(f"{self.name} has {len(ports)} links, not two")
        for intf in ports:
            other = intf.link.intf2 if intf.link.intf1 is intf else intf.link.intf1
            # Of whoever sends to it: it takes frames, as a wire does, no super-packets.
            for end in (intf, other):
                end.node.cmd(f"ethtool -K {end.name} tso off gso off gro off tx off")
            self.cmd(f"ip address flush dev {intf.name}; ip link set {intf.name} up")
        config = {"a": ports[0].name, "b": ports[1].name, "seed": self.seed, **self.directions}
        self.control = f"/run/linkemu-mininet-{self.pid}.sock"
        words = [program("linkemu"), "run", "--config", "-", "--control", self.control]
        self.relay = Service(self, words, "linkemu: relaying", json.dumps(config))
        return {}

    def relay_stats(self):
        """What `linkemu stats` prints: counters of a_to_b and b_to_a."""
        words = [program("linkemu"), "stats", self.control]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

    def terminate(self):
        if self.relay is not None:
            self.relay.stop()
        super().terminate()
