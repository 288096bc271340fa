// A rank of the tests of DistributedDataParallel, as a program has it:
//
//   ddp_trainer FILE [DYING_RANK]
//
// trains the network of ddp_test.py for kSteps steps and prints each loss. FILE
// has the initial parameters, the inputs and the labels, as f32. The dying rank
// ends in the middle.
#include <rondo/torch/distributed_data_parallel.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

namespace nn = torch::nn;

constexpr int64_t kSteps = 50;
constexpr int64_t kBatch = 16;

struct NetImpl : nn::Module {
  NetImpl()
      : conv(register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 4, 3)))),
        norm(register_module("norm", nn::BatchNorm2d(4))),
        hidden(register_module("hidden", nn::Linear(4 * 6 * 6, 32))),
        out(register_module("out", nn::Linear(32, 10))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return out(hidden(norm(conv(x)).relu().flatten(1)).relu());
  }
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
  nn::Linear hidden;
  nn::Linear out;
};
TORCH_MODULE(Net);

torch::Tensor read(std::ifstream& file, at::IntArrayRef sizes) {
  torch::Tensor tensor = torch::empty(sizes);
  file.read(static_cast<char*>(tensor.data_ptr()),
            static_cast<std::streamsize>(tensor.nbytes()));
  if (!file) throw rondo::Error(rondo::Code::kInvalidArgument, "a short file");
  return tensor;
}

// The first half of every fifth batch is done without the others.
float step(rondo::torch::DistributedDataParallel<NetImpl>& ddp,
           const torch::Tensor& x, const torch::Tensor& y, bool halves) {
  const auto loss_of = [&](int64_t from, int64_t to) {
    return nn::functional::cross_entropy(ddp(x.slice(0, from, to)),
                                         y.slice(0, from, to));
  };
  const int64_t rows = x.size(0);
  if (halves) {
    const auto guard = ddp.no_sync();
    loss_of(0, rows / 2).backward();
  }
  const torch::Tensor loss = loss_of(halves ? rows / 2 : 0, rows);
  loss.backward();
  return loss.item<float>();
}

void train(const char* path, int dying) {
  auto comm = rondo::Communicator::world().value();
  std::ifstream file(path, std::ios::binary);
  Net net;
  for (torch::Tensor& p : net->parameters()) {
    const torch::NoGradGuard guard;
    const torch::Tensor values = read(file, p.sizes());
    // The others' come from rank 0.
    p.copy_(comm.rank() == 0 ? values : values.zero_());
  }
  const auto x = read(file, {kSteps, kBatch, 1, 8, 8});
  const auto y = read(file, {kSteps, kBatch}).to(torch::kLong);
  // Several buckets.
  rondo::torch::DistributedDataParallel ddp(
      net, comm, {.first_bucket_bytes = 256, .bucket_bytes = 4096});
  torch::optim::SGD optimizer(ddp.parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int64_t i = 0; i < kSteps; ++i) {
    if (i == kSteps / 2 && comm.rank() == dying) raise(SIGKILL);
    optimizer.zero_grad();
    const auto mine = [&](const torch::Tensor& all) {
      return all[i].slice(0, comm.rank(), kBatch, comm.size());
    };
    const float loss = step(ddp, mine(x), mine(y), i % 5 == 4);
    optimizer.step();
    std::printf("rank %d step %d: loss %.9g\n", comm.rank(),
                static_cast<int>(i), loss);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  torch::set_num_threads(1);
  train(argv[1], argc > 2 ? std::atoi(argv[2]) : -1);
} catch (const rondo::Error& e) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
