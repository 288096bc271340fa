// CommunicatorExchange: exchanges of graphs by a Communicator.
#pragma once

#include <vector>

#include "rondo/collectives/communicator.h"
#include "rondo/kernels/exchange.h"

namespace rondo {

class CommunicatorExchange : public Exchange {
 public:
  // `chooses`: every rank has chosen for itself, by what its graph knows, which
  // gradients travel as factors.
  explicit CommunicatorExchange(Communicator comm, bool chooses = false);

  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  Status all_reduce(std::span<Tensor> tensors,
                    const ReduceTerms& terms) override;
  Status all_gather(Tensor& rows, DType wire, Allocator& allocator) override;
  Status all_gather_rows(Tensor& values, Tensor& indices,
                         Allocator& allocator) override;
  Status broadcast(std::span<Tensor> tensors, int root) override;
  void abort(const std::string& reason) override { comm_.abort(reason); }

 protected:
  // A bucket as it travels: its tensors, or one that is made of them.
  struct Packed {
    std::vector<Tensor> tensors;
    bool copied = false;
  };
  static ReduceOp op_of(const ReduceTerms& terms) {
    return terms.average ? ReduceOp::kAvg : ReduceOp::kSum;
  }
  Packed pack(std::span<const Tensor> tensors, const ReduceTerms& terms) const;
  // What came back, to where it was packed from.
  static void unpack(const Packed& packed, std::span<Tensor> tensors);
  Status reduce_among_ranks(std::span<const View> views, ReduceOp op);

 private:
  // An error that may come of different choices says so.
  Status checked(Status status) const;

  Communicator comm_;
  const bool chooses_;
  const bool between_hosts_;
};

}  // namespace rondo
