// What DistributedDataParallel refuses, and how it fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/torch/distributed_data_parallel.h"
#include "rondo/torch/test_net.h"

namespace ddp_test {
namespace {

using rondo::Communicator;
using rondo::spawn_ranks;
using rondo::torch::DistributedDataParallel;
using ::testing::AllOf;
using ::testing::HasSubstr;

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

TEST(DistributedDataParallel, OneBackwardForEachForward) {
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    DistributedDataParallel ddp(torch::nn::Linear(2, 2), comm);
    const Tensor loss = loss_of(ddp(at::ones({1, 2})));
    loss.backward({}, /*retain_graph=*/true);
    EXPECT_THAT(text_of([&] { loss.backward(); }),
                HasSubstr("call forward() again before the next one"));
  });
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    DistributedDataParallel ddp(torch::nn::Linear(2, 2), comm);
    const Tensor first = loss_of(ddp(at::ones({1, 2})));
    const Tensor second = loss_of(ddp(at::ones({1, 2})));
    first.backward();
    EXPECT_THAT(text_of([&] { second.backward(); }),
                HasSubstr("after a backward pass, call forward() again"));
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

// Gradients take the layout of this rank's parameter in their bucket.
TEST(DistributedDataParallel, NamesLayoutsThatDiffer) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const torch::nn::Conv2d net(2, 3, 2);
    if (comm.rank() == 1)
      net->weight.set_data(
          net->weight.contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_THAT(
        text_of([&] { DistributedDataParallel ddp(net, comm); }),
        HasSubstr("rank 0 has parameter weight of Float [3, 2, 2, 2] where "
                  "rank 1 has parameter weight of Float [3, 2, 2, 2] with "
                  "strides [8, 1, 4, 2]"));
    // No gradient, no bucket.
    net->weight.set_requires_grad(false);
    EXPECT_EQ(text_of([&] { DistributedDataParallel ddp(net, comm); }), "");
  });
}

struct OneImpl : torch::nn::Module {
  explicit OneImpl(const Tensor& tensor) { register_parameter("one", tensor); }
  Tensor forward(const Tensor& x) { return x; }
};

TEST(DistributedDataParallel, RefusesWhatHasNoAverage) {
  const auto refused = [](const Tensor& tensor, const std::string& text) {
    spawn_ranks("shm", 2, [&](Communicator& comm) {
      const auto net = std::make_shared<OneImpl>(tensor.clone());
      EXPECT_THAT(text_of([&] { DistributedDataParallel ddp(net, comm); }),
                  HasSubstr(text));
    });
  };
  refused(at::zeros({4}, at::kFloat8_e4m3fn),
          "one is of Float8_e4m3fn, whose gradients cannot be averaged");
  refused(at::ones({4}).requires_grad_(),
          "one is the result of an operation, so that it gets no gradient");
}

TEST(DistributedDataParallel, NamesWhatHasChanged) {
  const auto fails = [](const std::function<void(NetImpl&)>& change,
                        const std::string& text) {
    spawn_ranks("shm", 2, [&](Communicator& comm) {
      Net net(0);
      net->spare->bias.set_requires_grad(false);
      DistributedDataParallel ddp(net, comm, small());
      loss_of(ddp(input(0))).backward();
      change(*net);
      const Tensor x = input(0).to(net->first->weight.scalar_type());
      {
        const at::NoGradGuard guard;  // nothing to be averaged
        EXPECT_EQ(text_of([&] { ddp(x); }), "");
      }
      EXPECT_THAT(text_of([&] { ddp(x); }),
                  AllOf(HasSubstr(text),
                        HasSubstr("make a new DistributedDataParallel")));
    });
  };
  fails([](NetImpl& net) { net.to(at::kDouble); },
        "the dtype or device of first.weight has changed");
  fails([](NetImpl& net) { net.spare->bias.set_requires_grad(true); },
        "requires_grad of spare.bias has changed");
  fails([](NetImpl& net) { net.spare->weight.set_requires_grad(false); },
        "requires_grad of spare.weight has changed");
}

class Failed : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, Failed, ::testing::Bool(),
                         [](const auto& param_info) -> std::string {
                           return param_info.param ? "Destroyed" : "UsedAgain";
                         });

// Nobody waits for a rank whose backward pass failed.
TEST_P(Failed, ABackwardPassEndsIt) {
  const bool destroyed = GetParam();
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    auto net = std::make_shared<NetImpl>(0);
    auto ddp =
        std::make_unique<DistributedDataParallel<NetImpl>>(net, comm, small());
    Tensor hidden = net->first->weight * 1;
    if (comm.rank() == 1)
      hidden.register_hook(
          [](const Tensor&) -> Tensor { throw std::runtime_error("mine"); });
    const Tensor loss = loss_of((*ddp)(input(0))) + hidden.sum();
    if (comm.rank() == 0) {
      EXPECT_THAT(text_of([&] { loss.backward(); }),
                  HasSubstr(destroyed ? "rank 1 has left a backward pass"
                                      : "the backward pass before it has not "
                                        "ended well"));
    } else {
      EXPECT_THROW(loss.backward(), std::runtime_error);
      if (destroyed) return ddp.reset();
      EXPECT_THAT(text_of([&] { (*ddp)(input(0)); }),
                  HasSubstr("the backward pass before it has not ended well"));
    }
  });
}

}  // namespace
}  // namespace ddp_test
