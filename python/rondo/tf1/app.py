"""tf.app: flags, and the beginning of a program."""

import sys as _sys

from . import flags  # noqa: F401
from ._missing import getattr_of

__getattr__ = getattr_of("tf.app")


def run(main=None, argv=None):
    """Parses the flags, calls main(what is left), and ends the program."""
    argv = _sys.argv if argv is None else argv
    main = main or _sys.modules["__main__"].main
    try:
        rest = flags.FLAGS(argv)
        flags.check_required()
    except flags.Error as e:
        print(f"{argv[0] if argv else ''}: {e}", file=_sys.stderr)
        _sys.exit(2)
    _sys.exit(main(rest))
