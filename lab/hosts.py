"""A lab: its hosts and links, and its state on disk.

Each host is a network namespace with its own addresses, joined to the others by a
bridge that lives in a namespace of its own; with two racks by two bridges, and a
link between them. Both ends of each link are shaped with tc tbf. A host also has its
own process, mount, IPC and UTS namespaces, /dev/shm and hostname, so shared memory
works within a host and fails between two of them, as it would between machines.
Nothing in the machine's own network namespace is touched.

Host i is called h<i>, has 10.77.<k>.<i+1>/24 and fd77:0:0:<k>::<i+1>/64 (named
h<i>-v6), where <k> is the lab's number.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from errors import LabError, ProgramError, UsageError
from processes import (
    child_of,
    dying_with,
    end,
    held_signals,
    join,
    processes_with,
    start_time,
    take_signals,
    tool,
)
from rates import bits_per_second

STATE = pathlib.Path("/run/rondo-lab")
QUEUE_BYTES = 64 << 20  # of a port
NAME = r"[A-Za-z0-9_]{1,32}"
NAMESPACES = ("net", "uts", "ipc", "mnt")  # and pid; after mnt, /proc is another

# What the first process of a lab host does: it has the host's namespaces, makes
# them the host's own, says so on its standard output, and then only reaps.
HOLDER = """
hostname "$1" &&
mount --bind "$2" /etc/hosts &&
mount -t tmpfs -o mode=1777 lab-shm /dev/shm &&
echo ready && exec >/dev/null 2>&1 || exit 1
trap : TERM INT HUP
while :; do sleep infinity & wait $!; done
"""


class Lab:
    """One lab: its state on disk, its namespaces, its holder processes."""

    def __init__(self, name):
        if not re.fullmatch(NAME, name):
            raise UsageError(f"lab name '{name}': use up to 32 letters, digits and _")
        self.name = name
        self.folder = STATE / name
        self.file = self.folder / "state.json"
        try:
            # Labs of before there were racks say nothing of them.
            known = {"topology": "switch", "uplink": "none", "token": ""}
            self.state = known | json.loads(self.file.read_text())
            self.state.setdefault("first_rack", half_of(self.state["hosts"]))
        except (OSError, ValueError, TypeError, KeyError):
            self.state = None

    def netns(self, host):
        return f"rondo-{self.name}-{host}"

    def address(self, index):
        return f"10.77.{self.state['number']}.{index + 1}"

    def address6(self, index):
        return f"fd77:0:0:{self.state['number']:x}::{index + 1:x}"

    def alive(self):
        """Whether it has all of its hosts."""
        if not self.state:
            return False
        holders = self.state["holders"]
        return len(holders) == self.state["hosts"] and all(
            start_time(h["pid"]) == h["start"] for h in holders
        )

    def up(self, shape, token):
        """Builds the lab, while there is a caretaker."""
        self.state = {
            "name": self.name,
            "token": token,
            "number": free_number(),
            **shape,
            "holders": [],
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        self.save()
        (self.folder / "hosts").write_text(self.hosts_file())
        self.make_bridges()
        for index in range(self.state["hosts"]):
            self.make_host(index)
            with held_signals():
                self.hold(index)

    def save(self):
        # Held: who leaves while the file is being closed would be kept from it.
        with held_signals():
            self.write_state()

    def write_state(self):
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as f:
            json.dump(self.state, f)
        os.replace(f.name, self.file)

    def hosts_file(self):
        lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
        for index in range(self.state["hosts"]):
            lines.append(f"{self.address(index)} h{index}")
            lines.append(f"{self.address6(index)} h{index}-v6")
        return "\n".join(lines) + "\n"

    def bridge_of(self, index):
        """The bridge that host `index` is at."""
        second = self.state["topology"] == "racks" and index >= self.state["first_rack"]
        return "br1" if second else "br0"

    def make_bridges(self):
        netns = self.netns("br")
        tool("ip", "netns", "add", netns)
        tool("ip", "-n", netns, "link", "set", "lo", "up")
        racks = self.state["topology"] == "racks"
        for bridge in ["br0", "br1"] if racks else ["br0"]:
            tool(*f"ip -n {netns} link add {bridge} type bridge".split())
            tool(
                *f"ip -n {netns} link set {bridge} type bridge".split(),
                "mcast_snooping",
                "0",
            )
            tool("ip", "-n", netns, "link", "set", bridge, "up")
        if racks:
            tool(*f"ip -n {netns} link add up0 type veth peer name up1".split())
            for end, bridge in [("up0", "br0"), ("up1", "br1")]:
                tool(*f"ip -n {netns} link set {end} master {bridge} up".split())
                self.shape(netns, end, self.state["uplink"])

    def make_host(self, index):
        bridge, host, port = self.netns("br"), self.netns(f"h{index}"), f"h{index}"
        tool("ip", "netns", "add", host)
        tool("ip", "-n", host, "link", "set", "lo", "up")
        # Else it would be the machine's, which may be BBR: that needs seconds to
        # learn a link's rate, and stops every ten seconds to learn its latency.
        # Small buffers: what is on its way fits into a port's queue, so that no
        # packet is lost, whose time-out would be longer than many a step. But a
        # block of 256 KiB with its header fits into a socket's, or its last bytes
        # would be queued behind what all others have sent meanwhile.
        tool(
            *f"ip netns exec {host} sh -c".split(),
            "cd /proc/sys/net/ipv4 && echo reno > tcp_congestion_control && "
            "echo 4096 65536 327680 > tcp_wmem && "
            "echo 4096 131072 524288 > tcp_rmem",
        )
        tool(
            *f"ip -n {bridge} link add {port} type veth".split(),
            *f"peer name eth0 netns {host}".split(),
        )
        tool(
            *f"ip -n {bridge} link set {port} master".split(),
            self.bridge_of(index),
            "up",
        )
        tool(*f"ip -n {host} addr add {self.address(index)}/24 dev eth0".split())
        if os.path.exists("/proc/sys/net/ipv6"):
            tool(
                *f"ip -n {host} addr add {self.address6(index)}/64".split(),
                *"dev eth0 nodad".split(),
            )
        tool("ip", "-n", host, "link", "set", "eth0", "up")
        self.shape(host, "eth0", self.state["rate"])
        self.shape(bridge, port, self.state["rate"])

    def shape(self, netns, device, rate):
        """Limits what leaves `device`.

        The burst lets 2 ms through at once, so that whole offloaded segments
        pass and the timer's grain does not cost rate; the queue holds what
        hundreds of connections have on their way.
        """
        if rate == "none":
            return
        per_ms = bits_per_second(rate) / 8000
        burst = max(16 << 10, int(2 * per_ms))
        limit = QUEUE_BYTES + burst
        tool(
            *f"tc -n {netns} qdisc add dev {device} root tbf".split(),
            *f"rate {rate} burst {burst} limit {limit}".split(),
        )

    def hold(self, index):
        """Starts the process whose namespaces are the host's."""
        holder = subprocess.Popen(
            [
                "nsenter",
                f"--net=/run/netns/{self.netns(f'h{index}')}",
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "--uts",
                "--ipc",
                "bash",
                "-c",
                HOLDER,
                "lab",
                f"h{index}",
                str(self.folder / "hosts"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            start_new_session=True,
        )
        # The holder outlives this script; only its two pipes are waited on.
        with holder.stdout, holder.stderr:
            if holder.stdout.readline() != "ready\n":
                said = holder.stderr.read().strip()
                holder.wait()
                raise LabError(f"host h{index} could not start: {said}")
        pid = child_of(holder.pid)
        if pid is None:
            raise LabError(f"host h{index} ended as soon as it started")
        self.state["holders"].append({"pid": pid, "start": start_time(pid)})
        self.save()

    def namespaces(self):
        """The names of those that are there."""
        mine = re.compile(rf"rondo-{self.name}-(br|h\d+)")
        found = pathlib.Path("/run/netns").glob("rondo-*")
        return list(filter(mine.fullmatch, [path.name for path in found]))

    def there(self):
        """Whether any of it is, be it what an interrupted run has left."""
        return self.folder.exists() or bool(self.namespaces())

    def down(self):
        """Ends what runs in the lab and removes it; a missing lab is fine."""
        for holder in (self.state or {}).get("holders", []):
            end(holder["pid"], holder["start"])
        for pid, start in processes_with(HOLDER, str(self.folder / "hosts")):
            end(pid, start)  # started, but not noted any more
        for netns in self.namespaces():
            if netns == self.netns("br"):
                # Deleted here rather than with the namespace, whose removal
                # the kernel does some time later.
                for index in range((self.state or {}).get("hosts", 0)):
                    with contextlib.suppress(LabError):
                        tool("ip", "-n", netns, "link", "del", f"h{index}")
            tool("ip", "netns", "del", netns)
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            STATE.rmdir()
        self.state = None

    def enter(self, index, command, variables=None, **popen):
        """Starts `command` on a host, as a child of this process."""
        environment = dict(
            os.environ,
            LAB_NAME=self.name,
            LAB_HOST=f"h{index}",
            LAB_INDEX=str(index),
            LAB_HOSTS=str(self.state["hosts"]),
            LAB_ADDRESS=self.address(index),
            **(variables or {}),
        )
        try:
            here = os.getcwd()
        except OSError:
            raise LabError(
                "the folder that this is run in is gone; cd to another"
            ) from None
        namespaces = f"/proc/{self.state['holders'][index]['pid']}/ns"

        die = dying_with(os.getpid())

        def begin():
            die()
            for name in NAMESPACES:
                join(f"{namespaces}/{name}")
            os.chdir(here)
            take_signals()

        try:
            join(f"{namespaces}/pid")
        except OSError as error:
            raise LabError(f"host h{index} is gone: {error.strerror}") from None
        try:
            return subprocess.Popen(command, env=environment, preexec_fn=begin, **popen)
        except OSError as error:
            if not self.alive():
                raise LabError(f"host h{index} is gone") from None
            raise ProgramError(
                f"{command[0]} cannot be run: {error.strerror}"
            ) from None
        except subprocess.SubprocessError:
            raise LabError(f"host h{index} cannot be entered in {here}") from None


def lab_names():
    """Of labs, and of what interrupted runs have left of some."""
    left = [p.name for p in STATE.glob("*") if re.fullmatch(NAME, p.name)]
    for path in pathlib.Path("/run/netns").glob("rondo-*"):
        if match := re.fullmatch(rf"rondo-({NAME})-(br|h\d+)", path.name):
            left.append(match[1])
    return sorted(set(left))


def labs():
    return [lab for lab in map(Lab, lab_names()) if lab.state]


def free_number():
    taken = {lab.state["number"] for lab in labs()}
    number = next((k for k in range(256) if k not in taken), None)
    if number is None:
        raise LabError("256 labs are up; take some down first")
    return number


def existing(name):
    lab = Lab(name)
    if not lab.state:
        raise LabError(
            f"no lab '{name}'; start one: rondo lab up --hosts 4 --name {name}"
        )
    if not lab.alive():
        raise LabError(
            f"lab '{name}' lacks a host; rondo lab down --name {name}, then up"
        )
    return lab


def half_of(hosts):
    return (hosts + 1) // 2
