"""Hosts of a lab, as benches use them: up while entered, a rank on each."""

import json
import os
import secrets
import subprocess

from programs import ROOT, end, run_together

LAB = ROOT / "scripts" / "lab"
PORT = 29400  # the hosts are new, so any port is free


class LabHosts:
    """The lab, up while this is entered. `rate` is that of each link."""

    def __init__(self, count, rate):
        self.count = count
        self.rate = rate
        self.name = f"bench_{os.getpid()}"

    def __enter__(self):
        subprocess.run(
            [LAB, "up", "--hosts", str(self.count), "--rate", self.rate]
            + ["--name", self.name],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        listed = subprocess.run(
            [LAB, "list", "--json"], check=True, capture_output=True, text=True
        )
        self.addresses = next(
            row["addresses"]
            for row in json.loads(listed.stdout)
            if row["name"] == self.name
        )
        return self

    def __exit__(self, *_):
        subprocess.run([LAB, "down", "--name", self.name], check=True)

    def on(self, index, command):
        return [str(LAB), "run", "--name", self.name, f"h{index}", "--", *command]

    def run_job(self, command, limit, servers=(), **environment):
        """Runs a job of one rank on each host, but for the last hosts, which have a
        server each, started by these commands; rank 0's output."""
        size = self.count - len(servers)
        job = dict(
            os.environ,
            RONDO_LOCAL_RANK="0",
            RONDO_STORE=f"tcp://{self.addresses[0]}:{PORT}",
            RONDO_TOKEN=secrets.token_hex(16),
            RONDO_SERVERS=str(len(servers)),
            **environment,
        )
        started = []
        try:
            # Numbered behind the ranks.
            for number, server in enumerate(servers, size):
                ours = dict(job, RONDO_RANK=str(number))
                ours["RONDO_WORLD_SIZE"] = str(self.count)
                line = self.on(number, server)
                started.append(subprocess.Popen(line, env=ours, start_new_session=True))
            ranks = range(size)
            job["RONDO_WORLD_SIZE"] = str(size)
            return run_together(
                [self.on(rank, command) for rank in ranks],
                limit,
                [dict(job, RONDO_RANK=str(rank)) for rank in ranks],
            )
        finally:
            for process in started:
                end(process)
