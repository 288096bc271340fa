// Pushes to, and pulls from, parameter servers. The kernels hand their tensors
// over and give their thread back.
#include "rondo/kernels/parameters.h"

#include <atomic>
#include <cmath>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/waiting_kernels.h"
#include "rondo/kernels/exchange_group.h"
#include "rondo/kernels/run_scope.h"

namespace rondo {
namespace {

// A kernel's wait for servers, which ends once: by their answer, or when the
// run is cancelled.
class Wait {
 public:
  static std::shared_ptr<Wait> begin(Cancellation& cancellation,
                                     AsyncKernel::Done done) {
    auto wait = std::make_shared<Wait>(cancellation, std::move(done));
    wait->wake_ = cancellation.on_cancel([wait] {
      if (!wait->over_.exchange(true))
        wait->done_(wait->cancellation_.reason());
    });
    return wait;
  }
  Wait(Cancellation& cancellation, AsyncKernel::Done done)
      : cancellation_(cancellation), done_(std::move(done)) {}

  // Where it counts, calls `take` for what has come. With done_, the run may
  // be over, and its cancellation gone.
  void end(Status status, const std::function<void()>& take = {}) {
    if (over_.exchange(true)) return;
    if (status.ok() && take) take();
    cancellation_.drop(wake_);
    done_(std::move(status));
  }

 private:
  Cancellation& cancellation_;
  const AsyncKernel::Done done_;
  int wake_ = 0;
  std::atomic<bool> over_ = false;
};

// Whether a run has begun, and pushed anything.
struct Pushed final : Resource {
  std::atomic<bool> begun = false;
  std::atomic<bool> any = false;
};

class ParameterKernel : public AsyncKernel {
 public:
  explicit ParameterKernel(const Node& node)
      : key_(node.attrs().get<std::string>("key")),
        group_(ExchangeGroup::find(node.attrs().get<std::string>("group"))
                   .value()) {}

  void start(KernelContext& c, Done done) final {
    const std::shared_ptr<Parameters> servers = group_->parameters();
    if (!servers)
      return done(error(Code::kCancelled,
                        "the group \"{}\" is closed, or has no parameter "
                        "servers",
                        group_->name()));
    call(*servers, c, std::move(done));
  }

 protected:
  // Takes what it needs of the context before it begins to wait: with that,
  // the run may end any time.
  virtual void call(Parameters& servers, KernelContext& c, Done done) = 0;
  const std::string& key() const { return key_; }
  ExchangeGroup& group() const { return *group_; }

 private:
  const std::string key_;
  const std::shared_ptr<ExchangeGroup> group_;
};

// One that sends a gradient, with the learning rate as its last input.
class PushKernel : public ParameterKernel, public RunScope {
 public:
  using ParameterKernel::ParameterKernel;

  void begin_run(Resources& of_run) override {
    pushed_in(of_run)->begun = true;
  }
  Status left_out(Resources& /*of_run*/) override {
    return error(Code::kInvalidArgument,
                 "a push to parameter servers is in a branch that was not "
                 "taken, and the other ranks may wait for it: train outside of "
                 "branches");
  }
  // One that did not begin was no step. The end of the data before the first
  // push is no failure: the others may have come to theirs too.
  void end_run(Resources& of_run, const Status& status) override {
    if (status.ok()) return;
    const auto pushed = pushed_in(of_run);
    if (!pushed->begun) return;
    if (status.code() == Code::kOutOfRange && !pushed->any) return;
    const auto servers = group().parameters();
    if (!servers) return;
    lose(*servers);
    servers->give_up(fmt::format("its step failed: {}", status.message()));
  }

 protected:
  void call(Parameters& servers, KernelContext& c, Done done) final {
    const Tensor& last = c.input(c.inputs() - 1);
    const double rate = dispatch_float(last.dtype(), [&]<class T>() {
      return static_cast<double>(load(last.span<T>()[0]));
    });
    // For servers, that means their own.
    if (std::isnan(rate))
      return done(error(Code::kInvalidArgument,
                        "the learning rate of \"{}\" is not a number", key()));
    pushed_in(c.run_resources())->any = true;
    push(servers, c, rate, std::move(done));
  }
  virtual void push(Parameters& servers, KernelContext& c, double rate,
                    Done done) = 0;
  // What came back in a run that failed may not be in the variable.
  virtual void lose(Parameters& /*servers*/) const {}

 private:
  std::shared_ptr<Pushed> pushed_in(Resources& of_run) const {
    return of_run.find_or_make<Pushed>(fmt::format("pushed/{}", group().name()))
        .value();
  }
};

class PushPull final : public PushKernel {
 public:
  explicit PushPull(const Node& node)
      : PushKernel(node), dtype_(node.attrs().get<DType>("dtype")) {}

 private:
  void push(Parameters& servers, KernelContext& c, double rate,
            Done done) override {
    const Tensor gradient = c.input(0);
    const Tensor into = c.allocate(0, dtype_, gradient.shape());
    const auto wait = Wait::begin(c.cancellation(), std::move(done));
    servers.push_pull(key(), gradient, rate, into,
                      [wait](const Status& status) { wait->end(status); });
  }
  const DType dtype_;  // of the value; the gradient may be narrower
};

Tensor as_i64(const Tensor& indices) {
  if (indices.dtype() == DType::kI64) return indices;
  Tensor wide = Tensor::empty(indices.shape(), DType::kI64);
  const auto from = indices.span<int32_t>();
  std::copy(from.begin(), from.end(), wide.span<int64_t>().begin());
  return wide;
}

class PushPullRows final : public PushKernel {
  using PushKernel::PushKernel;
  void push(Parameters& servers, KernelContext& c, double rate,
            Done done) override {
    const Parameters::Rows gradient{as_i64(c.input(1)), c.input(0)};
    auto changed = std::make_shared<Parameters::Rows>();
    const auto wait = Wait::begin(c.cancellation(), std::move(done));
    servers.push_pull_rows(key(), gradient, rate, changed,
                           [wait, changed, &c](const Status& status) {
                             wait->end(status, [&] {
                               c.set_output(0, changed->rows);
                               c.set_output(1, changed->indices);
                             });
                           });
  }
  void lose(Parameters& servers) const override { servers.forget_rows(key()); }
};

class PullSlots final : public ParameterKernel {
 public:
  explicit PullSlots(const Node& node)
      : ParameterKernel(node),
        dtype_(node.attrs().get<DType>("dtype")),
        shape_(node.attrs().get<PartialShape>("shape")) {}

 private:
  void call(Parameters& servers, KernelContext& c, Done done) override {
    std::vector<Tensor> into;
    for (int i = 0; i < c.outputs(); ++i)
      into.push_back(c.allocate(i, dtype_, shape_.to_shape()));
    const auto wait = Wait::begin(c.cancellation(), std::move(done));
    servers.pull_slots(key(), into,
                       [wait](const Status& status) { wait->end(status); });
  }
  const DType dtype_;
  const PartialShape shape_;
};

}  // namespace

void register_parameter_kernels(KernelRegistry& kernels) {
  kernels.add("PushPull", "cpu", from_class<PushPull>());
  kernels.add("PushPullRows", "cpu", from_class<PushPullRows>());
  kernels.add("PullSlots", "cpu", from_class<PullSlots>());
}

}  // namespace rondo
