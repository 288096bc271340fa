"""What tests of checkpoints share."""

import numpy as np

import rondo as rd


def model(value=1.0, n=4):
    """A session of two variables."""
    w = rd.Variable(np.full(n, value, np.float32), name="w")
    step = rd.Variable(np.int64(7), name="step", trainable=False)
    session = rd.Session()
    session.run(rd.global_variables_initializer())
    return session, w, step


def damage(file, how):
    data = bytearray(file.read_bytes())
    if how == "truncated":
        del data[-5:]
    elif how == "cut in the header":
        del data[20:]
    elif how == "empty":
        del data[:]
    elif how == "corrupt":
        data[-2] ^= 0x10
    elif how == "no file of ours":
        data[:] = b"\x80\x02}q\x00." * 100
    file.write_bytes(data)
