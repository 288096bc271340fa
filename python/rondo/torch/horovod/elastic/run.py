"""run: a training function that goes on when ranks are lost."""

import functools
import logging

from .. import basics
from ..errors import HorovodInternalError, HostsUpdatedInterrupt
from .regroup import Regroup

log = logging.getLogger("rondo.torch")


def run(func):
    """Decorates func(state, ...): where an operation fails because a rank was
    lost, the state goes back to its last commit, the ranks that are left meet, and
    func is called again."""

    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        if not basics.is_initialized():
            basics.init()
        regroup = Regroup()
        failed_at = None  # the number of commits when nobody was lost
        skip_sync = False
        while True:
            try:
                if not skip_sync:
                    state.sync()
                return func(state, *args, **kwargs)
            except HorovodInternalError as error:
                log.warning("rondo.torch: %s; going back to the last commit", error)
                failure, skip_sync = error, False
                state.restore()
            except HostsUpdatedInterrupt as update:
                failure, skip_sync = None, update.skip_sync
            before = regroup.members
            regroup.meet_again(failure is not None)
            if failure is not None and regroup.members == before:
                # All are there, and nothing was achieved since it failed before.
                if failed_at == state.commits:
                    raise failure
                failed_at = state.commits
            state.on_reset()

    return wrapper
