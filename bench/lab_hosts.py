"""Hosts of a lab, as benches use them: up while entered, a rank on each."""

import json
import os
import secrets
import subprocess

from programs import ROOT, ProgramError, end, run_together

LAB = ROOT / "lab" / "lab"
PORT = 29400  # the hosts are new, so any port is free


class LabHosts:
    """The lab, up while this is entered. `rate` is that of each link."""

    def __init__(self, count, rate):
        self.count = count
        self.rate = rate
        self.name = f"bench_{os.getpid()}"

    def __enter__(self):
        # It is up as long as its command reads: till this process closes the pipe,
        # or ends. Ctrl-C is for this process only.
        self.process = subprocess.Popen(
            [LAB, "with", "--hosts", str(self.count), "--rate", self.rate]
            + ["--name", self.name, "--", "sh", "-c", "echo up; exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            if self.process.stdout.readline() != "up\n":
                raise ProgramError(f"the lab of {self.count} hosts did not start")
            self.addresses = self.list_addresses()
        except BaseException:
            self.take_down()
            raise
        return self

    def __exit__(self, *_):
        if self.take_down():
            raise ProgramError(
                f"lab {self.name} did not go down: rondo lab down --name {self.name}"
            )

    def take_down(self):
        """The exit code of the lab."""
        with self.process:
            self.process.stdin.close()
        return self.process.returncode

    def list_addresses(self):
        listed = subprocess.run(
            [LAB, "list", "--json"], check=True, capture_output=True, text=True
        )
        return next(
            row["addresses"]
            for row in json.loads(listed.stdout)
            if row["name"] == self.name
        )

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
