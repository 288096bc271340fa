"""Ports for servers that are told beforehand where to listen."""

import random
import socket

# Below those from which the system takes the ports of connections: one of these is
# taken by nobody between the moment it is found free and the server's start.
RANGE = range(15000, 32000)
_given = set()


def free_port(host="127.0.0.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        port = random.choice(RANGE)
        if port in _given:
            continue
        with socket.socket(family) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((host, port))
            except OSError:
                continue
        _given.add(port)
        return port
