"""run: a training function that goes on when ranks are lost or added."""

import functools
import logging

import torch

from .. import basics
from ..errors import HorovodInternalError, HostsUpdatedInterrupt
from ..synchronous import broadcast
from .patience import Patience
from .regroup import Regroup

log = logging.getLogger("rondo.torch")


def _rank_0_says(yes):
    told = torch.tensor([int(yes)])
    return bool(broadcast(told, 0, name="elastic.patience").item())


def run(func):
    """Decorates func(state, ...): where an operation fails because a rank was
    lost, the state goes back to its last commit, the ranks that are left meet, and
    func is called again. So it is, with the state as it is, when ranks are added. A
    failure that comes back though no rank was lost, without a commit in between or
    many times, is raised."""

    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        if not basics.is_initialized():
            basics.init()
        regroup = Regroup.of_process()
        patience = Patience()
        # The others begin again when a newcomer begins.
        failure, skip_sync, again = None, False, regroup.is_newcomer
        while True:
            try:
                if again:
                    if _rank_0_says(patience.is_over):
                        break
                    if not regroup.is_newcomer:
                        state.on_reset()
                regroup.is_newcomer = False
                if not skip_sync:
                    state.sync()
                return func(state, *args, **kwargs)
            except HorovodInternalError as error:
                log.warning("rondo.torch: %s; going back to the last commit", error)
                failure, skip_sync = error, False
                state.restore()
            except HostsUpdatedInterrupt as update:
                failure, skip_sync = None, update.skip_sync
            before, again, regroup.is_newcomer = regroup.members, True, False
            regroup.meet_again(failure is not None)
            if regroup.members != before:
                patience.lost()
            elif failure is not None:
                patience.failed(state._commits)
        raise failure or HorovodInternalError("rank 0 has failed too often")

    return wrapper
