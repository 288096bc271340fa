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
        in_vain = False  # nobody was lost, and yet an operation failed
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
            regroup.meet_again()
            if failure is not None and regroup.members == before:
                if in_vain:
                    raise failure
                in_vain = True
            else:
                in_vain = False
            state.on_reset()

    return wrapper
