// What tests of DistributedDataParallel share: a net, its inputs and loss.
#pragma once

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <functional>
#include <string>

#include "rondo/torch/distributed_data_parallel.h"

// Not in Rondo's namespace, whose torch would hide PyTorch's.
namespace ddp_test {

using at::Tensor;
using Options = rondo::torch::DistributedDataParallelOptions;

inline void set_values(torch::nn::Module& module, int seed) {
  const at::NoGradGuard guard;
  for (Tensor& p : module.parameters())
    p.copy_(at::arange(p.numel(), p.options()).add(seed).sin().view_as(p));
}

// Its values depend on `seed` alone. `spare` is used when asked for.
struct NetImpl : torch::nn::Module {
  explicit NetImpl(int seed, int64_t wide = 6)
      : first(register_module("first", torch::nn::Linear(3, wide))),
        norm(register_module("norm", torch::nn::BatchNorm1d(wide))),
        spare(register_module("spare", torch::nn::Linear(wide, wide))),
        last(register_module("last", torch::nn::Linear(wide, 2))) {
    set_values(*this, seed);
  }
  Tensor forward(const Tensor& x, bool use_spare = true) {
    const Tensor h = norm(first(x)).tanh();
    return last(use_spare ? spare(h) : h);
  }
  torch::nn::Linear first;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear spare;
  torch::nn::Linear last;
};
TORCH_MODULE(Net);

inline Tensor input(int rank, int step = 0) {
  return at::arange(12, at::kFloat).mul(rank + 2 * step + 1).cos().view({4, 3});
}
inline Tensor loss_of(const Tensor& out) { return out.pow(2).mean(); }

// Small buckets, so that there are several.
inline Options small() {
  return {.first_bucket_bytes = 16, .bucket_bytes = 100};
}

// What `body` throws; "" if nothing.
inline std::string text_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const rondo::Error& error) {
    return error.what();
  }
  return "";
}

inline void expect_close(const Tensor& a, const Tensor& b) {
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-7)) << a << "\nand\n" << b;
}

}  // namespace ddp_test
