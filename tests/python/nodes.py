"""Two machines on one: namespaces with host names, networks and processes of their own.

Commands run on node `NEAR`, which sees the processes of `FAR`, not the other way round.
mpirun reaches `FAR` by an agent that enters its namespaces with a bare environment, as
ssh does. Memory and temporary files of each are its own. Both are gone when the first
process of `NEAR` ends, which it does when the tests do, however they end.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from conftest import comes, start

import hpccfpga

NEAR, FAR = "hf-near", "hf-far"

WITHOUT = "hf-without"
"""Another name of `FAR`, under which it lacks the package."""

SPACE = 24 << 20
"""Of the memory and of the temporary files of each [B]."""

UNSHARE = "unshare --net --uts --mount --pid --ipc --fork --kill-child --mount-proc"
ENTER = "nsenter --net --uts --mount --pid --ipc --wd=. --target"
TOOLS = ("unshare", "nsenter", "ip", "mount", "hostname")

# The first process of a node: it reaps what it adopts, and ends with our end of a pipe.
FIRST = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("up", flush=True)
os.read(0, 1)
"""

# mpirun's: HOST COMMAND...
AGENT = """#!/bin/sh
host=$1; shift; hide=:
case $host in
    {FAR}) ;;
    {WITHOUT}) hide='mount -t tmpfs none "{package}"' ;;
    *) echo "agent: no host $host" >&2; exit 255 ;;
esac
exec {ENTER} {far} unshare --mount \\
    env -i PATH=/usr/bin:/bin HOME="{home}" TMPDIR="{own}" sh -c "$hide; $*"
"""


# Both ends learn a little later that a link is up: till then nobody seems to answer.
CARRIES = """
for i in $(seq 100); do
    if ip link show {end} | grep -q "state UP"; then exec ip neigh flush dev {end}; fi
    sleep 0.1
done
exit 1
"""


def why_not():
    """What is missing for nodes, or nothing."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"nodes need {', '.join(missing)}"
    made = (
        "hostname n && mount -t tmpfs none /dev/shm && ip link add n type veth && "
        "cat /proc/1/task/1/children"
    )
    tried = subprocess.run(
        [*UNSHARE.split(), "sh", "-c", made], capture_output=True, text=True
    )
    return f"nodes need root: {tried.stderr.strip()}" if tried.returncode else ""


def _children(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


class Node:
    """The namespaces of a machine."""

    def __init__(self, name, own, inside=()):
        self.keeper = subprocess.Popen(
            [*inside, *UNSHARE.split(), sys.executable, "-I", "-S", "-c", FIRST],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.keeper.stdout.readline() == "up\n"
        self.first = self.keeper.pid
        while children := _children(self.first):
            self.first = int(children[0])
        self.enter = [*ENTER.split(), str(self.first)]
        self.call(f"hostname {name}; ip link set lo up")
        for folder in ("/dev/shm", own):
            self.call(f'mount -t tmpfs -o size={SPACE} none "{folder}"')

    def call(self, script):
        """Run a script there that only sets up something."""
        subprocess.run([*self.enter, "sh", "-ec", script], check=True)

    def end(self):
        self.keeper.stdin.close()
        self.keeper.wait()
        self.keeper.stdout.close()


class Nodes:
    """Two nodes with a link."""

    def __init__(self, folder):
        self.own = own = folder / "own"
        own.mkdir()
        self.near = Node(NEAR, own)
        self.far = Node(FAR, own, self.near.enter)
        # Processes have a number in each namespace of processes that sees them.
        status = Path(f"/proc/{self.far.first}/status").read_text()
        far = re.search(r"NSpid:(.*)", status)[1].split()[-2]
        places = {"package": Path(hpccfpga.__file__).parent, "home": Path.home()}
        agent = folder / "agent"
        agent.write_text(AGENT.format(**globals(), **places, own=own, far=far))
        agent.chmod(0o755)
        self.near.call(f"ip link add far type veth peer name near netns {far}")
        self.near.call("ip addr add 10.77.0.1/30 dev far")
        self.far.call("ip addr add 10.77.0.2/30 dev near; ip link set near up")
        self.link("up")
        self.environment = {
            "OMPI_MCA_plm_rsh_agent": str(agent),
            "PRTE_MCA_plm_ssh_agent": str(agent),
            "TMPDIR": str(own),
        }
        self.ours = self.processes()

    def link(self, state):
        """Set the link between the nodes up or down."""
        self.near.call(f"ip link set far {state}")
        if state == "up":
            for node, end in ((self.near, "far"), (self.far, "near")):
                node.call(CARRIES.format(end=end))

    def _inside(self, words):
        """Words that run others on the near node."""
        alone = ["env", "-u", "OMPI_MCA_btl_tcp_if_include"]  # of tests on one machine
        return [*self.near.enter, *alone, *map(str, words)]

    def run(self, *words):
        """Run a command to its end."""
        return start(self._inside(words), self.environment)

    @contextmanager
    def begun(self, *words):
        """A command that measures, and its number, once all its ranks have begun."""
        process = subprocess.Popen(
            self._inside(words),
            env=os.environ | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout.readline(), process.stderr.read()
            own = int(_children(process.pid)[0])  # nsenter waits for it
            yield process, own
        finally:
            if process.poll() is None:
                os.kill(own, signal.SIGKILL)
            process.communicate()

    def processes(self):
        """Numbers of the processes on the nodes."""
        own = {os.readlink(f"/proc/{n.first}/ns/pid") for n in (self.near, self.far)}
        found = set()
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.readlink(entry / "ns" / "pid") in own:
                    found.add(int(entry.name))
        return found

    def empty(self):
        """Whether all jobs on the nodes end."""
        return comes(lambda: self.processes() <= self.ours)

    def files(self):
        """What lies in the memory and the temporary files of the nodes.

        But for Open MPI's, which stay where one of its processes is killed.
        """
        found = []
        for node in (self.near, self.far):
            words = [*node.enter, "find", "/dev/shm", str(self.own), "-type", "f"]
            found += subprocess.check_output(words, text=True).split()
        theirs = re.compile(r"/(vader_segment|sm_segment|ompi|prte|openmpi|pmix)[._-]")
        return [path for path in found if not theirs.search(path)]

    def end(self):
        for node in (self.near, self.far):
            node.end()
