#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "rondo/base/short_vector.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/random_fill.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/variable.h"

namespace rondo {
namespace {

// How often a node has run, for all the plans that have it; and a key for nodes
// without a seed.
class RandomState final : public Resource {
 public:
  RandomState() {
    std::random_device device;
    key_ = uint64_t{device()} << 32 | device();
  }
  uint64_t key() const { return key_; }
  uint64_t next_run() { return runs_.fetch_add(1, std::memory_order_relaxed); }

 private:
  uint64_t key_;
  std::atomic<uint64_t> runs_ = 0;
};

class RandomKernel : public Kernel {
 public:
  RandomKernel(const Node& node, Resources& resources)
      : state_(resources.find_or_make<RandomState>("random/" + node.name())
                   .value()) {
    const auto seed = static_cast<uint64_t>(node.attrs().get<int64_t>("seed"));
    const auto seed2 =
        static_cast<uint64_t>(node.attrs().get<int64_t>("seed2"));
    key_ = seed == 0 && seed2 == 0 ? state_->key() : random_key(seed, seed2);
  }

 protected:
  RandomStream next_stream() { return {key_, state_->next_run()}; }

 private:
  std::shared_ptr<RandomState> state_;
  uint64_t key_;
};

Result<Shape> shape_from(const Tensor& t) {
  FewInts extents;
  for (int64_t k = 0; k < t.count(); ++k) {
    extents.push_back(index_at(t, k));
    if (extents.back() < 0)
      return error(Code::kInvalidArgument, "an extent of the shape is {}",
                   extents.back());
  }
  return Shape(extents);
}

// The largest number of type T below x, or equal where it cannot be stored.
template <class T>
double below(double x) {
  if constexpr (std::is_same_v<T, double>) {
    return std::nextafter(x, -std::numeric_limits<double>::infinity());
  } else if constexpr (std::is_same_v<T, float>) {
    const auto f = static_cast<float>(x);
    return f < x ? f
                 : std::nextafter(f, -std::numeric_limits<float>::infinity());
  } else {
    T t = T::from_float(static_cast<float>(x));
    if (t.to_float() >= x) {
      if ((t.bits & 0x7FFF) == 0)
        t.bits = 0x8001;
      else
        t.bits = static_cast<uint16_t>(t.bits + (t.bits & 0x8000 ? 1 : -1));
    }
    return t.to_float();
  }
}

template <class T>
void fill_tensor(const RandomFill& fill, Tensor& y) {
  const auto out = y.span<T>();
  constexpr auto kChunk = static_cast<int64_t>(kRandomChunk);
  parallel_for(y.count(), 32 * kChunk, [&](int64_t begin, int64_t end) {
    Computed<T> buffer[kRandomChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      T* to = out.data() + i;
      const auto chunk = static_cast<uint64_t>(i / kChunk);
      const int64_t count = std::min(kChunk, end - i);
      if constexpr (std::is_same_v<T, Computed<T>>)
        if (count == kChunk) {
          fill_random_chunk(fill, chunk, to);
          continue;
        }
      fill_random_chunk(fill, chunk, buffer);
      for (int64_t k = 0; k < count; ++k) to[k] = store<T>(buffer[k]);
    }
  });
}

// RandomUniform, RandomNormal and TruncatedNormal.
class RandomReal final : public RandomKernel {
 public:
  RandomReal(const Node& node, Resources& resources)
      : RandomKernel(node, resources),
        dtype_(node.attrs().get<DType>("dtype")) {
    if (node.op().name == "RandomUniform") {
      const double minval = node.attrs().get<double>("minval");
      const double maxval = node.attrs().get<double>("maxval");
      fill_.shift = minval;
      fill_.scale = maxval - minval;
      // Rounding must not give maxval itself.
      dispatch_float(dtype_, [&]<class T>() {
        fill_.limit = std::max(minval, below<T>(maxval));
      });
    } else {
      fill_.distribution = node.op().name == "RandomNormal"
                               ? Distribution::kNormal
                               : Distribution::kTruncated;
      fill_.shift = node.attrs().get<double>("mean");
      fill_.scale = node.attrs().get<double>("stddev");
    }
  }
  Status run(KernelContext& c) override {
    RONDO_ASSIGN_OR_RETURN(const Shape shape, shape_from(c.input(0)));
    Tensor& y = c.allocate(0, dtype_, shape);
    RandomFill fill = fill_;
    fill.stream = next_stream();
    dispatch_float(dtype_, [&]<class T>() { fill_tensor<T>(fill, y); });
    return {};
  }

 private:
  const DType dtype_;
  RandomFill fill_;
};

template <class T>
Status fill_integers(const RandomStream& stream, const Tensor& minval,
                     const Tensor& maxval, Tensor& y) {
  const int64_t least = minval.span<T>()[0];
  const int64_t end_of = maxval.span<T>()[0];
  if (y.count() > 0 && least >= end_of)
    return error(Code::kInvalidArgument,
                 "minval is {} and maxval {}: there is no number between",
                 least, end_of);
  const uint64_t range =
      static_cast<uint64_t>(end_of) - static_cast<uint64_t>(least);
  const auto out = y.span<T>();
  parallel_for(y.count(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[static_cast<size_t>(i)] =
          static_cast<T>(static_cast<uint64_t>(least) +
                         random_below(stream, static_cast<uint64_t>(i), range));
  });
  return {};
}

class RandomInteger final : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  Status run(KernelContext& c) override {
    RONDO_ASSIGN_OR_RETURN(const Shape shape, shape_from(c.input(0)));
    Tensor& y = c.allocate(0, c.input(1).dtype(), shape);
    const RandomStream stream = next_stream();
    return y.dtype() == DType::kI32
               ? fill_integers<int32_t>(stream, c.input(1), c.input(2), y)
               : fill_integers<int64_t>(stream, c.input(1), c.input(2), y);
  }
};

class Shuffle final : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const RandomStream stream = next_stream();
    if (x.shape().rank() == 0 || x.count() == 0) {
      c.set_output(0, x);
      return {};
    }
    const int64_t rows = x.shape()[0];
    Tensor from = c.scratch(DType::kI64, {rows});
    const auto order = from.span<int64_t>();
    std::iota(order.begin(), order.end(), 0);
    for (auto i = static_cast<size_t>(rows) - 1; i > 0; --i)
      std::swap(order[i], order[random_below(stream, i, i + 1)]);
    Tensor& y = c.allocate(0, x.dtype(), x.shape());
    const size_t width = x.bytes() / static_cast<size_t>(rows);
    const char* source = static_cast<const char*>(x.data());
    char* target = static_cast<char*>(y.data());
    const auto grain = static_cast<int64_t>(65536 / width + 1);
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end);
           ++i)
        std::memcpy(target + i * width,
                    source + static_cast<size_t>(order[i]) * width, width);
    });
    return {};
  }
};

// The running sum of exp(logit - the largest) of one row; false when the logits
// are no probabilities.
template <class T>
bool sum_up(const T* logits, std::span<double> sums) {
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < sums.size(); ++k) {
    const auto logit = static_cast<double>(load(logits[k]));
    if (std::isnan(logit)) return false;
    largest = std::max(largest, logit);
  }
  if (!std::isfinite(largest)) return false;
  double sum = 0;
  for (size_t k = 0; k < sums.size(); ++k)
    sums[k] = sum += std::exp(static_cast<double>(load(logits[k])) - largest);
  return true;
}

class Multinomial final : public RandomKernel {
 public:
  Multinomial(const Node& node, Resources& resources)
      : RandomKernel(node, resources),
        dtype_(node.attrs().get<DType>("output_dtype")) {}
  Status run(KernelContext& c) override {
    const Tensor& logits = c.input(0);
    const int64_t samples = index_at(c.input(1), 0);
    if (logits.shape().rank() != 2)
      return error(Code::kInvalidArgument,
                   "the logits have shape {}, expected rows of classes",
                   logits.shape().to_string());
    if (samples < 0)
      return error(Code::kInvalidArgument, "num_samples is {}", samples);
    const int64_t rows = logits.shape()[0];
    const int64_t classes = logits.shape()[1];
    Tensor& y = c.allocate(0, dtype_, {rows, samples});
    const RandomStream stream = next_stream();
    if (y.count() == 0) return {};
    if (classes == 0)
      return error(Code::kInvalidArgument, "the logits have no classes");
    std::atomic<int64_t> bad = -1;
    dispatch_float(logits.dtype(), [&]<class T>() {
      const T* from = logits.span<T>().data();
      parallel_for(rows, 8192 / (classes + samples) + 1,
                   [&](int64_t begin, int64_t end) {
                     std::vector<double> sums(static_cast<size_t>(classes));
                     for (int64_t row = begin; row < end; ++row) {
                       if (sum_up(from + row * classes, sums))
                         draw(stream, sums, row, samples, y);
                       else
                         bad = row;
                     }
                   });
    });
    if (bad >= 0)
      return error(Code::kInvalidArgument,
                   "row {} of the logits has a NaN or no finite largest value",
                   bad.load());
    return {};
  }

 private:
  static void draw(const RandomStream& stream, const std::vector<double>& sums,
                   int64_t row, int64_t samples, Tensor& y) {
    for (int64_t k = row * samples; k < (row + 1) * samples; ++k) {
      const double at =
          random_unit(stream, static_cast<uint64_t>(k)) * sums.back();
      // The first class whose sum is beyond; rounding must not step off the
      // end or onto a class of no probability there.
      auto found = std::upper_bound(sums.begin(), sums.end(), at);
      if (found == sums.end())
        found = std::lower_bound(sums.begin(), sums.end(), sums.back());
      const int64_t sample = found - sums.begin();
      if (y.dtype() == DType::kI32)
        y.span<int32_t>()[static_cast<size_t>(k)] =
            static_cast<int32_t>(sample);
      else
        y.span<int64_t>()[static_cast<size_t>(k)] = sample;
    }
  }

  const DType dtype_;
};

}  // namespace

void register_random_kernels(KernelRegistry& kernels) {
  kernels.add("RandomUniform", "cpu", from_class<RandomReal>());
  kernels.add("RandomNormal", "cpu", from_class<RandomReal>());
  kernels.add("TruncatedNormal", "cpu", from_class<RandomReal>());
  kernels.add("RandomUniformInt", "cpu", from_class<RandomInteger>());
  kernels.add("RandomShuffle", "cpu", from_class<Shuffle>());
  kernels.add("Multinomial", "cpu", from_class<Multinomial>());
}

}  // namespace rondo
