// What the runs of a session have together: see graph/ops/runs.h.
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/waiting_kernels.h"
#include "rondo/kernels/run_scope.h"
#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

constexpr int64_t kGrain = 1 << 15;

void divide(Tensor& sum, int64_t runs) {
  auto* const data = static_cast<char*>(sum.data());
  const size_t size = size_of(sum.dtype());
  parallel_for(sum.count(), kGrain, [&](int64_t begin, int64_t end) {
    finish_avg(sum.dtype(), data + static_cast<size_t>(begin) * size,
               static_cast<size_t>(end - begin), static_cast<int>(runs));
  });
}

// Input `i`, to be kept beyond the run: itself where nobody else has it, which
// may be the caller, who writes the next batch into the memory of this one.
Tensor take(KernelContext& c, int i) {
  const Tensor& x = c.input(i);
  Tensor& own = c.allocate_or_reuse(i, i, x.dtype(), x.shape());
  if (own.data() != x.data() && x.bytes() > 0)
    std::memcpy(own.data(), x.data(), x.bytes());
  return std::exchange(own, {});
}

// What a run knows: whether any of these kernels has counted it.
struct CountedRun final : Resource {
  std::atomic<bool> counted = false;
};

// A kernel that keeps something from run to run. One that fails halfway was
// counted by some kernels and not by others, so all of them begin again; one
// that failed before, as at the end of the data, leaves what they have.
class OverRuns : public Kernel, public RunScope {
 public:
  void begin_run(Resources& /*of_run*/) final {}
  Status left_out(Resources& /*of_run*/) final { return {}; }
  void end_run(Resources& of_run, const Status& status) final {
    if (!status.ok() && of(of_run)->counted) forget();
  }
  Status run(KernelContext& c) final {
    of(c.run_resources())->counted = true;
    return keep(c);
  }

 private:
  virtual Status keep(KernelContext& c) = 0;
  virtual void forget() = 0;
  static std::shared_ptr<CountedRun> of(Resources& of_run) {
    return of_run.find_or_make<CountedRun>("runs").value();
  }
};

struct SumOfRuns final : Resource {
  std::mutex mutex;
  // Guarded by mutex.
  int64_t runs = 0;
  Tensor sum;
};

class MeanOfRuns final : public OverRuns {
 public:
  MeanOfRuns(const Node& node, Resources& resources)
      : count_(node.attrs().get<int64_t>("count")),
        kept_(
            resources.find_or_make<SumOfRuns>("runs/" + node.name()).value()) {}

 private:
  Status keep(KernelContext& c) override {
    const std::lock_guard lock(kept_->mutex);
    const Tensor& x = c.input(0);
    if (kept_->runs == 0) {
      kept_->sum = take(c, 0);
    } else if (x.shape() != kept_->sum.shape()) {
      return error(Code::kInvalidArgument,
                   "x has shape {}, and had {} in the run before",
                   x.shape().to_string(), kept_->sum.shape().to_string());
    } else {
      add(x);
    }
    if (++kept_->runs < count_) return {};
    kept_->runs = 0;
    divide(kept_->sum, count_);
    c.set_output(0, std::exchange(kept_->sum, {}));
    return {};
  }
  void forget() override {
    const std::lock_guard lock(kept_->mutex);
    kept_->runs = 0;
    kept_->sum = {};
  }

  void add(const Tensor& x) {
    const size_t size = size_of(x.dtype());
    auto* const sum = static_cast<char*>(kept_->sum.data());
    const auto* const more = static_cast<const char*>(x.data());
    parallel_for(x.count(), kGrain, [&](int64_t begin, int64_t end) {
      const size_t at = static_cast<size_t>(begin) * size;
      reduce(ReduceOp::kSum, x.dtype(), sum + at, more + at,
             static_cast<size_t>(end - begin));
    });
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

class RowsOfRuns final : public OverRuns {
 public:
  RowsOfRuns(const Node& node, Resources& resources)
      : count_(static_cast<size_t>(node.attrs().get<int64_t>("count"))),
        kept_(resources.find_or_make<PartsOfRuns>("runs/" + node.name())
                  .value()) {}

 private:
  Status keep(KernelContext& c) override {
    const std::lock_guard lock(kept_->mutex);
    auto& values = kept_->values;
    auto& indices = kept_->indices;
    if (c.input(0).shape().rank() == 0)
      return error(Code::kInvalidArgument, "a scalar has no rows");
    values.push_back(take(c, 0));
    indices.push_back(take(c, 1));
    if (values.size() < count_) return {};
    join(values, 0, c);
    join(indices, 1, c);
    values.clear();
    indices.clear();
    divide(c.output(0), static_cast<int64_t>(count_));
    return {};
  }
  void forget() override {
    const std::lock_guard lock(kept_->mutex);
    kept_->values.clear();
    kept_->indices.clear();
  }

  const size_t count_;
  const std::shared_ptr<PartsOfRuns> kept_;
};

}  // namespace

void register_run_kernels(KernelRegistry& kernels) {
  kernels.add("MeanOfRuns", "cpu", from_class<MeanOfRuns>());
  kernels.add("RowsOfRuns", "cpu", from_class<RowsOfRuns>());
}

}  // namespace rondo
