"""Four ranks add up their ranks.

build/rondo run -n 4 -- .venv/bin/python examples/hello.py
"""

import numpy as np

import rondo

comm = rondo.Communicator.world()

x = np.full(4, comm.rank, np.float32)
comm.allreduce(x)  # sum, in place

# Arrays of rondo.empty, zeros and full are reduced where they lie.
mine = rondo.full(1 << 20, comm.rank)
work = comm.allreduce_async(mine, op="avg")
work.wait(timeout=30)

if comm.rank == 0:
    print("sum of the ranks: ", x)
    print("mean of the ranks:", mine[0], "in", mine.size, "elements")
