import pytest


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
