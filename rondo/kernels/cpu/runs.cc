// What the runs of a session have together: see graph/ops/runs.h.
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rondo/kernels/cpu/waiting_kernels.h"
#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

struct SumOfRuns final : Resource {
  std::mutex mutex;
  // Guarded by mutex.
  int64_t runs = 0;
  Tensor sum;
};

class MeanOfRuns final : public Kernel {
 public:
  MeanOfRuns(const Node& node, Resources& resources)
      : count_(node.attrs().get<int64_t>("count")),
        kept_(
            resources.find_or_make<SumOfRuns>("runs/" + node.name()).value()) {}

  Status run(KernelContext& c) override {
    const std::lock_guard lock(kept_->mutex);
    const Tensor& x = c.input(0);
    if (kept_->runs == 0) {
      take(c);
    } else if (x.shape() != kept_->sum.shape()) {
      return error(Code::kInvalidArgument,
                   "x has shape {}, and had {} in the run before",
                   x.shape().to_string(), kept_->sum.shape().to_string());
    } else {
      reduce(ReduceOp::kSum, x.dtype(), kept_->sum.data(), x.data(),
             static_cast<size_t>(x.count()));
    }
    if (++kept_->runs < count_) return {};
    Tensor& sum = kept_->sum;
    finish_avg(sum.dtype(), sum.data(), static_cast<size_t>(sum.count()),
               static_cast<int>(count_));
    c.set_output(0, std::exchange(sum, {}));
    kept_->runs = 0;
    return {};
  }

 private:
  // x itself, where nobody else needs it.
  void take(KernelContext& c) {
    const Tensor& x = c.input(0);
    Tensor& own = c.allocate_or_reuse(0, 0, x.dtype(), x.shape());
    if (own.data() != x.data() && x.bytes() > 0)
      std::memcpy(own.data(), x.data(), x.bytes());
    kept_->sum = std::exchange(own, {});
  }

  const int64_t count_;
  const std::shared_ptr<SumOfRuns> kept_;
};

struct PartsOfRuns final : Resource {
  std::mutex mutex;
  // Guarded by mutex; each of one run.
  std::vector<Tensor> values;
  std::vector<Tensor> indices;
};

// Below each other.
void join(const std::vector<Tensor>& parts, int output, KernelContext& c) {
  std::vector<int64_t> extents(parts[0].shape().extents().begin(),
                               parts[0].shape().extents().end());
  extents[0] = 0;
  for (const Tensor& part : parts) extents[0] += part.shape()[0];
  Tensor& all = c.allocate(output, parts[0].dtype(), Shape(extents));
  auto* to = static_cast<char*>(all.data());
  for (const Tensor& part : parts) {
    if (part.bytes() > 0) std::memcpy(to, part.data(), part.bytes());
    to += part.bytes();
  }
}

class RowsOfRuns final : public Kernel {
 public:
  RowsOfRuns(const Node& node, Resources& resources)
      : count_(static_cast<size_t>(node.attrs().get<int64_t>("count"))),
        kept_(resources.find_or_make<PartsOfRuns>("runs/" + node.name())
                  .value()) {}

  Status run(KernelContext& c) override {
    const std::lock_guard lock(kept_->mutex);
    auto& values = kept_->values;
    auto& indices = kept_->indices;
    if (c.input(0).shape().rank() == 0)
      return error(Code::kInvalidArgument, "a scalar has no rows");
    values.push_back(c.input(0));
    indices.push_back(c.input(1));
    if (values.size() < count_) return {};
    join(values, 0, c);
    join(indices, 1, c);
    values.clear();
    indices.clear();
    Tensor& all = c.output(0);
    finish_avg(all.dtype(), all.data(), static_cast<size_t>(all.count()),
               static_cast<int>(count_));
    return {};
  }

 private:
  const size_t count_;
  const std::shared_ptr<PartsOfRuns> kept_;
};

}  // namespace

void register_run_kernels(KernelRegistry& kernels) {
  kernels.add("MeanOfRuns", "cpu", from_class<MeanOfRuns>());
  kernels.add("RowsOfRuns", "cpu", from_class<RowsOfRuns>());
}

}  // namespace rondo
