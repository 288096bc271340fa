"""A job in a lab: which rank and which server is on which host."""

import secrets

from errors import UsageError
from programs import run_together

MAX_RANKS = 4096  # as for `rondo run`


def even_place(number, all, hosts):
    """The host of one of so many that are spread over hosts in order, of which the
    first have one more where the numbers do not divide."""
    each, more = divmod(all, hosts)
    if number < more * (each + 1):
        return number // (each + 1)
    return more + (number - more * (each + 1)) // each


def hosts_of_job(lab, ranks, servers, beside):
    """The hosts of ranks, and those of servers: one each, and the racks in turn;
    or those of the ranks, as `rondo run` has them."""
    if beside:
        hosts = min(ranks, lab.state["hosts"])
        serving = [even_place(number, servers, hosts) for number in range(servers)]
        return list(range(hosts)), serving
    racks = {"br0": [], "br1": []}
    for index in range(lab.state["hosts"]):
        racks[lab.bridge_of(index)].append(index)
    racks = [rack for rack in racks.values() if rack]
    serving = []
    for number in range(servers):
        rack = racks[number % len(racks)] or max(racks, key=len)
        if rack:
            serving.append(rack.pop())
    return sorted(index for rack in racks for index in rack), serving


def run_job(lab, options):
    """As `rondo run`: ranks that find each other, in order on the hosts, and
    servers on hosts of their own, or beside them."""
    ranks, servers = options.ranks, options.servers
    if not 1 <= ranks <= MAX_RANKS:
        raise UsageError(f"-n {ranks}: a job has from 1 to {MAX_RANKS} ranks")
    if servers < 0 or (servers >= lab.state["hosts"] and not options.beside):
        raise UsageError(
            f"--servers {servers}: each has a host of its own, and a host has to "
            f"be left for ranks; lab '{lab.name}' has {lab.state['hosts']} (with "
            "--beside, servers are on the ranks' hosts)"
        )
    ranked, serving = hosts_of_job(lab, ranks, servers, options.beside)
    hosts = len(ranked)
    # Any port is as free as another on hosts that nobody else uses.
    port = 20000 + secrets.randbelow(10000)
    job = {
        "RONDO_WORLD_SIZE": str(ranks),
        "RONDO_STORE": f"tcp://{lab.address(ranked[0])}:{port}",
        "RONDO_TOKEN": secrets.token_hex(16),
        **({"RONDO_SERVERS": str(servers)} if servers else {}),
    }
    host_of = [ranked[even_place(rank, ranks, hosts)] for rank in range(ranks)]
    places = []
    for rank, host in enumerate(host_of):
        variables = {
            "RONDO_RANK": str(rank),
            "RONDO_LOCAL_RANK": str(host_of[:rank].count(host)),
            "RONDO_LOCAL_SIZE": str(host_of.count(host)),
        }
        places.append((host, str(rank), {**job, **variables}))
    size = {"RONDO_WORLD_SIZE": str(ranks + servers)}
    return run_together(
        lab,
        options.command,
        places,
        [
            (host, f"server {i}", {**job, **size, "RONDO_RANK": str(ranks + i)})
            for i, host in enumerate(serving)
        ],
        options.input,
    )
