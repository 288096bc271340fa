// Rendezvous: where the Send and Recv nodes of one step meet.
#pragma once

#include <functional>
#include <string>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// One for each step. Any thread.
class Rendezvous {
 public:
  // What travels: a tensor, or none because the branch that would have made it
  // was not taken.
  struct Parcel {
    Tensor tensor;
    bool dead = false;
  };
  using Done = std::function<void(Result<Parcel>)>;

  virtual ~Rendezvous() = default;
  // `key` names the tensor, both devices, and the loop's iteration; each is
  // sent once and received once, in either order. send() never waits for
  // recv().
  virtual Status send(const std::string& key, Parcel parcel) = 0;
  // Calls `done` once, from any thread, maybe before it returns.
  virtual void recv(const std::string& key, Done done) = 0;
  // Everybody who waits, now or later, gets `why`.
  virtual void abort(const Status& why) = 0;
};

}  // namespace rondo
