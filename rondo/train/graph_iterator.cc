#include "rondo/train/graph_iterator.h"

#include "rondo/graph/ops/dataset.h"
#include "rondo/kernels/data_source.h"

namespace rondo {
namespace {

class IteratorSource final : public DataSource {
 public:
  explicit IteratorSource(DatasetIterator iterator)
      : iterator_(std::move(iterator)) {}

  NextElement next() override { return iterator_.next(); }
  void stop() override {
    iterator_.cancel(Status(Code::kCancelled, "the iterator was closed"));
  }

 private:
  DatasetIterator iterator_;
};

class DatasetMaker final : public DataSourceMaker {
 public:
  explicit DatasetMaker(Dataset dataset) : dataset_(std::move(dataset)) {}

  std::shared_ptr<DataSource> make(uint64_t pass) const override {
    return std::make_shared<IteratorSource>(dataset_.iterate(pass));
  }

 private:
  const Dataset dataset_;
};

}  // namespace

std::string attach_dataset(Graph& graph, const Dataset& dataset) {
  std::string name = graph.unique_name("Dataset");
  graph.attach(name, std::make_shared<DatasetMaker>(dataset));
  return name;
}

GraphIterator::GraphIterator(Graph& graph, DataTypes types,
                             const std::string& name)
    : graph_(&graph),
      name_(graph.unique_name(name.empty() ? "Iterator" : name)),
      types_(std::move(types)) {}

std::vector<Value> GraphIterator::get_next(const std::string& name) const {
  return iterator_get_next(
      *graph_, types_, {.iterator = name_, .dataset = dataset_, .name = name});
}

Node& GraphIterator::make_initializer(const Dataset& dataset,
                                      const std::string& name) const {
  const DataTypes& theirs = dataset.types();
  if (theirs.size() != types_.size())
    throw Error(Code::kInvalidArgument,
                fmt::format("the iterator \"{}\" is for elements of {} "
                            "components, the data set has {}",
                            name_, types_.size(), theirs.size()));
  for (size_t i = 0; i < types_.size(); ++i)
    if (theirs[i].dtype != types_[i].dtype ||
        !theirs[i].shape.compatible(types_[i].shape))
      throw Error(
          Code::kInvalidArgument,
          fmt::format("component {} of the iterator \"{}\" is {}{}, of "
                      "the data set {}{}",
                      i, name_, name_of(types_[i].dtype),
                      types_[i].shape.to_string(), name_of(theirs[i].dtype),
                      theirs[i].shape.to_string()));
  return make_iterator(*graph_, {.iterator = name_,
                                 .dataset = attach_dataset(*graph_, dataset),
                                 .name = name});
}

GraphIterator make_initializable_iterator(Graph& graph, const Dataset& dataset,
                                          const std::string& name) {
  GraphIterator iterator(graph, dataset.types(), name);
  iterator.initializer_ = &iterator.make_initializer(dataset);
  return iterator;
}

GraphIterator make_one_shot_iterator(Graph& graph, const Dataset& dataset,
                                     const std::string& name) {
  GraphIterator iterator(graph, dataset.types(), name);
  iterator.dataset_ = attach_dataset(graph, dataset);
  return iterator;
}

}  // namespace rondo
