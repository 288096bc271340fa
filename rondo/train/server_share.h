// ServerShare: how much of a bucket goes through servers that only reduce; the
// rest is the ranks' own allreduce.
//
// n ranks and k servers have links of S bytes a second each way. Of D bytes a
// rank sends the share s to servers, s*D, and of the rest (1-s)*2D(n-1)/n to
// other ranks; a server gets n*s*D/k. Both take the same time, which is the
// least, 2n(n-1)D/((n*n+kn-2k)S), at s = 2k(n-1)/(n*n+kn-2k). k = 0 is the
// ring; from k = n on everything goes through servers, in D/S.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/env.h"
#include "rondo/tensor/dtype.h"

namespace rondo {

// Bytes that servers add up and give back at once: they answer when they have
// as much from every rank. The smaller, the earlier the first answer; each
// costs a message. With the message's head it is one segment of TCP, 64 KB at
// most: a few bytes more would be a segment of their own, which queues behind
// those of all other sockets of the host.
inline constexpr size_t kServedPart = size_t{60} << 10;

// Bytes that a rank has sent to a server and got no answer to. Enough that the
// server always has something to add up and to answer; more would wait on the
// way, and take the link from the other ranks, whose own part then has it to
// itself one way while answers still come the other way. Half of it is 10 to
// 13 % faster for buckets of a few MB of eight ranks, whose first answers come
// earlier, and as much slower for many large ones.
inline constexpr size_t kServedAtOnce = 4 * kServedPart;

struct ServerShare {
  double share = 0;        // from 0 to 1
  double least_bytes = 0;  // smaller buckets are the ranks' alone
  bool operator==(const ServerShare&) const = default;

  // Of a bucket of so many bytes.
  double of(double bytes) const { return bytes < least_bytes ? 0 : share; }
};

// The share that takes the least time, of buckets without end.
RONDO_API double server_share(int ranks, int servers);

// The same, where it pays. A bucket that is alone waits for the first answer,
// before which n parts travel to a server. So servers get nothing of those for
// which their help saves a rank fewer bytes than that; and nothing at all where
// it saves none: with two ranks.
RONDO_API ServerShare best_server_share(int ranks, int servers);

// What RONDO_SERVER_SHARE says: a share, or below 0 for the best.
RONDO_API Result<double> server_share_of(const Env& env);

// How many bytes a rank sends for each byte of a bucket of which this share
// goes through servers. It receives as many.
RONDO_API double sent_share(int ranks, double server_share);

// How many of a bucket's last elements go through servers. They begin at
// a multiple of 64 bytes; at least one element is left to the ranks, who
// notice by it that one of them is gone, or reduces something else.
RONDO_API int64_t served_elements(int64_t count, DType dtype,
                                  const ServerShare& share);

}  // namespace rondo
