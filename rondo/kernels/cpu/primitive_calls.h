// PrimitiveCalls: runs one primitive of oneDNN's, step after step.
#pragma once

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

namespace rondo {

// The one engine of this process's CPU; it has no state.
const dnnl::engine& cpu_engine();

// A call of a primitive needs a stream and, for each argument, a memory object.
// They are kept from call to call, one set for each that goes on at a time, so
// that a call makes none. Any number of threads may execute it at once.
class PrimitiveCalls {
 public:
  struct Arg {
    int name;  // DNNL_ARG_SRC
    dnnl::memory::desc desc;
  };
  PrimitiveCalls() = default;  // for nothing but assigning to
  PrimitiveCalls(dnnl::primitive primitive, std::vector<Arg> args);

  // With the arguments' elements, in the order of the arguments. Returns when
  // it is done; throws dnnl::error.
  void execute(std::span<void* const> data) const;

 private:
  struct Call {
    dnnl::stream stream;
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> args;  // of the memories
  };
  struct Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<Call>> calls;  // guarded by mutex
  };
  std::unique_ptr<Call> take() const;

  dnnl::primitive primitive_;
  std::vector<Arg> args_;
  std::unique_ptr<Idle> idle_;
};

}  // namespace rondo
