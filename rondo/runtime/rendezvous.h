// Rendezvous: where the Send and Recv nodes of one step meet.
#pragma once

#include <functional>
#include <string>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// One for each step. Any thread.
class RONDO_API Rendezvous {
 public:
  // What travels: a tensor, or none because the branch that would have made it
  // was not taken. The tensor may be shared, so it is not for changing, and is
  // of the type it travels as (TensorTransfer::wire).
  struct Parcel {
    Tensor tensor;
    bool dead = false;
  };
  using Done = std::function<void(Result<Parcel>)>;

  virtual ~Rendezvous() = default;
  // `key` names both devices and the tensor (TensorTransfer::key); each is sent
  // once and received once, in either order. send() never waits for recv().
  virtual Status send(const std::string& key, Parcel parcel) = 0;
  // Calls `done` once, from any thread, maybe before it returns.
  virtual void recv(const std::string& key, Done done) = 0;
  // Everybody who waits, now or later, gets `why`, and so does who sends.
  virtual void abort(const Status& why) = 0;
};

}  // namespace rondo
