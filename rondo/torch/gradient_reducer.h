// GradientReducer: averages gradients over the ranks while the backward pass
// gives them.
//
// Each parameter's gradient is put into its bucket when autograd has added it
// up. Buckets are reduced in their order, which is the same on all ranks, as
// soon as they and all before them are full. The end of the backward pass waits
// for them.
//
// Hooks of the parameters hold it weakly. Any thread may run a backward pass,
// one at a time.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/collectives/communicator.h"
#include "rondo/torch/distributed_data_parallel.h"
#include "rondo/torch/gradient_bucket.h"

namespace rondo::torch {

struct NamedParameter {
  std::string name;
  at::Tensor tensor;  // a leaf that requires a gradient
};

class GradientReducer : public std::enable_shared_from_this<GradientReducer> {
 public:
  static std::shared_ptr<GradientReducer> make(
      std::vector<NamedParameter> parameters, Communicator comm,
      const DistributedDataParallelOptions& options);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Called before a forward pass: whether the backward pass of it is to average
  // gradients.
  void expect(bool sync);

 private:
  // What the next gradient is for.
  enum class Mode { kNothing, kLocal, kAverage };
  // Of one parameter.
  struct Slot {
    NamedParameter parameter;
    c10::intrusive_ptr<::torch::autograd::Node> accumulator;
    uintptr_t hook = 0;
    size_t bucket = 0;
    at::Tensor view;  // in the bucket
    bool ready = false;
  };

  GradientReducer(std::vector<NamedParameter> parameters, Communicator comm,
                  const DistributedDataParallelOptions& options);
  void add_hooks();
  void on_gradient(size_t i) RONDO_EXCLUDES(mutex_);
  void on_end() RONDO_EXCLUDES(mutex_);

  void begin() RONDO_REQUIRES(mutex_);
  void put_into_bucket(Slot& slot) RONDO_REQUIRES(mutex_);
  void set_ready(Slot& slot) RONDO_REQUIRES(mutex_);
  void check_all_ready() RONDO_REQUIRES(mutex_);
  void wait() RONDO_REQUIRES(mutex_);
  void wait_for(Work& work, const std::string& what) RONDO_REQUIRES(mutex_);
  void give_gradients() RONDO_REQUIRES(mutex_);
  // Ends the communicator, so that no other rank waits for this one, and
  // throws.
  [[noreturn]] void fail(Code code, const std::string& text);

  Communicator comm_;
  const bool find_unused_;
  Mutex mutex_;
  Mode mode_ RONDO_GUARDED_BY(mutex_) = Mode::kNothing;
  std::vector<Slot> slots_ RONDO_GUARDED_BY(mutex_);
  std::vector<GradientBucket> buckets_ RONDO_GUARDED_BY(mutex_);
  // Which slots got a gradient since the last average, here and then anywhere.
  std::vector<uint8_t> used_ RONDO_GUARDED_BY(mutex_);
  Work used_work_ RONDO_GUARDED_BY(mutex_);
  // Of the average under way: the bucket to be reduced next.
  bool under_way_ RONDO_GUARDED_BY(mutex_) = false;
  size_t next_ RONDO_GUARDED_BY(mutex_) = 0;
};

}  // namespace rondo::torch
