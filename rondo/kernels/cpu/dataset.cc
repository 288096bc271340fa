#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/data_iterator.h"
#include "rondo/kernels/kernel.h"

namespace rondo {
namespace {

std::shared_ptr<DataIterator> find_iterator(const Node& node,
                                            Resources& resources) {
  return resources
      .find_or_make<DataIterator>("iterator/" +
                                  node.attrs().get<std::string>("iterator"))
      .value();
}

// nullptr where the node names none.
std::shared_ptr<const DataSourceMaker> find_maker(const Node& node) {
  const auto& name = node.attrs().get<std::string>("dataset");
  if (name.empty()) return nullptr;
  auto maker = std::dynamic_pointer_cast<const DataSourceMaker>(
      node.graph().attachment(name));
  if (!maker)
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: the graph has no data set \"{}\": files do "
                            "not keep data sets, so make the iterator again",
                            node.describe(), name));
  return maker;
}

// Keeps the source of what a run was given until the run is over, so that its
// tensors are seen to share their memory with it.
class KeptSource final : public Resource {
 public:
  void keep(std::shared_ptr<DataSource> source) {
    const std::lock_guard lock(mutex_);
    source_.swap(source);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<DataSource> source_;  // guarded by mutex_
};

class IteratorGetNext final : public AsyncKernel {
 public:
  IteratorGetNext(const Node& node, Resources& resources)
      : name_(node.attrs().get<std::string>("iterator")),
        types_(node.outputs()),
        maker_(find_maker(node)),
        iterator_(find_iterator(node, resources)) {}

  void start(KernelContext& c, Done done) override {
    if (maker_) iterator_->begin_once(*maker_);
    auto source = iterator_->source();
    if (!source) {
      done(error(Code::kInvalidArgument,
                 "the iterator \"{}\" has not begun: run its initializer first",
                 name_));
      return;
    }
    auto kept = c.run_resources().find_or_make<KeptSource>("source/" + name_);
    if (!kept.ok()) {
      done(kept.status());
      return;
    }
    (*kept)->keep(std::move(source));
    iterator_->next(c.cancellation(),
                    [this, &c, done = std::move(done)](
                        DataIterator::Next next) { done(finish(c, next)); });
  }

 private:
  Status finish(KernelContext& c, DataIterator::Next& next) const {
    if (!next.ok()) return next.status();
    if (!*next)
      return error(Code::kOutOfRange,
                   "the iterator \"{}\" is at the end of its data", name_);
    std::vector<Tensor>& element = **next;
    if (element.size() != types_.size())
      return error(Code::kInvalidArgument,
                   "the iterator \"{}\" gave {} components, expected {}", name_,
                   element.size(), types_.size());
    for (size_t i = 0; i < element.size(); ++i) {
      const TensorType& type = types_[i];
      if (element[i].dtype() != type.dtype ||
          !type.shape.compatible(PartialShape(element[i].shape())))
        return error(Code::kInvalidArgument,
                     "component {} of the iterator \"{}\" is {}{}, expected "
                     "{}{}",
                     i, name_, name_of(element[i].dtype()),
                     element[i].shape().to_string(), name_of(type.dtype),
                     type.shape.to_string());
      c.set_output(static_cast<int>(i), std::move(element[i]));
    }
    return {};
  }

  const std::string name_;
  const std::vector<TensorType> types_;
  const std::shared_ptr<const DataSourceMaker> maker_;
  const std::shared_ptr<DataIterator> iterator_;
};

class MakeIterator final : public Kernel {
 public:
  MakeIterator(const Node& node, Resources& resources)
      : maker_(find_maker(node)), iterator_(find_iterator(node, resources)) {}
  Status run(KernelContext& /*c*/) override {
    iterator_->begin(*maker_);
    return {};
  }

 private:
  const std::shared_ptr<const DataSourceMaker> maker_;
  const std::shared_ptr<DataIterator> iterator_;
};

}  // namespace

void register_dataset_kernels(KernelRegistry& kernels) {
  kernels.add("IteratorGetNext", "cpu", from_class<IteratorGetNext>());
  kernels.add("MakeIterator", "cpu", from_class<MakeIterator>());
}

}  // namespace rondo
