#include "rondo/torch/distributed_data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <functional>
#include <string>
#include <vector>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/torch/gradient_bucket.h"
#include "rondo/torch/mapped.h"

// Not in Rondo's namespace, whose torch would hide PyTorch's.
namespace {

using at::Tensor;
using rondo::Communicator;
using rondo::spawn_ranks;
using rondo::torch::DistributedDataParallel;
using rondo::torch::is_mapped;
using rondo::torch::plan_buckets;
using Options = rondo::torch::DistributedDataParallelOptions;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Its values depend on `seed` alone. `spare` is used when asked for.
struct NetImpl : torch::nn::Module {
  explicit NetImpl(int seed, int64_t wide = 6)
      : first(register_module("first", torch::nn::Linear(3, wide))),
        norm(register_module("norm", torch::nn::BatchNorm1d(wide))),
        spare(register_module("spare", torch::nn::Linear(wide, wide))),
        last(register_module("last", torch::nn::Linear(wide, 2))) {
    const at::NoGradGuard guard;
    for (Tensor& p : parameters())
      p.copy_(at::arange(p.numel(), p.options()).add(seed).sin().view_as(p));
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

Tensor input(int rank, int step = 0) {
  return at::arange(12, at::kFloat).mul(rank + 2 * step + 1).cos().view({4, 3});
}
Tensor loss_of(const Tensor& out) { return out.pow(2).mean(); }

// Small buckets, so that there are several.
Options small() { return {.first_bucket_bytes = 16, .bucket_bytes = 100}; }

// What `body` throws; "" if nothing.
std::string text_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const rondo::Error& error) {
    return error.what();
  }
  return "";
}

void expect_close(const Tensor& a, const Tensor& b) {
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-7)) << a << "\nand\n" << b;
}

// The average over ranks of what each gets alone from the sum of its steps.
std::vector<Tensor> gradients_of_one_process(int ranks, int steps) {
  std::vector<Tensor> sum;
  for (int rank = 0; rank < ranks; ++rank) {
    Net net(0);
    for (int step = 0; step < steps; ++step)
      loss_of(net->forward(input(rank, step))).backward();
    const auto parameters = net->parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Tensor part = parameters[i].grad() / ranks;
      if (rank == 0)
        sum.push_back(part);
      else
        sum[i] += part;
    }
  }
  return sum;
}

class Ranks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, Ranks, ::testing::Values(1, 2, 4));

TEST_P(Ranks, GradientsAreTheAverage) {
  const int ranks = GetParam();
  const auto expected = gradients_of_one_process(ranks, 1);
  spawn_ranks("shm", ranks, [&](Communicator& comm) {
    DistributedDataParallel ddp(Net(comm.rank()), comm, small());
    for (int step = 0; step < 3; ++step) {
      // Gradients are gone in the second step, and zero in the third.
      for (Tensor& p : ddp.parameters()) {
        if (!p.grad().defined()) continue;
        p.mutable_grad().detach_();
        if (step == 1)
          p.mutable_grad().reset();
        else
          p.mutable_grad().zero_();
      }
      loss_of(ddp(input(comm.rank()))).backward();
      const auto parameters = ddp.module()->parameters();
      for (size_t i = 0; i < parameters.size(); ++i) {
        expect_close(parameters[i].grad(), expected[i]);
        EXPECT_TRUE(is_mapped(parameters[i].grad()));
      }
    }
    EXPECT_EQ(ddp.named_parameters().keys().front(), "module.first.weight");
  });
}

TEST_P(Ranks, NoSyncAddsUp) {
  const int ranks = GetParam();
  const auto expected = gradients_of_one_process(ranks, 3);
  spawn_ranks("shm", ranks, [&](Communicator& comm) {
    DistributedDataParallel ddp(Net(0), comm, small());
    const auto parameters = ddp.parameters();
    {
      const auto guard = ddp.no_sync();
      Net alone(0);
      for (int step = 0; step < 2; ++step) {
        loss_of(ddp(input(comm.rank(), step))).backward();
        loss_of(alone->forward(input(comm.rank(), step))).backward();
      }
      for (size_t i = 0; i < parameters.size(); ++i)
        expect_close(parameters[i].grad(), alone->parameters()[i].grad());
    }
    loss_of(ddp(input(comm.rank(), 2))).backward();
    for (size_t i = 0; i < parameters.size(); ++i)
      expect_close(parameters[i].grad(), expected[i]);
  });
}

TEST(DistributedDataParallel, NamesUnusedParameters) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    DistributedDataParallel ddp(Net(0), comm, small());
    const Tensor loss = loss_of(ddp(input(0), comm.rank() == 0));
    EXPECT_THAT(text_of([&] { loss.backward(); }),
                AllOf(HasSubstr("rank 1: the backward pass gave no gradient "
                                "for spare.weight and spare.bias (2 of 8 "
                                "parameters)"),
                      HasSubstr("set find_unused_parameters")));
    EXPECT_NE(text_of([&] { ddp(input(0)); }), "");
  });
}

TEST(DistributedDataParallel, FindsUnusedParameters) {
  Options options = small();
  options.find_unused_parameters = true;
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    DistributedDataParallel ddp(Net(0), comm, options);
    const auto& spare = ddp.module()->spare->weight;
    const auto& last = ddp.module()->last->weight;
    const auto step = [&](bool use_spare) {
      loss_of(ddp(input(0), use_spare)).backward();
    };
    step(false);
    EXPECT_FALSE(spare.grad().defined());
    EXPECT_TRUE(last.grad().defined());
    step(true);
    const Tensor both = spare.grad().clone();
    ddp.zero_grad();
    EXPECT_FALSE(spare.grad().defined());
    step(comm.rank() == 0);
    expect_close(spare.grad(), both / 2);
    // Used by nobody: the gradient stays as it was.
    step(false);
    expect_close(spare.grad(), both / 2);
  });
}

TEST(DistributedDataParallel, NamesWhatDiffers) {
  spawn_ranks("shm", 3, [&](Communicator& comm) {
    const Net net(0, comm.rank() == 0 ? 6 : 5 + comm.rank());
    EXPECT_THAT(
        text_of([&] { DistributedDataParallel ddp(net, comm); }),
        HasSubstr("rank 0 has parameter first.weight of Float [6, 3] where "
                  "rank 2 has parameter first.weight of Float [7, 3]"));
    // The communicator goes on.
    Options options;
    options.broadcast_buffers = comm.rank() != 1;
    EXPECT_THAT(
        text_of([&] { DistributedDataParallel ddp(Net(0), comm, options); }),
        AllOf(HasSubstr("broadcast_buffers true"),
              HasSubstr("where rank 1 has"),
              HasSubstr("broadcast_buffers false")));
    const torch::nn::Linear more(2, 2);
    const torch::nn::Linear less(
        torch::nn::LinearOptions(2, 2).bias(comm.rank() != 2));
    EXPECT_THAT(text_of([&] { DistributedDataParallel ddp(less, comm); }),
                AllOf(HasSubstr("rank 0 has parameter bias of Float [2]"),
                      HasSubstr("where rank 2 has")));
    EXPECT_EQ(text_of([&] { DistributedDataParallel ddp(more, comm); }), "");
  });
}

TEST(DistributedDataParallel, BuffersAreRankZeros) {
  for (const bool broadcast : {true, false})
    spawn_ranks("shm", 2, [&](Communicator& comm) {
      Options options;
      options.broadcast_buffers = broadcast;
      DistributedDataParallel ddp(Net(0), comm, options);
      Net first(0);
      for (int step = 0; step < 2; ++step) {
        loss_of(ddp(input(comm.rank(), step))).backward();
        first->forward(input(broadcast ? 0 : comm.rank(), step));
      }
      const at::NoGradGuard guard;
      ddp.eval();
      ddp(input(0));
      expect_close(ddp.module()->norm->running_mean, first->norm->running_mean);
    });
}

TEST(DistributedDataParallel, OneBackwardForEachForward) {
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    DistributedDataParallel ddp(torch::nn::Linear(2, 2), comm);
    const Tensor loss = loss_of(ddp(at::ones({1, 2})));
    loss.backward({}, /*retain_graph=*/true);
    EXPECT_THAT(text_of([&] { loss.backward(); }),
                HasSubstr("got a gradient that no forward() of "
                          "DistributedDataParallel came before"));
  });
}

TEST(DistributedDataParallel, GradientsMustBeDense) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    DistributedDataParallel ddp(
        torch::nn::Embedding(
            torch::nn::EmbeddingOptions(4, 2).sparse(comm.rank() == 1)),
        comm);
    const Tensor loss = loss_of(ddp(at::ones({1}, at::kLong)));
    EXPECT_THAT(text_of([&] { loss.backward(); }),
                HasSubstr("rank 1: the gradient of weight is not dense"));
  });
}

// Nobody waits for a rank whose backward pass failed.
TEST(DistributedDataParallel, AFailedBackwardPassEndsIt) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    auto net = std::make_shared<NetImpl>(0);
    const auto ddp =
        std::make_unique<DistributedDataParallel<NetImpl>>(net, comm, small());
    Tensor hidden = net->first->weight * 1;
    if (comm.rank() == 1)
      hidden.register_hook(
          [](const Tensor&) -> Tensor { throw std::runtime_error("mine"); });
    const Tensor loss = loss_of((*ddp)(input(0))) + hidden.sum();
    if (comm.rank() == 0) {
      EXPECT_THAT(text_of([&] { loss.backward(); }),
                  HasSubstr("the backward pass before it has not ended well"));
    } else {
      EXPECT_THROW(loss.backward(), std::runtime_error);
      EXPECT_THAT(text_of([&] { (*ddp)(input(0)); }),
                  HasSubstr("the backward pass before it has not ended well"));
    }
  });
}

TEST(DistributedDataParallel, GradientsOutliveIt) {
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    const torch::nn::Linear net(2, 2);
    {
      DistributedDataParallel ddp(net, comm);
      loss_of(ddp(at::ones({1, 2}))).backward();
    }
    const Tensor before = net->weight.grad().clone();
    const Tensor loss = loss_of(net->weight.sum());
    loss.backward();
    EXPECT_FALSE(at::equal(net->weight.grad(), before));
  });
}

TEST(DistributedDataParallel, NeedsACommunicatorAndParameters) {
  const torch::nn::Linear net(2, 2);
  EXPECT_THAT(
      text_of([&] { DistributedDataParallel ddp(net, Communicator()); }),
      HasSubstr("an empty communicator"));
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    const torch::nn::BatchNorm1d none(
        torch::nn::BatchNorm1dOptions(2).affine(false));
    EXPECT_THAT(text_of([&] { DistributedDataParallel ddp(none, comm); }),
                HasSubstr("no parameter of the module requires a gradient"));
  });
}

TEST(PlanBuckets, FromTheLastToTheFirst) {
  const auto of = [](int64_t count, at::ScalarType dtype = at::kFloat) {
    return at::empty({count}, dtype);
  };
  EXPECT_THAT(plan_buckets({of(1), of(2), of(3), of(9), of(1)}, 8, 20),
              ElementsAre(ElementsAre(4), ElementsAre(3), ElementsAre(2, 1),
                          ElementsAre(0)));
  EXPECT_THAT(plan_buckets({of(1), of(1, at::kDouble), of(1)}, 100, 100),
              ElementsAre(ElementsAre(2, 0), ElementsAre(1)));
}

}  // namespace
