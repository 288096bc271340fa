// Trains a small network of libtorch's on Fashion-MNIST, on all ranks of a job:
//
//   rondo run -n 2 -- torch_fashion_mnist [EPOCHS] [IMAGES]
//
// The lines marked <- are all that is distributed. The images are those that
// Debian's package dataset-fashion-mnist installs; with IMAGES, only so many of
// them are trained on.
#include <rondo/torch/distributed_data_parallel.h>
#include <torch/torch.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

namespace nn = torch::nn;

constexpr int64_t kBatch = 64;

struct NetImpl : nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    const auto pooled = [](const torch::Tensor& t) {
      return torch::max_pool2d(t.relu(), 2);
    };
    const auto h = pooled(conv2(pooled(conv1(x)))).flatten(1);
    return fc2(fc1(h).relu());
  }
  nn::Conv2d conv1 = register_module("conv1", nn::Conv2d(1, 8, 3));
  nn::Conv2d conv2 = register_module("conv2", nn::Conv2d(8, 16, 3));
  nn::Linear fc1 = register_module("fc1", nn::Linear(16 * 5 * 5, 64));
  nn::Linear fc2 = register_module("fc2", nn::Linear(64, 10));
};
TORCH_MODULE(Net);

// An idx file: 0 0 8 AXES, then as many extents as big-endian u32, then bytes.
torch::Tensor read_idx(const std::string& name) {
  const std::string path = "/usr/share/datasets/fashion-mnist/" + name + ".gz";
  const gzFile file = gzopen(path.c_str(), "rb");
  std::array<unsigned char, 4> word{};
  const auto next = [&] { return gzread(file, word.data(), 4) == 4; };
  TORCH_CHECK(file != nullptr && next() && word[2] == 8 && word[3] <= 3, path,
              " cannot be read: apt install dataset-fashion-mnist");
  std::vector<int64_t> extents(word[3]);
  for (int64_t& extent : extents) {
    TORCH_CHECK(next(), path, " is too short");
    extent = word[0] << 24 | word[1] << 16 | word[2] << 8 | word[3];
  }
  torch::Tensor bytes = torch::empty(extents, torch::kByte);
  const auto size = static_cast<unsigned>(bytes.nbytes());
  TORCH_CHECK(gzread(file, bytes.data_ptr(), size) == static_cast<int>(size),
              path, " is too short");
  gzclose(file);
  return bytes;
}

struct Images {
  explicit Images(const std::string& part)
      : pixels(read_idx(part + "-images-idx3-ubyte")
                   .unsqueeze(1)
                   .to(torch::kFloat)
                   .div(255)),
        labels(read_idx(part + "-labels-idx1-ubyte").to(torch::kLong)) {}
  torch::Tensor pixels;
  torch::Tensor labels;
};

double percent_right(NetImpl& net, const Images& test) {
  const torch::NoGradGuard guard;
  const auto guesses = net.forward(test.pixels).argmax(1);
  return 100 * guesses.eq(test.labels).to(torch::kFloat).mean().item<double>();
}

void train(int epochs, int64_t images) {
  auto comm = rondo::Communicator::world().value();  // <-
  torch::manual_seed(1);
  const Images data("train");
  const Images test("t10k");
  const auto count = static_cast<size_t>(std::min(images, data.labels.size(0)));
  Net net;
  rondo::torch::DistributedDataParallel ddp(net, comm);  // <-
  torch::optim::SGD optimizer(ddp.parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9));
  torch::data::samplers::DistributedRandomSampler sampler(  // <-
      count, static_cast<size_t>(comm.size()),
      static_cast<size_t>(comm.rank()));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    sampler.set_epoch(static_cast<size_t>(epoch));
    sampler.reset();
    while (const auto numbers = sampler.next(kBatch)) {
      const auto batch =
          torch::tensor(std::vector<int64_t>(numbers->begin(), numbers->end()));
      optimizer.zero_grad();
      const auto loss =
          nn::functional::cross_entropy(ddp(data.pixels.index_select(0, batch)),
                                        data.labels.index_select(0, batch));
      loss.backward();  // averages the gradients
      optimizer.step();
    }
    if (comm.rank() == 0)
      std::printf("epoch %d: %.1f %% right\n", epoch + 1,
                  percent_right(*net, test));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  train(argc > 1 ? std::stoi(argv[1]) : 3,
        argc > 2 ? std::stoll(argv[2]) : 60'000);
} catch (const std::exception& e) {
  std::fprintf(stderr, "torch_fashion_mnist: %s\n", e.what());
  return 1;
}
