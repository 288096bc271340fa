#include "rondo/trainer/batches.h"

#include <numeric>
#include <random>
#include <utility>

namespace rondo {
namespace {

Shape with_rows(const Shape& shape, int64_t rows) {
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[0] = rows;
  return Shape(extents);
}

// Rows of bytes as elements of T, each times `scale`.
template <class T>
Tensor gathered(const Tensor& bytes, std::span<const int64_t> rows, T scale) {
  const auto width = static_cast<size_t>(bytes.count() / bytes.shape()[0]);
  Tensor made = Tensor::empty(
      with_rows(bytes.shape(), static_cast<int64_t>(rows.size())), dtype_of<T>);
  T* to = made.span<T>().data();
  for (const int64_t row : rows) {
    const uint8_t* from =
        bytes.span<uint8_t>().data() + static_cast<size_t>(row) * width;
    for (size_t i = 0; i < width; ++i) to[i] = static_cast<T>(from[i]) * scale;
    to += width;
  }
  return made;
}

}  // namespace

Batch make_batch(const Examples& examples, ExampleKind kind,
                 std::span<const int64_t> rows) {
  const Tensor inputs =
      kind == ExampleKind::kText
          ? gathered<int64_t>(examples.inputs, rows, 1)
          : gathered<float>(examples.inputs, rows, 1.0F / 255);
  return {inputs, gathered<int64_t>(examples.labels, rows, 1)};
}

Batch make_batch(const Examples& examples, ExampleKind kind, int64_t first,
                 int64_t last) {
  std::vector<int64_t> rows(static_cast<size_t>(last - first));
  std::iota(rows.begin(), rows.end(), first);
  return make_batch(examples, kind, rows);
}

Batches::Batches(const Examples& examples, ExampleKind kind, int64_t batch,
                 uint64_t seed)
    : examples_(examples), kind_(kind), batch_(batch), seed_(seed) {}

// Fisher and Yates' shuffle by hand: std::shuffle differs between libraries,
// and ranks may run on machines that are not alike.
void Batches::shuffle(int64_t epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  order_.resize(static_cast<size_t>(examples_.count()));
  std::iota(order_.begin(), order_.end(), 0);
  std::mt19937_64 random(seed_ * 0x9E3779B97F4A7C15U +
                         static_cast<uint64_t>(epoch));
  for (size_t i = order_.size(); i > 1; --i)
    std::swap(order_[i - 1], order_[random() % i]);
}

std::vector<int64_t> Batches::rows(int64_t step, int rank, int size) {
  shuffle(step / steps_per_epoch());
  const int64_t share = batch_ / size;
  const auto first = order_.begin() + step % steps_per_epoch() * batch_ +
                     static_cast<int64_t>(rank) * share;
  return {first, first + share};
}

Batch Batches::share(int64_t step, int rank, int size) {
  return make_batch(examples_, kind_, rows(step, rank, size));
}

}  // namespace rondo
