// Exchange: what a group of ranks can do together. Operations reach the other
// ranks by it and do not know how; rondo/train/ has the one on a Communicator.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/attempt.h"
#include "rondo/base/status.h"
#include "rondo/kernels/kernel.h"
#include "rondo/kernels/parameters.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// How tensors are reduced.
struct ReduceTerms {
  bool average = true;  // the mean over all ranks, or the sum
  DType wire = DType::kF32;
  auto operator<=>(const ReduceTerms&) const = default;
};

// One thread at a time calls the exchanges, and all ranks call the same ones in
// the same order. A failure is final.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Tensors of one type, in place.
  virtual Status all_reduce(std::span<Tensor> tensors,
                            const ReduceTerms& terms) = 0;
  // The same, but may return before it is over; others may begin meanwhile.
  // `done` is called once, on any thread, maybe before this returns. Does not
  // throw.
  using Done = std::function<void(const Status&)>;
  virtual void begin_all_reduce(std::vector<Tensor> tensors,
                                const ReduceTerms& terms, const Done& done) {
    const Status how = attempt([&] { return all_reduce(tensors, terms); });
    // Whoever needs them next may take their memory if it has them alone.
    tensors.clear();
    done(how);
  }
  // Becomes that of all ranks, one rank's rows behind the other's, in memory of
  // the allocator's. All have equally many.
  virtual Status all_gather(Tensor& rows, DType wire, Allocator& allocator) = 0;
  // Both become those of all ranks, one rank's behind the other's, in memory of
  // the allocator's.
  virtual Status all_gather_rows(Tensor& values, Tensor& indices,
                                 Allocator& allocator) = 0;
  // In place.
  virtual Status broadcast(std::span<Tensor> tensors, int root) = 0;

  // What servers keep for the group; nullptr: it has none.
  virtual std::shared_ptr<Parameters> parameters() { return nullptr; }

  // From any thread: ends what is under way, and every later call, on every
  // rank.
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace rondo
