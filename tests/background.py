"""Commands that a test starts, looks at while they run, and ends."""

import subprocess

from ranks import clean_env, wait_until


class Background:
    """A command whose output goes into the file `out`, behind that of one that had it
    before. `with` ends what is left."""

    def __init__(self, out, command, stdin=None, **env):
        self._out = out
        with open(out, "ab") as file:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=stdin,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=clean_env(**env),
            )

    @property
    def text(self):
        return self._out.read_text()

    def wait_for(self, condition):
        return wait_until(condition, 60, lambda: self.text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
