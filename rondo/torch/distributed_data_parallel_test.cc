#include "rondo/torch/distributed_data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>

#include <memory>
#include <vector>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/torch/gradient_bucket.h"
#include "rondo/torch/mapped.h"
#include "rondo/torch/test_net.h"

namespace ddp_test {
namespace {

using rondo::Communicator;
using rondo::spawn_ranks;
using rondo::torch::DistributedDataParallel;
using rondo::torch::is_mapped;
using rondo::torch::plan_buckets;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// A backward pass may follow several forward passes, though each of them gives
// buffers to all ranks.
TEST(DistributedDataParallel, TwoForwardPassesBeforeABackwardPass) {
  const auto expected = gradients_of_one_process(2, 2);
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    DistributedDataParallel ddp(Net(0), comm, small());
    const Tensor first = loss_of(ddp(input(comm.rank(), 0)));
    const Tensor second = loss_of(ddp(input(comm.rank(), 1)));
    ASSERT_NO_THROW((first + second).backward());
    const auto parameters = ddp.parameters();
    for (size_t i = 0; i < parameters.size(); ++i)
      expect_close(parameters[i].grad(), expected[i]);
  });
}

// A weight under two names, a frozen layer, a weight whose channels lie last,
// and a layer of another dtype.
struct MixedImpl : torch::nn::Module {
  MixedImpl()
      : conv(register_module("conv", torch::nn::Conv2d(2, 3, 2))),
        wide(register_module("wide", torch::nn::Linear(27, 27))),
        again(register_parameter("again", wide->weight)),
        frozen(register_module("frozen", torch::nn::Linear(27, 5))),
        last(register_module("last", torch::nn::Linear(5, 2))) {
    last->to(at::kDouble);
    set_values(*this, 0);
    conv->weight.set_data(
        conv->weight.contiguous(at::MemoryFormat::ChannelsLast));
    for (Tensor& p : frozen->parameters()) p.set_requires_grad(false);
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = wide(conv(x).flatten(1)).tanh();
    return last(frozen(at::linear(h, again)).to(at::kDouble));
  }
  torch::nn::Conv2d conv;
  torch::nn::Linear wide;
  Tensor again;
  torch::nn::Linear frozen;
  torch::nn::Linear last;
};

TEST(DistributedDataParallel, MixedParameters) {
  const auto image = [](int rank) {
    return at::arange(128, at::kFloat).mul(rank + 1).cos().view({4, 2, 4, 4});
  };
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    DistributedDataParallel ddp(std::make_shared<MixedImpl>(), comm, small());
    loss_of(ddp(image(comm.rank()))).backward();
    MixedImpl one;
    MixedImpl other;
    loss_of(one.forward(image(0))).backward();
    loss_of(other.forward(image(1))).backward();
    for (const auto& item : ddp.module()->named_parameters()) {
      SCOPED_TRACE(item.key());
      const Tensor& gradient = item.value().grad();
      ASSERT_EQ(gradient.defined(), item.key().rfind("frozen", 0) != 0);
      if (!gradient.defined()) continue;
      expect_close(gradient, (one.named_parameters()[item.key()].grad() +
                              other.named_parameters()[item.key()].grad()) /
                                 2);
      EXPECT_EQ(gradient.strides(), item.value().strides());
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
}  // namespace ddp_test
