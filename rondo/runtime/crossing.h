// Crossing: what a Send or Recv of a plan knows of its tensor's way.
#pragma once

#include "rondo/graph/ops/transfer.h"
#include "rondo/runtime/device.h"
#include "rondo/runtime/rendezvous.h"

namespace rondo {

class Crossing {
 public:
  // Of a Send or Recv.
  explicit Crossing(const Node& node)
      : transfer_(TensorTransfer::of(node)), key_(transfer_.key()) {}

  const std::string& key() const { return key_; }
  // As the tensor travels, in the host's memory.
  Rendezvous::Parcel pack(const Tensor& tensor, Device& device) const;
  // As it was before, on the device that gets it; an error when it is not what
  // was to come.
  Result<Tensor> unpack(Rendezvous::Parcel parcel, Device& device) const;

 private:
  const TensorTransfer transfer_;
  const std::string key_;
};

}  // namespace rondo
