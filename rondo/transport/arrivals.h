// Arrivals: the data streams and the mail that have come for an endpoint's
// groups and that nobody has taken yet.
//
// Both may come before the group exists here, since a peer can be ahead, and
// wait for it. What comes after the group has closed is dropped. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "rondo/transport/socket.h"

namespace rondo {

class Arrivals {
 public:
  void add_stream(uint64_t group, int peer, int index, Fd fd);
  std::optional<Fd> take_stream(uint64_t group, int peer, int index);

  void add_mail(uint64_t group, uint64_t round, int peer, std::string text);
  bool has_mail(uint64_t group, uint64_t round, int peer) const {
    return mail_.contains({group, round, peer});
  }
  // Of mail that is there.
  std::string take_mail(uint64_t group, uint64_t round, int peer);

  // The group exists here, perhaps again.
  void open(uint64_t group);
  // Drops what has come for the group and what will.
  void close(uint64_t group);

  // What waits, in all.
  size_t streams() const { return streams_.size(); }
  size_t mail() const { return mail_.size(); }

 private:
  // Peers finish within a moment of each other, so late arrivals concern the
  // groups that closed last.
  static constexpr size_t kRemembered = 4096;

  std::map<std::tuple<uint64_t, int, int>, Fd> streams_;  // group, peer, index
  std::map<std::tuple<uint64_t, uint64_t, int>, std::string>
      mail_;  // group, round, peer
  std::set<uint64_t> closed_;
  std::deque<uint64_t> closing_order_;
};

}  // namespace rondo
