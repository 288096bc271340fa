#include "rondo/train/dataset.h"

#include "rondo/train/data/graph_runner.h"
#include "rondo/train/data/stages.h"

namespace rondo {

struct DatasetIterator::Impl {
  Impl(DataStagePtr s, uint64_t pass)
      : stage(std::move(s)), stream(stage->open({&cancellation, pass})) {}
  ~Impl() {
    cancellation.cancel(Status(Code::kCancelled, "the iterator was closed"));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const DataStagePtr stage;
  Cancellation cancellation;
  const DataStreamPtr stream;
};

DatasetIterator::DatasetIterator(DataStagePtr stage, uint64_t pass)
    : impl_(std::make_unique<Impl>(std::move(stage), pass)) {}
DatasetIterator::~DatasetIterator() = default;
DatasetIterator::DatasetIterator(DatasetIterator&&) noexcept = default;
DatasetIterator& DatasetIterator::operator=(DatasetIterator&&) noexcept =
    default;

NextElement DatasetIterator::next() { return impl_->stream->next(); }

void DatasetIterator::cancel(Status reason) {
  impl_->cancellation.cancel(std::move(reason));
}

Cancellation& DatasetIterator::cancellation() { return impl_->cancellation; }

// ---- Sources ----------------------------------------------------------------

Dataset Dataset::from_tensors(DataElement element) {
  return Dataset(tensors_stage(std::move(element)));
}

Dataset Dataset::from_tensor_slices(DataElement tensors) {
  return Dataset(slices_stage(std::move(tensors)));
}

Dataset Dataset::range(int64_t stop) {
  return Dataset(range_stage(0, stop, 1));
}

Dataset Dataset::range(int64_t start, int64_t stop, int64_t step) {
  return Dataset(range_stage(start, stop, step));
}

Dataset Dataset::from_generator(DataGeneratorMaker begin, DataTypes types) {
  return Dataset(generator_stage(std::move(begin), std::move(types)));
}

Dataset Dataset::list_files(std::string pattern) {
  return Dataset(list_files_stage(std::move(pattern)));
}

Dataset Dataset::paths(const std::vector<std::string>& paths) {
  return Dataset(paths_stage(paths));
}

Dataset Dataset::text_line(const Dataset& paths, Compression compression) {
  return Dataset(text_line_stage(paths.stage_, compression));
}

Dataset Dataset::fixed_length_record(const Dataset& paths,
                                     const FixedLengthOptions& options) {
  return Dataset(fixed_length_stage(paths.stage_, options));
}

Dataset Dataset::tf_record(const Dataset& paths, Compression compression) {
  return Dataset(tf_record_stage(paths.stage_, compression));
}

Dataset Dataset::zip(const std::vector<Dataset>& datasets) {
  std::vector<DataStagePtr> stages;
  stages.reserve(datasets.size());
  for (const Dataset& dataset : datasets) stages.push_back(dataset.stage_);
  return Dataset(zip_stage(std::move(stages)));
}

// ---- Functions --------------------------------------------------------------

Dataset Dataset::map(const GraphBuilder& build, MapOptions options) const {
  return map(build_function(build, types()), options);
}

Dataset Dataset::map(GraphFunction function, MapOptions options) const {
  // With several elements at once, each makes do with one thread.
  auto runner =
      std::make_shared<GraphRunner>("map", std::move(function), types(),
                                    options.num_parallel_calls > 1 ? 1 : 0);
  DataTypes types = runner->types();
  return map_with(
      [runner](const DataElement& element, Cancellation& cancellation) {
        return runner->run(element, cancellation);
      },
      std::move(types), options);
}

Dataset Dataset::map(ElementFunction function, DataTypes types,
                     MapOptions options) const {
  return map_with(
      [function = std::move(function)](DataElement element, Cancellation&) {
        return function(std::move(element));
      },
      std::move(types), options);
}

Dataset Dataset::map_with(StageFunction function, DataTypes types,
                          MapOptions options) const {
  if (options.num_parallel_calls < 0)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.map: num_parallel_calls is {}, expected "
                            "at least 0",
                            options.num_parallel_calls));
  if (options.num_parallel_calls == 0)
    return Dataset(map_stage(stage_, std::move(function), std::move(types)));
  return Dataset(parallel_map_stage(stage_, std::move(function),
                                    std::move(types),
                                    options.num_parallel_calls));
}

Dataset Dataset::filter(const GraphBuilder& build) const {
  return filter(build_function(build, types()));
}

Dataset Dataset::filter(GraphFunction function) const {
  auto runner =
      std::make_shared<GraphRunner>("filter", std::move(function), types(), 0);
  const DataTypes given = runner->types();
  if (given.size() != 1 || given[0].dtype != DType::kBool ||
      !given[0].shape.compatible(PartialShape::scalar()))
    throw Error(
        Code::kInvalidArgument,
        fmt::format("Dataset.filter: the function gives {}{}, expected "
                    "a scalar of bool",
                    name_of(given[0].dtype), given[0].shape.to_string()));
  auto keep = [runner](const DataElement& element,
                       Cancellation& cancellation) -> Result<bool> {
    RONDO_ASSIGN_OR_RETURN(const DataElement got,
                           runner->run(element, cancellation));
    if (got[0].count() != 1)
      return error(Code::kInvalidArgument,
                   "the function gave a tensor of shape {}, expected a scalar",
                   got[0].shape().to_string());
    return got[0].span<bool>()[0];
  };
  return Dataset(filter_stage(stage_, std::move(keep)));
}

Dataset Dataset::filter(ElementPredicate keep) const {
  return Dataset(filter_stage(
      stage_,
      [keep = std::move(keep)](const DataElement& element, Cancellation&) {
        return keep(element);
      }));
}

Dataset Dataset::interleave(
    std::function<Result<Dataset>(DataElement)> function, DataTypes types,
    InterleaveOptions options) const {
  return Dataset(
      interleave_stage(stage_, std::move(function), std::move(types), options));
}

// ---- The rest ---------------------------------------------------------------

Dataset Dataset::batch(int64_t batch_size, BatchOptions options) const {
  return Dataset(batch_stage(stage_, batch_size, options));
}

Dataset Dataset::padded_batch(int64_t batch_size,
                              PaddedBatchOptions options) const {
  return Dataset(padded_batch_stage(stage_, batch_size, std::move(options)));
}

Dataset Dataset::shuffle(int64_t buffer_size, ShuffleOptions options) const {
  return Dataset(shuffle_stage(stage_, buffer_size, options));
}

Dataset Dataset::repeat(int64_t count) const {
  return Dataset(repeat_stage(stage_, count));
}

Dataset Dataset::take(int64_t count) const {
  return Dataset(take_stage(stage_, count));
}

Dataset Dataset::skip(int64_t count) const {
  return Dataset(skip_stage(stage_, count));
}

Dataset Dataset::shard(int64_t num_shards, int64_t index) const {
  return Dataset(shard_stage(stage_, num_shards, index));
}

Dataset Dataset::prefetch(int64_t buffer_size) const {
  return Dataset(prefetch_stage(stage_, buffer_size));
}

Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(concatenate_stage(stage_, other.stage_));
}

const DataTypes& Dataset::types() const { return stage_->types(); }

DatasetIterator Dataset::iterate(uint64_t pass) const {
  return DatasetIterator(stage_, pass);
}

}  // namespace rondo
