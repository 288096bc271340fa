"""init, shutdown, and who this process is."""

import atexit

from .engine import Engine
from .errors import NOT_INITIALIZED, NotInitialized
from .job import Hosts, Job
from .settings import Settings
from .timeline import Timeline


class _Process:
    """What init() makes and shutdown() ends."""

    job = None  # stays
    settings = None
    engine = None
    hosts = None
    timeline = Timeline()


_process = _Process()


def engine():
    """The engine, for an operation; an error before init()."""
    if _process.engine is None:
        raise NotInitialized
    return _process.engine


def asked():
    """The engine, for who only asks."""
    if _process.engine is None:
        raise ValueError(NOT_INITIALIZED)
    return _process.engine


def init(comm=None, process_sets=None):
    """Meets the other ranks of the job: of `rondo run`, torchrun, mpirun or srun,
    or of none. A second call does nothing.

    `process_sets`: a list of ProcessSets to make; "dynamic" is taken too, since
    here sets may always be made later.
    """
    from . import process_sets as sets

    if _process.engine is not None:
        return
    if comm:
        raise ValueError(
            "hvd.init(comm=...): the ranks are those of the launcher; for some of "
            "them make a process set: hvd.init(process_sets=[hvd.ProcessSet([0, 1])])"
        )
    settings = Settings.from_environment()
    if _process.job is None:
        _process.job = Job(settings)
    job = _process.job
    if settings.is_added:
        from .elastic.regroup import Regroup

        Regroup.enter(job, settings)
        return  # the others do not make their process sets again
    start(job.meet(), job.rank, job.size, settings)
    sets.made_at_init(process_sets)


def start(store, rank, size, settings):
    """Connects the ranks that meet in `store`."""
    from . import process_sets as sets
    from .elastic.newcomers import show_life

    _process.hosts = Hosts(store, rank, size)
    _process.hosts.tell()
    _process.settings = settings
    if settings.timeline and not _process.timeline.active:
        _process.timeline.start(settings.timeline, rank)
    _process.engine = Engine(store, rank, size, settings, _process.timeline)
    sets.reset(size)
    if settings.may_grow:
        show_life(_process.job)


def shutdown():
    """Leaves the other ranks. init() may be called again, on all of them."""
    from . import operations

    if _process.engine is not None:
        _process.engine.close()
        _process.engine = None
        _process.hosts = None
        operations.forget()
        _process.timeline.stop()


def leave(failed):
    """Leaves the others to meet them again. After a failure at once: those that do
    not know of it yet know it then."""
    from . import operations

    if _process.engine is not None:
        _process.engine.abandon() if failed else _process.engine.close()
        _process.engine = None
        _process.hosts = None
        operations.forget()


atexit.register(shutdown)


def is_initialized():
    return _process.engine is not None


def process():
    return _process


def rank():
    """This process's number among all ranks of the job."""
    return asked().rank


def size():
    """How many ranks the job has."""
    return asked().size


def _hosts():
    asked()
    return _process.hosts


def local_rank():
    """This process's number among the ranks on its host."""
    return _hosts().local_rank


def local_size():
    """How many ranks its host has."""
    return _hosts().local_size


def cross_rank():
    """Its host's number among the hosts that have its local rank."""
    return _hosts().cross_rank


def cross_size():
    """How many hosts have its local rank."""
    return _hosts().cross_size


def is_homogeneous():
    """Whether all hosts have the same number of ranks."""
    return _hosts().is_homogeneous


def start_timeline(file_path, mark_cycles=False):
    """Writes a Chrome trace of the operations from now on; on every rank, to a
    file of its own: rank 0 to file_path, the others to file_path.RANK."""
    del mark_cycles  # operations are not gathered in cycles
    asked()
    if _process.timeline.active:
        raise ValueError("start_timeline: there is a timeline; stop_timeline() first")
    _process.timeline.start(file_path, rank())


def stop_timeline():
    """Ends what start_timeline began."""
    asked()
    _process.timeline.stop()


# What a script may ask of the library that it runs on. Rondo needs neither MPI
# nor Gloo, but what a script does where it has Gloo is right here.


def _no():
    return False


def gloo_built():
    return True


def gloo_enabled():
    return True


def nccl_built():
    return 0


def mpi_threads_supported():
    asked()
    return False


mpi_built = mpi_enabled = _no
cuda_built = rocm_built = ddl_built = ccl_built = _no
