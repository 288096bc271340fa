#include "rondo/kernels/cpu/primitive_calls.h"

#include <utility>

namespace rondo {

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

PrimitiveCalls::PrimitiveCalls(dnnl::primitive primitive, std::vector<Arg> args)
    : primitive_(std::move(primitive)),
      args_(std::move(args)),
      idle_(std::make_unique<Idle>()) {}

std::unique_ptr<PrimitiveCalls::Call> PrimitiveCalls::take() const {
  {
    const std::lock_guard lock(idle_->mutex);
    if (!idle_->calls.empty()) {
      auto call = std::move(idle_->calls.back());
      idle_->calls.pop_back();
      return call;
    }
  }
  auto call = std::make_unique<Call>();
  call->stream = dnnl::stream(cpu_engine());
  for (const Arg& arg : args_) {
    const dnnl::memory memory(arg.desc, cpu_engine(), DNNL_MEMORY_NONE);
    call->args.push_back({arg.name, memory.get()});
    call->memories.push_back(memory);
  }
  return call;
}

void PrimitiveCalls::execute(std::span<void* const> data) const {
  std::unique_ptr<Call> call = take();
  for (size_t i = 0; i < call->memories.size(); ++i)
    call->memories[i].set_data_handle(data[i], call->stream);
  // The C function: that of C++ takes a map.
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), call->stream.get(),
                             static_cast<int>(call->args.size()),
                             call->args.data()),
      "could not execute a primitive");
  call->stream.wait();
  const std::lock_guard lock(idle_->mutex);
  idle_->calls.push_back(std::move(call));
}

}  // namespace rondo
