// A small graph that has something of most kinds, for what is fuzzed.
#pragma once

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/state.h"

namespace rondo {

inline void fuzz_model(Graph& g) {
  Value x = placeholder(g, {.shape = {kAny, 2}, .name = "x"});
  Value w = variable(g, fill(g, {2, 2}, 0.5), {.name = "w"});
  Value y = relu(matmul(x, w));
  assign_add(w, constant(g, Tensor::zeros({2, 2}), "grad"));
  const FIFOQueue queue(g, {DType::kF32}, {.capacity = 2, .name = "queue"});
  queue.enqueue({y});
  {
    const DeviceScope elsewhere(g, "/cpu:1");
    Value most = constant(g, 9, DType::kI32);
    while_loop([&](const Values& v) { return less(v[0], most); },
               [](const Values& v) { return Values{v[0] + v[0]}; },
               {constant(g, 1, DType::kI32)});
  }
  initializer(g);
}

}  // namespace rondo
