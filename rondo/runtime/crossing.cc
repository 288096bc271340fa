#include "rondo/runtime/crossing.h"

#include "rondo/kernels/cpu/elementwise_loops.h"
#include "rondo/kernels/layout.h"

namespace rondo {

Rendezvous::Parcel Crossing::pack(Tensor tensor, Allocator& allocator) const {
  tensor = in_layout(allocator, tensor, Layout::kRowMajor);
  if (transfer_.wire == transfer_.dtype) return {std::move(tensor)};
  Tensor wire = allocator.allocate(transfer_.wire, tensor.shape());
  narrow(transfer_.wire, tensor.span<float>().data(), wire.data(),
         tensor.count());
  return {std::move(wire)};
}

Result<Tensor> Crossing::unpack(Rendezvous::Parcel parcel,
                                Allocator& allocator) const {
  Tensor& wire = parcel.tensor;
  if (wire.dtype() != transfer_.wire)
    return error(Code::kInternal, "elements of {} came, expected {}",
                 name_of(wire.dtype()), name_of(transfer_.wire));
  if (transfer_.wire == transfer_.dtype) return std::move(wire);
  Tensor tensor = allocator.allocate(transfer_.dtype, wire.shape());
  widen(transfer_.wire, wire.data(), tensor.span<float>().data(), wire.count());
  return tensor;
}

}  // namespace rondo
