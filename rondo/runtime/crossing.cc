#include "rondo/runtime/crossing.h"

#include "rondo/kernels/cpu/elementwise_loops.h"

namespace rondo {

namespace {

// In the host's memory.
Tensor empty(DType dtype, const Shape& shape, Device& device) {
  return device.in_host_memory() ? device.allocator().allocate(dtype, shape)
                                 : Tensor::empty(shape, dtype);
}

}  // namespace

Rendezvous::Parcel Crossing::pack(const Tensor& tensor, Device& device) const {
  Tensor host = device.to_host(tensor);
  if (transfer_.wire == transfer_.dtype) return {std::move(host)};
  Tensor wire = empty(transfer_.wire, host.shape(), device);
  narrow(transfer_.wire, host.span<float>().data(), wire.data(), host.count());
  return {std::move(wire)};
}

Result<Tensor> Crossing::unpack(Rendezvous::Parcel parcel,
                                Device& device) const {
  Tensor& wire = parcel.tensor;
  if (wire.dtype() != transfer_.wire)
    return error(Code::kInternal, "elements of {} came, expected {}",
                 name_of(wire.dtype()), name_of(transfer_.wire));
  if (transfer_.wire == transfer_.dtype) return device.from_host(wire);
  Tensor tensor = empty(transfer_.dtype, wire.shape(), device);
  widen(transfer_.wire, wire.data(), tensor.span<float>().data(), wire.count());
  return device.from_host(tensor);
}

}  // namespace rondo
