"""Device scopes: names of devices, and functions that choose one."""

from ..errors import InvalidArgumentError

# Fields of a device's name from the general to the particular.
_ORDER = ("job", "replica", "task", "device")


def parse(name):
    """{"job": "ps", "task": "0", "device": "CPU:0"} of "/job:ps/task:0/cpu:0"."""
    fields = {}
    for part in (name or "").split("/"):
        if not part:
            continue
        key, _, rest = part.partition(":")
        if key in ("job", "replica", "task"):
            fields[key] = rest
        elif key == "device":
            fields["device"] = rest.upper()
        elif key.lower() in ("cpu", "gpu"):
            fields["device"] = f"{key.upper()}:{rest or '0'}"
        else:
            raise InvalidArgumentError(
                f'device: "{name}" is no name of a device; expected one such as '
                '"/cpu:0" or "/job:ps/task:0"'
            )
    return fields


def merge(inner, outer):
    """The name whose fields are those of `inner`, and else of `outer`."""
    fields = {**parse(outer), **parse(inner)}
    text = ""
    for key in _ORDER:
        if key not in fields:
            continue
        # "/cpu:0", as programs write it.
        value = fields[key]
        text += f"/{value.lower()}" if key == "device" else f"/{key}:{value}"
    return text


class DeviceStack:
    """The device scopes of a graph that are entered: names, functions from an
    operation to a name, and None, which hides what is outside of it.

    Names alone are left to the core. As soon as there is a function or None, the
    device of each new node is decided here.
    """

    def __init__(self):
        self._entries = []

    @property
    def decides(self):
        return any(e is None or callable(e) for e in self._entries)

    def push(self, entry):
        self._entries.append(entry)

    def pop(self):
        self._entries.pop()

    def place(self, node, operation):
        """Gives a new node its device; `operation` is what functions get."""
        node.device = name = ""
        for entry in reversed(self._entries):
            if entry is None:
                break
            chosen = entry(operation) if callable(entry) else entry
            node.device = name = merge(name, chosen or "")
