import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest

SSHD = "/usr/sbin/sshd"

# What a shell starts in the background ignores Ctrl-C, and what nohup starts the
# loss of its terminal; so would the jobs that tests start and end by signals.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def job(tmp_path):
    """A job of real processes; whatever is left of it ends with the test."""
    import ranks

    made = ranks.Job(tmp_path)
    yield made
    made.end()


@pytest.fixture
def jobs(tmp_path_factory):
    """As many jobs as the test asks for."""
    import ranks

    made = []

    def make():
        made.append(ranks.Job(tmp_path_factory.mktemp("job")))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture(scope="session")
def ssh_command(tmp_path_factory):
    """An sshd of our own on loopback; how ssh is to be called for it."""
    from ranks import wait_until

    if not os.path.exists(SSHD):
        pytest.skip(f"{SSHD} is not installed (Debian: openssh-server)")
    if shutil.which("ssh") is None:
        pytest.skip("ssh is not installed (Debian: openssh-client)")
    folder = tmp_path_factory.mktemp("sshd")
    folder.chmod(0o700)
    for key in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key],
            check=True,
        )
    (folder / "authorized").write_bytes((folder / "user.pub").read_bytes())
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/authorized\nPidFile {folder}/pid\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "UsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\n"
    )
    with subprocess.Popen(
        [SSHD, "-D", "-e", "-f", folder / "config"],
        stderr=(folder / "log").open("wb"),
    ) as server:

        def up():
            assert server.poll() is None, (folder / "log").read_text()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_until(up, 10, lambda: "sshd does not listen")
        yield (
            f"ssh -p {port} -i {folder}/user -o IdentitiesOnly=yes "
            "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            "-o LogLevel=ERROR"
        )
        server.terminate()


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """cluster(ps=1, workers=1): tasks that serve, each a process."""
    import cluster_tasks

    monkeypatch.setenv("RONDO_CONNECT_TIMEOUT", "60")
    monkeypatch.setenv("RONDO_PATIENCE", str(cluster_tasks.PATIENCE))
    monkeypatch.delenv("RONDO_TOKEN", raising=False)
    made = []

    def make(ps=1, workers=1, **env):
        made.append(cluster_tasks.Cluster(tmp_path, ps, workers, **env))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def training(tmp_path):
    """training(workers=2, last=60): a parameter server, and workers to start."""
    import replicas

    made = []

    def make(**options):
        made.append(replicas.Training(tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.end()
