"""Rates of links, in all the ways in which they are written."""

import re

from errors import UsageError

# Of rates, in bits a second. They and bits_per_second are as rondo/base/units.cc,
# so that a lab takes what `rondo plan` does.
UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
UNITS |= {"B": 8, "kB": 8 * 10**3, "KB": 8 * 10**3, "MB": 8 * 10**6}
UNITS |= {"GB": 8 * 10**9, "TB": 8 * 10**12}
UNITS |= {"KiB": 8 << 10, "MiB": 8 << 20, "GiB": 8 << 30}
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RATES = (10**3, 10**12)  # below, no frame gets through tbf; beyond, its numbers end


def bits_per_second(rate):
    match = re.fullmatch(rf"({NUMBER}) *(\w*)", rate.removesuffix("/s"), flags=re.ASCII)
    unit = match[2] if match else ""
    if unit.lower().endswith("bit"):
        unit = unit.lower()
    if unit not in UNITS:
        raise UsageError(f"rate '{rate}' is not like 1gbit, 100mbit, 12.5GB/s or none")
    return float(match[1]) * UNITS[unit]


def rate_of(text):
    """The same for all ways to write it, and one that tc takes; or none."""
    if text == "none":
        return text
    bits = bits_per_second(text)
    least, most = RATES
    if not least <= bits <= most:
        raise UsageError(
            f"rate '{text}': links of a lab have 1kbit to 1tbit, such as 1gbit; or none"
        )
    bits = round(bits)
    unit = next(u for u in ("gbit", "mbit", "kbit", "bit") if bits % UNITS[u] == 0)
    return f"{bits // UNITS[unit]}{unit}"
