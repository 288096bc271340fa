#include "rondo/kernels/accumulator.h"

#include <set>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/variable.h"

namespace rondo {
namespace {

// Elements `first` and on of `from`, as many as `sum` has.
void add_to(Tensor& sum, const Tensor& from, int64_t first) {
  dispatch_float(from.dtype(), [&]<class T>() {
    const auto to = sum.span<Computed<T>>();
    const T* x = from.span<T>().data() + first;
    for (size_t i = 0; i < to.size(); ++i) to[i] += load(x[i]);
  });
}

Tensor zero_sum(DType dtype, const Shape& shape) {
  return dispatch_float(dtype, [&]<class T>() {
    return Tensor::zeros(shape, dtype_of<Computed<T>>);
  });
}

// sum / count, from element `first` of `to` on.
void store_average(const Tensor& sum, int64_t count, Tensor& to,
                   int64_t first) {
  dispatch_float(to.dtype(), [&]<class T>() {
    const auto from = sum.span<Computed<T>>();
    T* y = to.span<T>().data() + first;
    for (size_t i = 0; i < from.size(); ++i)
      y[i] = store<T>(from[i] / static_cast<Computed<T>>(count));
  });
}

int64_t width_of(const GradientRows& gradient) {
  const int64_t rows = gradient.values.shape()[0];
  return rows == 0 ? 0 : gradient.values.count() / rows;
}

}  // namespace

struct Accumulator::Taking final : WaitingKernel {
  Taking(KernelContext& context, AsyncKernel::Done done, int64_t n)
      : WaitingKernel(context, std::move(done)), required(n) {}

  Status deliver(KernelContext& context) override {
    if (!options.sparse) {
      store_average(sum, options.mean ? count : 1,
                    context.allocate(0, options.dtype, sum.shape()), 0);
      return {};
    }
    Ints extents(shape.extents().begin(), shape.extents().end());
    // Where nobody said, as many rows as the last index makes it.
    if (extents[0] == kAny)
      extents[0] = rows.empty() ? 0 : rows.rbegin()->first + 1;
    const auto rank = static_cast<int64_t>(extents.size());
    auto whole = context.allocate(2, DType::kI64, {rank}).span<int64_t>();
    std::copy(extents.begin(), extents.end(), whole.begin());
    const auto n = static_cast<int64_t>(rows.size());
    auto indices = context.allocate(1, DType::kI64, {n}).span<int64_t>();
    extents[0] = n;
    Tensor& values = context.allocate(0, options.dtype, Shape(extents));
    int64_t k = 0;
    for (const auto& [index, row] : rows) {
      indices[static_cast<size_t>(k)] = index;
      store_average(row.sum, options.mean ? row.count : 1, values,
                    k++ * row.sum.count());
    }
    return {};
  }

  const int64_t required;
  // What it took.
  AccumulatorKind options;
  int64_t count = 0;
  Tensor sum;
  PartialShape shape;
  std::map<int64_t, Row> rows;
};

Status Accumulator::configure(const std::string& name,
                              const AccumulatorKind& options) {
  const std::lock_guard lock(mutex_);
  if (configured_)
    return options_ == options
               ? Status()
               : error(Code::kInvalidArgument,
                       "the accumulator \"{}\" is there already with another "
                       "type, shape or reduction",
                       name);
  configured_ = true;
  name_ = name;
  options_ = options;
  shape_ = options.shape;
  return {};
}

Status Accumulator::apply(int64_t step, const Tensor& gradient) {
  Status status;
  update([&](Ended&) {
    const PartialShape got(gradient.shape());
    if (!options_.shape.compatible(got) ||
        (count_ > 0 && !(sum_.shape() == gradient.shape()))) {
      status = wrong_shape(got);
      return;
    }
    if (step < step_) return;
    if (count_ == 0) sum_ = zero_sum(options_.dtype, gradient.shape());
    add_to(sum_, gradient, 0);
    ++count_;
  });
  return status;
}

Status Accumulator::apply(int64_t step, const GradientRows& gradient) {
  Status status;
  update([&](Ended&) {
    auto shape = shape_with(gradient);
    if (!shape.ok()) {
      status = shape.status();
      return;
    }
    if (step < step_) return;
    shape_ = *shape;
    add_rows(gradient);
    ++count_;
  });
  return status;
}

void Accumulator::take(KernelContext& context, int64_t required,
                       AsyncKernel::Done done) {
  wait(std::make_shared<Taking>(context, std::move(done), required));
}

void Accumulator::set_step(int64_t step) {
  const std::lock_guard lock(mutex_);
  step_ = std::max(step_, step);
}

void Accumulator::resume_at(int64_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
}

int64_t Accumulator::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

// ---- With the mutex held ----------------------------------------------------

Status Accumulator::wrong_shape(const PartialShape& got) const {
  const PartialShape wanted =
      options_.sparse
          ? shape_
          : (count_ > 0 ? PartialShape(sum_.shape()) : options_.shape);
  return error(Code::kInvalidArgument,
               "the accumulator \"{}\" has gradients of shape {}, not {}",
               name_, wanted.to_string(), got.to_string());
}

// What is known of the whole tensor's shape with this gradient; an error where
// it does not fit.
Result<PartialShape> Accumulator::shape_with(
    const GradientRows& gradient) const {
  const Tensor& values = gradient.values;
  if (values.shape().rank() == 0 || gradient.indices.shape().rank() != 1 ||
      values.shape()[0] != gradient.indices.count())
    return error(Code::kInvalidArgument,
                 "values have shape {} and indices {}: expected one index for "
                 "each row",
                 values.shape().to_string(),
                 gradient.indices.shape().to_string());
  Ints extents(values.shape().extents().begin(),
               values.shape().extents().end());
  extents[0] = kAny;
  PartialShape got(extents);
  if (gradient.shape.count() > 0) {
    Ints said;
    for (int64_t k = 0; k < gradient.shape.count(); ++k)
      said.push_back(index_at(gradient.shape, k));
    for (const int64_t extent : said)
      if (extent < 0)
        return error(Code::kInvalidArgument, "an extent of the shape is {}",
                     extent);
    auto both = merge(got, PartialShape(said));
    if (!both.ok())
      return error(Code::kInvalidArgument,
                   "the rows have shape {}, but are said to be of a tensor of "
                   "shape {}",
                   values.shape().to_string(), PartialShape(said).to_string());
    got = *both;
  }
  auto shape = merge(shape_, got);
  if (!shape.ok()) return wrong_shape(got);
  for (int64_t k = 0; k < gradient.indices.count(); ++k) {
    const int64_t index = index_at(gradient.indices, k);
    if (index < 0 || ((*shape)[0] != kAny && index >= (*shape)[0]))
      return error(Code::kInvalidArgument,
                   "index {} is {}, out of range for gradients of shape {}", k,
                   index, shape->to_string());
  }
  return *shape;
}

void Accumulator::add_rows(const GradientRows& gradient) {
  const int64_t width = width_of(gradient);
  std::set<int64_t> seen;  // a row counts once for a gradient
  for (int64_t k = 0; k < gradient.indices.count(); ++k) {
    const int64_t index = index_at(gradient.indices, k);
    Row& row = rows_[index];
    if (row.count == 0) row.sum = zero_sum(options_.dtype, {width});
    if (seen.insert(index).second) ++row.count;
    add_to(row.sum, gradient.values, k * width);
  }
}

void Accumulator::list(const std::shared_ptr<WaitingKernel>& waiter,
                       Ended& /*ended*/) {
  taking_.push_back(std::static_pointer_cast<Taking>(waiter));
}

void Accumulator::unlist(const std::shared_ptr<WaitingKernel>& waiter) {
  std::erase(taking_, std::static_pointer_cast<Taking>(waiter));
}

void Accumulator::advance(Ended& ended) {
  if (taking_.empty() || count_ < taking_.front()->required) return;
  Taking& first = *taking_.front();
  first.options = options_;
  first.count = count_;
  first.sum = std::move(sum_);
  first.shape = shape_;
  first.rows = std::move(rows_);
  sum_ = Tensor();
  rows_.clear();
  shape_ = options_.shape;
  count_ = 0;
  ++step_;
  end(taking_.front(), {}, ended);
  taking_.pop_front();
}

}  // namespace rondo
