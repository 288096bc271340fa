"""What a lab is to be like: how many hosts, at which links."""

from errors import UsageError
from hosts import half_of
from rates import rate_of

MAX_HOSTS = 250


def shape_of(options):
    """What the options say a lab is to be like."""
    if not 1 <= options.hosts <= MAX_HOSTS:
        raise UsageError(f"{options.hosts} hosts: a lab has 1 to {MAX_HOSTS}")
    racks = options.topology == "racks"
    if racks and options.hosts < 2:
        raise UsageError("two racks need two hosts or more: --hosts 4")
    if options.uplink is not None and not racks:
        raise UsageError("--uplink joins racks; say --topology racks")
    first = half_of(options.hosts)
    if options.first_rack is not None:
        first = options.first_rack
        if not racks or not 1 <= first < options.hosts:
            raise UsageError(
                f"--first-rack {first}: of two racks (--topology racks), each has a "
                "host at least"
            )
    rate = rate_of(options.rate)
    uplink = rate if options.uplink is None else rate_of(options.uplink)
    return {
        "hosts": options.hosts,
        "rate": rate,
        "topology": options.topology,
        "uplink": uplink if racks else "none",
        "first_rack": first,
    }


def differences(state, shape):
    """In what a lab is not as it should be, in words."""
    racks = state["topology"] == shape["topology"] == "racks"
    return "; ".join(
        f"{key.replace('_', ' ')} {state[key]}, not {wanted}"
        for key, wanted in shape.items()
        if state[key] != wanted and (racks or key != "first_rack")
    )
