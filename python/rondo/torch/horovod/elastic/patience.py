"""Patience: how often a function that fails is called again."""

_MOST = 10  # failures without a lost rank, though there were commits in between


class Patience:
    """What one rank thinks; rank 0's word counts, since ranks may differ in whether
    a commit was the last that all have made."""

    def __init__(self):
        self._failures = 0
        self._commits = None  # when it failed last
        self.is_over = False

    def lost(self):
        """Ranks were lost: that explains the failures."""
        self.__init__()

    def failed(self, commits):
        """All ranks are there, and have made so many commits."""
        self._failures += 1
        self.is_over = commits == self._commits or self._failures >= _MOST
        self._commits = commits
