#include "rondo/torch/mapped.h"

#include <ATen/EmptyTensor.h>

#include "rondo/tensor/heap.h"

namespace rondo::torch {
namespace {

void free_mapped(void* p) { SharedHeap::process().free(p); }

class MappedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* p = SharedHeap::process().allocate(bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, p != nullptr,
                     "rondo: no memory for a tensor of ", bytes, " bytes");
    return {p, p, free_mapped, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_mapped; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

std::shared_ptr<c10::Allocator> mapped_allocator() {
  static const auto allocator = std::make_shared<MappedAllocator>();
  return allocator;
}

at::Tensor mapped_empty(at::IntArrayRef sizes, at::ScalarType dtype) {
  constexpr c10::DispatchKeySet keys(c10::DispatchKey::CPU);
  return at::detail::empty_generic(sizes, mapped_allocator().get(), keys, dtype,
                                   std::nullopt);
}

bool can_map() { return SharedHeap::process().shareable(); }

bool is_mapped(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided &&
         SharedHeap::process()
             .offset_of(tensor.const_data_ptr(), tensor.nbytes())
             .has_value();
}

}  // namespace rondo::torch
