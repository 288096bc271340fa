// Exchanges with other ranks. The kernels hand their tensors to the group and
// give their thread back.
#include <cstring>

#include "rondo/kernels/cpu/waiting_kernels.h"
#include "rondo/kernels/exchange_group.h"
#include "rondo/kernels/run_scope.h"

namespace rondo {
namespace {

class ExchangeKernel : public AsyncKernel, public RunScope {
 public:
  explicit ExchangeKernel(const Node& node)
      : unit_{.sequence = node.attrs().get<int64_t>("sequence")},
        optional_(node.attrs().has("optional") &&
                  node.attrs().get<bool>("optional")),
        group_(ExchangeGroup::find(node.attrs().get<std::string>("group"))
                   .value()) {}

  void begin_run(Resources& of_run) override {
    group_->expect(*run_of(of_run), unit_);
  }
  Status left_out(Resources& of_run) override {
    if (!optional_)
      return error(
          Code::kInvalidArgument,
          "an exchange is in a branch that was not taken, and the other ranks "
          "may wait for it: exchange outside of branches");
    group_->leave_out(*run_of(of_run), unit_.sequence);
    return {};
  }
  void end_run(Resources& of_run, const Status& status) override {
    group_->end(*run_of(of_run), status);
  }

 protected:
  // `what` is work, or the tensors of a reduction.
  template <class What>
  void submit(KernelContext& c, What what, Done done) {
    group_->submit(*run_of(c.run_resources()), unit_.sequence, c.cancellation(),
                   std::move(what), std::move(done));
  }

  // Outputs that hold what the inputs do, in their memory where nobody else
  // needs that.
  static void take_inputs(KernelContext& c) {
    for (int i = 0; i < c.inputs(); ++i) {
      const Tensor& in = c.input(i);
      Tensor& out = c.allocate_or_reuse(i, i, in.dtype(), in.shape());
      if (out.data() != in.data() && in.bytes() > 0)
        std::memcpy(out.data(), in.data(), in.bytes());
    }
  }
  static std::span<Tensor> outputs_of(KernelContext& c) {
    return {&c.output(0), static_cast<size_t>(c.outputs())};
  }

  ExchangeUnit unit_;

 private:
  std::shared_ptr<ExchangeRun> run_of(Resources& of_run) const {
    return of_run.find_or_make<ExchangeRun>("exchange/" + group_->name())
        .value();
  }

  const bool optional_;
  const std::shared_ptr<ExchangeGroup> group_;
};

class AllReduce final : public ExchangeKernel {
 public:
  explicit AllReduce(const Node& node) : ExchangeKernel(node) {
    const Attrs& attrs = node.attrs();
    if (attrs.has("unit_bytes")) unit_.bytes = attrs.get<int64_t>("unit_bytes");
    if (attrs.has("unit_family"))
      unit_.family = attrs.get<int64_t>("unit_family");
    unit_.dtype = node.outputs()[0].dtype;
    unit_.terms = {.average = attrs.get<bool>("average"),
                   .wire = attrs.get<DType>("wire")};
  }

  void start(KernelContext& c, Done done) override {
    take_inputs(c);
    submit(c, outputs_of(c), std::move(done));
  }
};

// One that has nothing in common with its neighbours.
class LoneExchange : public ExchangeKernel {
 public:
  using ExchangeKernel::ExchangeKernel;
  void start(KernelContext& c, Done done) final {
    prepare(c);
    submit(
        c, [this, &c](Exchange& exchange) { return exchange_by(exchange, c); },
        std::move(done));
  }

 private:
  virtual void prepare(KernelContext& /*c*/) {}
  // On the group's thread.
  virtual Status exchange_by(Exchange& exchange, KernelContext& c) = 0;
};

class AllGather final : public LoneExchange {
 public:
  explicit AllGather(const Node& node)
      : LoneExchange(node), wire_(node.attrs().get<DType>("wire")) {}

 private:
  Status exchange_by(Exchange& exchange, KernelContext& c) override {
    c.set_output(0, c.input(0));
    return exchange.all_gather(c.output(0), wire_, c.allocator());
  }

  const DType wire_;
};

class AllGatherRows final : public LoneExchange {
 public:
  using LoneExchange::LoneExchange;

 private:
  Status exchange_by(Exchange& exchange, KernelContext& c) override {
    c.set_output(0, c.input(0));
    c.set_output(1, c.input(1));
    return exchange.all_gather_rows(c.output(0), c.output(1), c.allocator());
  }
};

class Broadcast final : public LoneExchange {
 public:
  explicit Broadcast(const Node& node)
      : LoneExchange(node),
        root_(static_cast<int>(node.attrs().get<int64_t>("root"))) {}

 private:
  void prepare(KernelContext& c) override { take_inputs(c); }
  Status exchange_by(Exchange& exchange, KernelContext& c) override {
    return exchange.broadcast(outputs_of(c), root_);
  }

  const int root_;
};

class SetParameters final : public LoneExchange {
 public:
  explicit SetParameters(const Node& node)
      : LoneExchange(node), counts_(node.attrs().get<Ints>("tensors")) {
    const Attrs& attrs = node.attrs();
    const auto& keys = attrs.get<std::vector<std::string>>("keys");
    const auto& numbers = attrs.get<std::vector<double>>("optimizers");
    const size_t each = keys.empty() ? 0 : numbers.size() / keys.size();
    for (size_t i = 0; i < keys.size(); ++i) {
      const double* first = numbers.data() + i * each;
      parameters_.push_back({.key = keys[i],
                             .optimizer = {first, first + each},
                             .by_rows = attrs.get<Ints>("by_rows")[i] != 0});
    }
  }

 private:
  Status exchange_by(Exchange& exchange, KernelContext& c) override {
    const auto servers = exchange.parameters();
    if (!servers)
      return error(Code::kInvalidArgument,
                   "the group has no parameter servers");
    std::vector<Parameter> all = parameters_;
    int next = 0;
    for (size_t i = 0; i < all.size(); ++i)
      for (int64_t k = 0; k < counts_[i]; ++k) {
        if (next == c.inputs())
          return error(Code::kInvalidArgument, "there are too few tensors");
        all[i].tensors.push_back(c.input(next++));
      }
    return servers->set(std::move(all));
  }

  const Ints counts_;
  std::vector<Parameter> parameters_;
};

}  // namespace

void register_exchange_kernels(KernelRegistry& kernels) {
  kernels.add("AllReduce", "cpu", from_class<AllReduce>());
  kernels.add("AllGather", "cpu", from_class<AllGather>());
  kernels.add("AllGatherRows", "cpu", from_class<AllGatherRows>());
  kernels.add("Broadcast", "cpu", from_class<Broadcast>());
  kernels.add("SetParameters", "cpu", from_class<SetParameters>());
}

}  // namespace rondo
