"""python -m rondo.tf1 script.py args...: a script of TensorFlow 1, unchanged."""

import os
import runpy
import sys

from .imports import install


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m rondo.tf1 [-m] script.py [args...]")
        sys.exit(0 if arguments else 2)
    install()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            sys.exit("rondo.tf1: -m needs the name of a module")
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    script = arguments[0]
    if not os.path.exists(script):
        sys.exit(f"rondo.tf1: there is no {script}")
    sys.argv = arguments
    # As Python does for a script: what lies beside it can be imported.
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    runpy.run_path(script, run_name="__main__")


main()
