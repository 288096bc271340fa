"""Loads the library of custom_op.cc and runs its operation:

python examples/custom_op.py build/examples/custom_op.so
"""

import sys

import rondo as rd

ops = rd.load_op_library(sys.argv[1])
print("loaded", *ops.OP_LIST)

x = rd.placeholder(rd.float32, [3], name="x")
y = ops.cube(x)
(dx,) = rd.gradients(y, x)
with rd.Session() as session:
    print(*session.run([y, dx], feed_dict={x: [1, 2, 3]}))
