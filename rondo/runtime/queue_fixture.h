// What tests of queues share.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/runtime/session.h"

namespace rondo::queue_test {

inline Value scalar(Graph& g, double x) { return constant(g, x, DType::kF32); }
inline float only(const Tensor& t) { return t.span<float>()[0]; }
inline std::vector<float> all(const Tensor& t) {
  return {t.span<float>().begin(), t.span<float>().end()};
}
inline Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())},
                           std::span<const float>(values));
}

// A queue of f32 scalars, with nodes for everything.
struct Scalars {
  explicit Scalars(int64_t capacity = -1, const std::string& name = "q")
      : queue(g, {DType::kF32},
              {.capacity = capacity,
               .shapes = {PartialShape::scalar()},
               .name = name}),
        x(placeholder(g, {.shape = PartialShape::scalar(), .name = "x"})),
        rows(placeholder(g, {.shape = {kAny}, .name = "rows"})),
        put(queue.enqueue({x})),
        put_many(queue.enqueue_many({rows})),
        take(queue.dequeue()[0]),
        n(placeholder(g, {.dtype = DType::kI64,
                          .shape = PartialShape::scalar(),
                          .name = "n"})),
        take_many(queue.dequeue_many(n)[0]),
        take_up_to(queue.dequeue_up_to(n)[0]),
        close(queue.close()),
        cancel(queue.close(true)),
        size(queue.size()),
        session(g) {}

  Status enqueue(float value) {
    return session.run(put, {{x, Tensor::full<float>({}, value)}});
  }
  Status enqueue_many(const std::vector<float>& values) {
    return session.run(put_many, {{rows, floats(values)}});
  }
  Result<Tensor> dequeue_many(int64_t count) {
    return session.run(take_many, {{n, Tensor::full<int64_t>({}, count)}});
  }
  Result<Tensor> dequeue_up_to(int64_t count) {
    return session.run(take_up_to, {{n, Tensor::full<int64_t>({}, count)}});
  }
  int64_t elements() { return session.run(size).value().span<int64_t>()[0]; }

  Graph g;
  FIFOQueue queue;
  Value x, rows;
  Node &put, &put_many;
  Value take, n, take_many, take_up_to;
  Node &close, &cancel;
  Value size;
  Session session;
};

}  // namespace rondo::queue_test
