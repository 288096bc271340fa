#include "rondo/kernels/accumulator.h"

#include "rondo/kernels/cpu/variable.h"
#include "rondo/kernels/cpu/waiting_kernels.h"

namespace rondo {
namespace {

std::shared_ptr<Accumulator> accumulator_of(const Node& node,
                                            Resources& resources) {
  const Attrs& a = node.attrs();
  const auto& name = a.get<std::string>("accumulator");
  auto accumulator =
      resources.find_or_make<Accumulator>("accumulator/" + name).value();
  accumulator
      ->configure(name, {.dtype = a.get<DType>("dtype"),
                         .shape = a.get<PartialShape>("shape"),
                         .mean = a.get<std::string>("reduction_type") == "MEAN",
                         .sparse = a.get<bool>("sparse")})
      .value();
  return accumulator;
}

Result<int64_t> scalar(const Tensor& t, std::string_view name) {
  if (t.count() == 1) return index_at(t, 0);
  return error(Code::kInvalidArgument, "{} has shape {}, expected a scalar",
               name, t.shape().to_string());
}

template <bool kSparse>
class Apply final : public Kernel {
 public:
  Apply(const Node& node, Resources& resources)
      : accumulator_(accumulator_of(node, resources)) {}
  Status run(KernelContext& c) override {
    RONDO_ASSIGN_OR_RETURN(const int64_t step,
                           scalar(c.input(0), "local_step"));
    if constexpr (kSparse)
      return accumulator_->apply(
          step, GradientRows{c.input(1), c.input(2), c.input(3)});
    else
      return accumulator_->apply(step, c.input(1));
  }

 private:
  const std::shared_ptr<Accumulator> accumulator_;
};

class Take final : public AsyncKernel {
 public:
  Take(const Node& node, Resources& resources)
      : accumulator_(accumulator_of(node, resources)) {}
  void start(KernelContext& c, Done done) override {
    const auto required = scalar(c.input(0), "num_required");
    if (!required.ok()) {
      done(required.status());
    } else if (*required < 1) {
      done(error(Code::kInvalidArgument,
                 "num_required is {}: expected at least 1", *required));
    } else {
      accumulator_->take(c, *required, std::move(done));
    }
  }

 private:
  const std::shared_ptr<Accumulator> accumulator_;
};

template <bool kMayGoBack>
class SetStep final : public Kernel {
 public:
  SetStep(const Node& node, Resources& resources)
      : accumulator_(accumulator_of(node, resources)) {}
  Status run(KernelContext& c) override {
    RONDO_ASSIGN_OR_RETURN(const int64_t step, scalar(c.input(0), "step"));
    if constexpr (kMayGoBack)
      accumulator_->resume_at(step);
    else
      accumulator_->set_step(step);
    return {};
  }

 private:
  const std::shared_ptr<Accumulator> accumulator_;
};

class Count final : public Kernel {
 public:
  Count(const Node& node, Resources& resources)
      : accumulator_(accumulator_of(node, resources)) {}
  Status run(KernelContext& c) override {
    c.allocate(0, DType::kI64, {}).span<int64_t>()[0] = accumulator_->count();
    return {};
  }

 private:
  const std::shared_ptr<Accumulator> accumulator_;
};

}  // namespace

void register_accumulator_kernels(KernelRegistry& kernels) {
  kernels.add("AccumulatorApplyGradient", "cpu", from_class<Apply<false>>());
  kernels.add("SparseAccumulatorApplyGradient", "cpu",
              from_class<Apply<true>>());
  kernels.add("AccumulatorTakeGradient", "cpu", from_class<Take>());
  kernels.add("SparseAccumulatorTakeGradient", "cpu", from_class<Take>());
  kernels.add("AccumulatorSetGlobalStep", "cpu", from_class<SetStep<false>>());
  kernels.add("AccumulatorResumeAt", "cpu", from_class<SetStep<true>>());
  kernels.add("AccumulatorNumAccumulated", "cpu", from_class<Count>());
}

}  // namespace rondo
