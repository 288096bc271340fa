// That a step runs on a device whose memory the host can neither read nor
// write: its pages are mapped without any permission, and its kernels alone
// know of another place where the same pages are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "rondo/graph/gradients.h"
#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/shaping.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/optimizers.h"
#include "rondo/kernels/host_sides.h"
#include "rondo/kernels/kernel_registry.h"
#include "rondo/runtime/compiled_part.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

constexpr size_t kBytes = size_t{64} << 20;

// The device's addresses, and the window through which its kernels see them.
struct Memory {
  Memory() {
    const int file = memfd_create("device", 0);
    if (file < 0 || ftruncate(file, kBytes) != 0) return;
    device = map(file, PROT_NONE);
    window = map(file, PROT_READ | PROT_WRITE);
    close(file);
  }
  static char* map(int file, int access) {
    void* p = mmap(nullptr, kBytes, access, MAP_SHARED, file, 0);
    return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
  }
  char* take(size_t bytes) {  // never given back: there is enough
    const size_t at = used.fetch_add((bytes + 63) / 64 * 64);
    if (at + bytes > kBytes) throw Error(Code::kResource, "no memory left");
    return device + at;
  }

  char* device = nullptr;
  char* window = nullptr;
  std::atomic<size_t> used = 64;
};
Memory& memory() {
  static Memory all;
  return all;
}

bool within(const void* p, const char* base) {
  return p >= base && p < base + kBytes;
}

// The same elements at another address.
Tensor moved(const Tensor& tensor, const char* from, char* to) {
  void* at = to + (static_cast<const char*>(tensor.data()) - from);
  Tensor there = Tensor::adopt(std::shared_ptr<void>(at, [tensor](void*) {}),
                               tensor.dtype(), tensor.shape());
  there.set_layout(tensor.layout());
  return there;
}
Tensor in_window(const Tensor& tensor) {
  EXPECT_TRUE(within(tensor.data(), memory().device)) << "not on the device";
  return moved(tensor, memory().device, memory().window);
}

class DeviceAllocator final : public Allocator {
 public:
  explicit DeviceAllocator(bool windowed) : windowed_(windowed) {}
  Tensor allocate(DType dtype, const Shape& shape) override {
    const auto bytes = static_cast<size_t>(shape.count()) * size_of(dtype);
    char* at = memory().take(bytes);
    if (windowed_) at = memory().window + (at - memory().device);
    return Tensor::adopt(std::shared_ptr<void>(at, [](void*) {}), dtype, shape);
  }

 private:
  const bool windowed_;
};

class FarDevice final : public Device {
 public:
  FarDevice() : Device("/job:localhost/task:0/far:0") {}
  std::string_view kind() const override { return "far"; }
  Allocator& allocator() override { return allocator_; }
  bool in_host_memory() const override { return false; }
  Tensor to_host(const Tensor& tensor) override {
    ++downs;
    return in_layout(windowed_, in_window(tensor), Layout::kRowMajor).clone();
  }
  Tensor from_host(const Tensor& tensor) override {
    EXPECT_FALSE(within(tensor.data(), memory().device));
    Tensor there = windowed_.allocate(tensor.dtype(), tensor.shape());
    std::memcpy(there.data(), tensor.data(), tensor.bytes());
    return moved(there, memory().window, memory().device);
  }
  Tensor row_major(const Tensor& tensor) override {
    return moved(in_layout(windowed_, in_window(tensor), Layout::kRowMajor),
                 memory().window, memory().device);
  }

  int downs = 0;  // tensors brought to the host

 private:
  DeviceAllocator allocator_{false};
  DeviceAllocator windowed_{true};
};

// A kernel of the CPU's that computes through the window.
class FarKernel final : public Kernel, public HostSides {
 public:
  FarKernel(const Node& node, Resources& resources)
      : op_(node.op().name),
        kernel_(
            KernelRegistry::process().make(node, "cpu", resources).value()) {}

  bool takes_layouts() const override { return kernel_->takes_layouts(); }
  bool host_input(int i) const override {
    return (op_ == "Reshape" || op_ == "SumGrad" || op_ == "SumTo") && i == 1;
  }
  bool host_output(int) const override { return op_ == "Shape"; }

  Status run(KernelContext& c) override {
    std::vector<Tensor> inputs, outputs(static_cast<size_t>(c.outputs()));
    for (int i = 0; i < c.inputs(); ++i)
      inputs.push_back(host_input(i) ? c.input(i) : in_window(c.input(i)));
    // Whether somebody else needs an input does not show in the window, so that
    // none may be written over.
    const std::vector<Tensor> held = inputs;
    DeviceAllocator windowed(true);
    KernelContext inner(windowed, c.resources(), c.run_resources(),
                        c.cancellation(), inputs, outputs);
    RONDO_RETURN_IF_ERROR(kernel_->run(inner));
    for (int i = 0; i < c.outputs(); ++i) {
      Tensor& made = outputs[static_cast<size_t>(i)];
      if (host_output(i))
        c.set_output(i, made.clone());
      else if (within(made.data(), memory().window))
        c.set_output(i, moved(made, memory().window, memory().device));
      else if (made.has_buffer())
        c.set_output(i, FarDevice().from_host(made));
    }
    return {};
  }

 private:
  const std::string op_;
  const std::unique_ptr<Kernel> kernel_;
};

class DeviceMemory : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(memory().window, nullptr);
    KernelRegistry& kernels = KernelRegistry::process();
    for (const OpDef* op : OpRegistry::process().all())
      if (kernels.has(op->name, "cpu") && !kernels.has(op->name, "far"))
        kernels.add(op->name, "far", from_class<FarKernel>());
  }

  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                  const std::vector<Feed>& feeds = {},
                                  const std::vector<Node*>& targets = {}) {
    std::vector<Value> fed;
    for (const Feed& feed : feeds) fed.push_back(feed.value);
    RONDO_ASSIGN_OR_RETURN(const auto part,
                           CompiledPart::make(extract(g, fed, fetches, targets),
                                              device, containers));
    auto step = part->take();
    for (const Feed& feed : feeds) step->feeds().push_back(feed.tensor);
    Cancellation cancellation;
    step->begin({.cancellation = &cancellation});
    step->work();
    return step->finish();
  }
  // The same as on the CPU.
  void expect_same(const std::vector<Value>& fetches,
                   const std::vector<Feed>& feeds = {}) {
    const auto there = run(fetches, feeds).value();
    const auto here = cpu.run(fetches, feeds).value();
    for (size_t i = 0; i < fetches.size(); ++i) {
      ASSERT_EQ(there[i].shape(), here[i].shape());
      ASSERT_EQ(there[i].layout(), Layout::kRowMajor);
      EXPECT_EQ(std::memcmp(there[i].data(), here[i].data(), here[i].bytes()),
                0)
          << there[i].to_string() << " and " << here[i].to_string();
    }
  }
  void initialize() {
    run({}, {}, {&initializer(g)}).value();
    cpu.run(initializer(g)).value();
  }

  Graph g;
  FarDevice device;
  Containers containers;
  Session cpu{g, {.intra_op_threads = 1}};
};

Tensor numbers(const Shape& shape) {
  Tensor t = Tensor::empty(shape);
  float x = -1;
  for (float& e : t.span<float>()) e = x += 0.25F;
  return t;
}

TEST_F(DeviceMemory, CannotBeReadByTheHost) {
  const Tensor there = device.from_host(numbers({4}));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], there.data(), 4), -1);
  EXPECT_EQ(errno, EFAULT);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(device.to_host(there).span<float>()[1], -0.5F);
}

TEST_F(DeviceMemory, FeedsAndFetchesCrossOver) {
  const Value x = placeholder(g, {.shape = {3, 4}});
  const Value w = placeholder(g, {.shape = {4, 2}});
  const Value y = relu(matmul(x, w) + constant(g, 0.5, DType::kF32));
  expect_same({y, x, y}, {{x, numbers({3, 4})}, {w, numbers({4, 2})}});
  const Value empty = placeholder(g, {.shape = {kAny, 4}});
  expect_same({matmul(empty, w)},
              {{empty, Tensor::zeros({0, 4})}, {w, numbers({4, 2})}});
}

TEST_F(DeviceMemory, ConditionsAreBroughtToTheHost) {
  const Value x = placeholder(g, {.shape = PartialShape(Shape{})});
  const Value y = cond(
      less(x, constant(g, 0, DType::kF32)), [&] { return Values{neg(x)}; },
      [&] { return Values{x * 2.0}; })[0];
  for (const float v : {-3.0F, 4.0F}) {
    const int before = device.downs;
    expect_same({y}, {{x, Tensor::full({}, v)}});
    EXPECT_GE(device.downs - before, 2);  // the condition and the result
  }
}

TEST_F(DeviceMemory, LoopsCountOnIt) {
  const Value x = placeholder(g, {.shape = {4}});
  const Values left = while_loop(
      [&](const Values& v) { return less(v[0], constant(g, 9, DType::kF32)); },
      [&](const Values& v) {
        return Values{v[0] + 1.0, v[1] * 0.5 + v[0]};
      },
      {constant(g, 0, DType::kF32), x});
  const Value sum = reduce_sum(left[1]);
  const Value slope = dense_gradients({&sum, 1}, {&x, 1})[0];
  expect_same({left[0], left[1], slope}, {{x, numbers({4})}});
}

TEST_F(DeviceMemory, KernelsHaveSomeInputsOnTheHost) {
  const Value x = placeholder(g, {.shape = PartialShape()});
  const Value like = placeholder(g, {.shape = PartialShape()});
  expect_same({reshape(x, shape_of(like)), shape_of(x)},
              {{x, numbers({2, 6})}, {like, numbers({3, 4})}});
}

TEST_F(DeviceMemory, LayoutsAreChangedThere) {
  const Value x = placeholder(g, {.shape = {1, 4, 4, 16}});
  const Value f = constant(g, numbers({3, 3, 16, 32}));
  const Value y = conv2d(x, f, {});
  expect_same({y, transpose(y)}, {{x, numbers({1, 4, 4, 16})}});
}

TEST_F(DeviceMemory, ModelsTrainOnIt) {
  const Value x = placeholder(g, {.shape = {4, 3}});
  const Value labels = placeholder(g, {.dtype = DType::kI64, .shape = {4}});
  const Value w = variable(g, constant(g, numbers({3, 5})));
  const Value b = variable(g, zeros(g, {5}));
  const Value loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(
      bias_add(matmul(x, w), b), labels));
  Node& train = Momentum({.learning_rate = 0.1}).minimize(loss);
  initialize();
  const std::vector<Feed> feeds{{x, numbers({4, 3})},
                                {labels, Tensor::zeros({4}, DType::kI64)}};
  for (int i = 0; i < 3; ++i) {
    run({}, feeds, {&train}).value();
    cpu.run({}, feeds, {&train}).value();
  }
  expect_same({w, b, loss}, feeds);
}

}  // namespace
}  // namespace rondo
