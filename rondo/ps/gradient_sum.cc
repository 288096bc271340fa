#include "rondo/ps/gradient_sum.h"

#include <algorithm>

namespace rondo {
namespace {

struct Row {
  int64_t index = 0;
  const char* data = nullptr;
};

KvGradient mean_of_rows(std::span<const KvGradient> gradients) {
  const DType dtype = gradients[0].values.dtype();
  std::vector<Row> rows;
  int64_t width = 0;
  for (const KvGradient& one : gradients) {
    const int64_t count = one.indices.count();
    if (count == 0) continue;
    width = one.values.count() / count;
    const auto* data = static_cast<const char*>(one.values.data());
    for (const int64_t index : one.indices.span<int64_t>()) {
      rows.push_back({index, data});
      data += static_cast<size_t>(width) * size_of(dtype);
    }
  }
  // Equal ones stay in the order in which they came.
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.index < b.index;
  });
  int64_t count = 0;
  for (size_t k = 0; k < rows.size(); ++k)
    if (k == 0 || rows[k].index != rows[k - 1].index) ++count;
  KvGradient made{Tensor::empty({count, width}, dtype),
                  Tensor::empty({count}, DType::kI64), true};
  auto* out = static_cast<char*>(made.values.data());
  int64_t* index = made.indices.span<int64_t>().data();
  const auto elements = static_cast<size_t>(width);
  for (size_t k = 0; k < rows.size();) {
    *index++ = rows[k].index;
    std::vector<const void*> equal;
    for (const size_t first = k;
         k < rows.size() && rows[k].index == rows[first].index; ++k)
      equal.push_back(rows[k].data);
    void* to[] = {out};
    reduce_many(ReduceOp::kSum, dtype, to, equal, elements, 1, false);
    out += elements * size_of(dtype);
  }
  if (gradients.size() > 1)
    finish_avg(dtype, made.values.data(),
               static_cast<size_t>(made.values.count()),
               static_cast<int>(gradients.size()));
  return made;
}

}  // namespace

KvGradient mean_of(std::span<const KvGradient> gradients) {
  if (gradients[0].by_rows) return mean_of_rows(gradients);
  if (gradients.size() == 1) return gradients[0];
  return reduced(ReduceOp::kAvg, gradients);
}

KvGradient reduced(ReduceOp op, std::span<const KvGradient> gradients) {
  const Tensor& first = gradients[0].values;
  KvGradient made{Tensor::empty(first.shape(), first.dtype()), {}, false};
  std::vector<const void*> in;
  for (const KvGradient& one : gradients) in.push_back(one.values.data());
  void* out[] = {made.values.data()};
  reduce_many(op, first.dtype(), out, in, static_cast<size_t>(first.count()),
              static_cast<int>(gradients.size()), false);
  return made;
}

}  // namespace rondo
