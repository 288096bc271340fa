#include <cstring>

#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/variable.h"
#include "rondo/kernels/cpu/waiting_kernels.h"
#include "rondo/kernels/tensor_queue.h"

namespace rondo {
namespace {

using Element = TensorQueue::Element;

struct QueueOf {
  QueueOf(const Node& node, Resources& resources)
      : name(node.attrs().get<std::string>("queue")) {
    const Attrs& a = node.attrs();
    options = {.capacity = a.get<int64_t>("capacity"),
               .shuffle = a.get<bool>("shuffle"),
               .min_after_dequeue = a.get<int64_t>("min_after_dequeue"),
               .seed = a.get<int64_t>("seed"),
               .seed2 = a.get<int64_t>("seed2"),
               .types = a.get<std::vector<DType>>("component_types"),
               .shapes = a.get<std::vector<PartialShape>>("shapes")};
    queue = resources.find_or_make<TensorQueue>("queue/" + name).value();
    queue->configure(name, options).value();
  }

  std::string name;
  TensorQueueOptions options;
  std::shared_ptr<TensorQueue> queue;
};

// A tensor that the queue may keep: a feed is the caller's, and what others
// hold may become theirs to change.
Tensor own(const Tensor& tensor) {
  return tensor.unique() ? tensor : tensor.clone();
}

template <bool kMany>
class Enqueue final : public AsyncKernel {
 public:
  Enqueue(const Node& node, Resources& resources) : of_(node, resources) {}

  void start(KernelContext& c, Done done) override {
    std::vector<Element> elements;
    const Status status = gather(c, elements);
    if (!status.ok()) {
      done(status);
      return;
    }
    of_.queue->enqueue(c, std::move(elements), std::move(done));
  }

 private:
  Status gather(KernelContext& c, std::vector<Element>& elements) const {
    for (int i = 0; i < c.inputs(); ++i)
      RONDO_RETURN_IF_ERROR(check(c.input(i), i));
    if (!kMany) {
      elements.emplace_back();
      for (int i = 0; i < c.inputs(); ++i)
        elements[0].push_back(own(c.input(i)));
      return {};
    }
    const int64_t rows = c.input(0).shape()[0];
    for (int i = 1; i < c.inputs(); ++i)
      if (c.input(i).shape()[0] != rows)
        return error(Code::kInvalidArgument,
                     "component 0 has {} rows and component {} has {}", rows, i,
                     c.input(i).shape()[0]);
    elements.resize(static_cast<size_t>(rows));
    for (int i = 0; i < c.inputs(); ++i) split(c, i, elements);
    return {};
  }

  Status check(const Tensor& t, int i) const {
    if (kMany && t.shape().rank() == 0)
      return error(Code::kInvalidArgument,
                   "component {} is a scalar, which has no rows", i);
    if (of_.options.shapes.empty()) return {};
    const auto extents = t.shape().extents().subspan(kMany ? 1 : 0);
    const PartialShape& wanted = of_.options.shapes[static_cast<size_t>(i)];
    if (wanted.compatible(PartialShape(Shape(extents)))) return {};
    return error(Code::kInvalidArgument,
                 "component {} of the queue \"{}\" has shape {}, not {}", i,
                 of_.name, wanted.to_string(), Shape(extents).to_string());
  }

  static void split(KernelContext& c, int i, std::vector<Element>& elements) {
    const Tensor& from = c.input(i);
    const Shape shape(from.shape().extents().subspan(1));
    const auto* at = static_cast<const std::byte*>(from.data());
    for (Element& element : elements) {
      Tensor row = c.scratch(from.dtype(), shape);
      if (row.bytes() > 0) std::memcpy(row.data(), at, row.bytes());
      at += row.bytes();
      element.push_back(std::move(row));
    }
  }

  const QueueOf of_;
};

template <TensorQueue::Take kTake>
class Dequeue final : public AsyncKernel {
 public:
  Dequeue(const Node& node, Resources& resources) : of_(node, resources) {}

  void start(KernelContext& c, Done done) override {
    int64_t count = 1;
    if (kTake != TensorQueue::Take::kOne) {
      if (c.input(0).count() != 1) {
        done(error(Code::kInvalidArgument, "n has shape {}, expected a scalar",
                   c.input(0).shape().to_string()));
        return;
      }
      count = index_at(c.input(0), 0);
    }
    if (count < 0) {
      done(error(Code::kInvalidArgument, "n is {}: expected 0 or more", count));
      return;
    }
    of_.queue->dequeue(c, kTake, count, std::move(done));
  }

 private:
  const QueueOf of_;
};

class Close final : public Kernel {
 public:
  Close(const Node& node, Resources& resources)
      : of_(node, resources),
        cancel_(node.attrs().get<bool>("cancel_pending_enqueues")) {}
  Status run(KernelContext& /*c*/) override {
    of_.queue->close(cancel_);
    return {};
  }

 private:
  const QueueOf of_;
  const bool cancel_;
};

class Size final : public Kernel {
 public:
  Size(const Node& node, Resources& resources) : of_(node, resources) {}
  Status run(KernelContext& c) override {
    c.allocate(0, DType::kI64, {}).span<int64_t>()[0] = of_.queue->size();
    return {};
  }

 private:
  const QueueOf of_;
};

class IsClosed final : public Kernel {
 public:
  IsClosed(const Node& node, Resources& resources) : of_(node, resources) {}
  Status run(KernelContext& c) override {
    c.allocate(0, DType::kBool, {}).span<bool>()[0] = of_.queue->closed();
    return {};
  }

 private:
  const QueueOf of_;
};

}  // namespace

void register_queue_kernels(KernelRegistry& kernels) {
  using Take = TensorQueue::Take;
  kernels.add("QueueEnqueue", "cpu", from_class<Enqueue<false>>());
  kernels.add("QueueEnqueueMany", "cpu", from_class<Enqueue<true>>());
  kernels.add("QueueDequeue", "cpu", from_class<Dequeue<Take::kOne>>());
  kernels.add("QueueDequeueMany", "cpu", from_class<Dequeue<Take::kMany>>());
  kernels.add("QueueDequeueUpTo", "cpu", from_class<Dequeue<Take::kUpTo>>());
  kernels.add("QueueClose", "cpu", from_class<Close>());
  kernels.add("QueueSize", "cpu", from_class<Size>());
  kernels.add("QueueIsClosed", "cpu", from_class<IsClosed>());
  register_accumulator_kernels(kernels);
  register_exchange_kernels(kernels);
  register_parameter_kernels(kernels);
  register_mutex_kernels(kernels);
  register_run_kernels(kernels);
}

}  // namespace rondo
