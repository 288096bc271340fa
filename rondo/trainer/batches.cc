#include "rondo/trainer/batches.h"

#include <algorithm>
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

// Rows of a tensor of From as elements of To, each times `scale`.
template <class To, class From>
Tensor gathered(const Tensor& all, std::span<const int64_t> rows, To scale) {
  const auto width = static_cast<size_t>(all.count() / all.shape()[0]);
  Tensor made = Tensor::empty(
      with_rows(all.shape(), static_cast<int64_t>(rows.size())), dtype_of<To>);
  To* to = made.span<To>().data();
  for (const int64_t row : rows) {
    const From* from =
        all.span<From>().data() + static_cast<size_t>(row) * width;
    for (size_t i = 0; i < width; ++i) to[i] = static_cast<To>(from[i]) * scale;
    to += width;
  }
  return made;
}

std::vector<int64_t> counted(int64_t first, int64_t last) {
  std::vector<int64_t> rows(static_cast<size_t>(last - first));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

Result<Tensor> read_rows(const ExampleReader& reader,
                         std::span<const int64_t> rows) {
  Tensor bytes = Tensor::empty(
      with_rows(reader.shape(), static_cast<int64_t>(rows.size())), DType::kU8);
  const size_t width = bytes.bytes() / std::max<size_t>(rows.size(), 1);
  for (size_t i = 0; i < rows.size(); ++i)
    RONDO_RETURN_IF_ERROR(
        reader.read(rows[i], bytes.span<uint8_t>().subspan(i * width, width)));
  return bytes;
}

Tensor inputs_of(const Tensor& bytes, ExampleKind kind,
                 std::span<const int64_t> rows) {
  return kind == ExampleKind::kText
             ? gathered<int64_t, uint8_t>(bytes, rows, 1)
             : gathered<float, uint8_t>(bytes, rows, 1.0F / 255);
}

Tensor labels_of(const Tensor& labels, std::span<const int64_t> rows) {
  return labels.dtype() == DType::kI64
             ? gathered<int64_t, int64_t>(labels, rows, 1)
             : gathered<int64_t, uint8_t>(labels, rows, 1);
}

}  // namespace

Result<Batch> make_batch(const Examples& examples, ExampleKind kind,
                         std::span<const int64_t> rows) {
  const Tensor labels = labels_of(examples.labels, rows);
  if (!examples.reader)
    return Batch{inputs_of(examples.inputs, kind, rows), labels};
  RONDO_ASSIGN_OR_RETURN(const Tensor read, read_rows(*examples.reader, rows));
  const auto all = counted(0, static_cast<int64_t>(rows.size()));
  return Batch{inputs_of(read, kind, all), labels};
}

Result<Batch> make_batch(const Examples& examples, ExampleKind kind,
                         int64_t first, int64_t last) {
  return make_batch(examples, kind, counted(first, last));
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

Result<Batch> Batches::share(int64_t step, int rank, int size) {
  const std::vector<int64_t> now = rows(step, rank, size);
  if (!examples_.reader) return make_batch(examples_, kind_, now);
  Result<Batch> batch = ahead_.batch.valid() && ahead_.rows == now
                            ? ahead_.batch.get()
                            : make_batch(examples_, kind_, now);
  ahead_.rows = rows(step + 1, rank, size);
  ahead_.batch = std::async(std::launch::async, [this, next = ahead_.rows] {
    return make_batch(examples_, kind_, next);
  });
  return batch;
}

}  // namespace rondo
