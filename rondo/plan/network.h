// Network: the machines that train, and what joins them.
//
// Workers are on hosts in order, equally many on each but for the remainder, or
// as many as is said.
// Each host has one link to a switch, the same rate in both directions at once.
// Hosts are in racks in order, and between racks there is one link from each
// rack's switch. Spare machines are hosts of their own, spread over the racks.
#pragma once

#include <vector>

#include "rondo/base/status.h"

namespace rondo {

inline constexpr int kMostWorkers = 1 << 16;

// The share of a link's rate that is left for what programs send by TCP over
// Ethernet: 1448 bytes of each frame, which takes 1538 with headers, checksum,
// preamble and gap.
inline constexpr double kEthernetPayload = 1448.0 / 1538;

struct Network {
  int workers = 1;
  int hosts = 1;
  // Of each host: how many workers there are on it and on those before it.
  // Empty: equally many on each.
  std::vector<int> workers_until = {};
  double link = 1.25e9;    // bytes a second, each way, of a host
  double latency = 50e-6;  // of a message between hosts, one way
  double payload = 1;      // the share of the links' rates that messages get
  // Seconds at its rate that a link lets through at once after a pause, as a
  // shaper does. Wires do not.
  double burst = 0;
  double burst_rate = 4e9;  // bytes a second of that
  int racks = 1;
  double uplink = 0;  // bytes a second of a rack; 0: as much as anybody sends
  // Between workers of one host, and of its memory.
  double local_latency = 3e-6;
  double local_rate = 4e9;    // of messages
  double memory_rate = 10e9;  // of vectors that are reduced where they lie
  double block = 256 << 10;   // bytes in which messages are passed on
  // Sockets from host to host that the blocks of a message take in turn: so
  // many of them arrive at once.
  int streams = 2;
  // Bytes of a socket that may be on their way, until the other end says that
  // they have come; 0: as many as it likes.
  double window = 0;
  // Of these, bytes that may be in the queue of the socket's own host. What
  // else was written to the socket waits there, and nobody else's behind it; 0:
  // all of them. Or a segment, and what the thinnest link on the way takes in
  // so many seconds, where that is more.
  double queued = 0;
  double queued_seconds = 0;
  // What a socket gives its link at once. A link that lets as much through at
  // once passes it on whole, others cut it into frames.
  double segment = 45 * 1448;
  // What acknowledgements take of the links on their way, for each byte that
  // they are for: where frames come one by one, and where segments come whole.
  double acknowledgement = 0;
  double segment_acknowledgement = 0;
  // Bytes of a part that a server adds up in a second, once all of it has come
  // and before it answers; 0: that takes no time.
  double server_rate = 0;
  // Bytes that servers add up and give back at once, and those of a hybrid.
  double part = 4 << 20;
  double hybrid_part = 60 << 10;
  // That a worker has sent to one of a hybrid's and got no answer to.
  double hybrid_unanswered = 240 << 10;

  // What is wrong, and what to change.
  Status check() const;

  // 0..hosts-1; spare machine i has the number hosts + i.
  int host_of(int worker) const;
  int workers_on(int host) const;
  int workers_before(int host) const;
  // The host of one of so many servers that are started beside the workers:
  // equally many on each but for the remainder.
  int host_of_server(int server, int servers) const;
  int most_on_a_host() const;
  int least_on_a_host() const;
  // Another number of them, on so many hosts, equally many on each.
  void spread(int new_workers, int new_hosts);
  // Hosts get as many workers as is said here.
  void place(const std::vector<int>& on_hosts);
  int rack_of(int host) const;
  bool has_uplinks() const { return racks > 1 && uplink > 0; }
  // The same with links of the rate that messages get, of which all is payload.
  Network for_messages() const;
};

}  // namespace rondo
