// Crossing: what a Send or Recv of a plan knows of its tensor's way.
#pragma once

#include "rondo/graph/ops/transfer.h"
#include "rondo/kernels/kernel.h"
#include "rondo/runtime/rendezvous.h"

namespace rondo {

class Crossing {
 public:
  // Of a Send or Recv.
  explicit Crossing(const Node& node)
      : transfer_(Transfer::of(node)), key_(transfer_.key()) {}

  const std::string& key() const { return key_; }
  // As the tensor travels.
  Rendezvous::Parcel pack(Tensor tensor, Allocator& allocator) const;
  // As it was before; an error when its elements are of another type.
  Result<Tensor> unpack(Rendezvous::Parcel parcel, Allocator& allocator) const;

 private:
  const Transfer transfer_;
  const std::string key_;
};

}  // namespace rondo
