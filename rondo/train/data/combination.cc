// One data set of several.
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

class ZipStream final : public DataStream {
 public:
  ZipStream(std::vector<DataStreamPtr> inputs, const DataRun& run)
      : DataStream("zip", run), inputs_(std::move(inputs)) {}

 protected:
  NextElement produce() override {
    if (ended_) return std::optional<DataElement>();
    DataElement all;
    for (const DataStreamPtr& input : inputs_) {
      NextElement element = input->next();
      if (!element.ok()) return element;
      ended_ = !*element;
      if (ended_) return element;
      for (Tensor& tensor : **element) all.push_back(std::move(tensor));
    }
    return std::optional(std::move(all));
  }

 private:
  const std::vector<DataStreamPtr> inputs_;
  bool ended_ = false;
};

class ConcatenateStream final : public DataStream {
 public:
  ConcatenateStream(const DataStage& first, DataStagePtr second,
                    const DataRun& run)
      : DataStream("concatenate", run),
        second_(std::move(second)),
        stream_(first.open(run)) {}

 protected:
  NextElement produce() override {
    NextElement element = stream_->next();
    if (!element.ok() || *element || !second_) return element;
    stream_ = second_->open(run());
    second_.reset();
    return stream_->next();
  }

 private:
  DataStagePtr second_;  // until it is its turn
  DataStreamPtr stream_;
};

using DatasetFunction = std::function<Result<Dataset>(DataElement)>;

// Streams take turns of block_length elements. The place of a stream that came
// to its end is taken by a new one when it is its turn again.
class InterleaveStream final : public DataStream {
 public:
  InterleaveStream(DataStreamPtr input, DatasetFunction function,
                   DataTypes types, InterleaveOptions options,
                   const DataRun& run)
      : DataStream("interleave", run),
        input_(std::move(input)),
        function_(std::move(function)),
        types_(std::move(types)),
        options_(options),
        open_(static_cast<size_t>(options.cycle_length)) {}

 protected:
  NextElement produce() override {
    for (size_t idle = 0; idle < open_.size();) {
      if (cancelled()) return cancel_reason();
      Open& open = open_[turn_];
      if (!open.stream && !input_ended_) {
        const Status status = begin(open);
        if (!status.ok()) return status;
      }
      if (!open.stream) {
        ++idle;
        pass_on();
        continue;
      }
      idle = 0;
      NextElement element = open.stream->next();
      if (element.ok() && !*element) {
        open = {};
        pass_on();
        continue;
      }
      if (++taken_ >= options_.block_length) pass_on();
      if (!element.ok()) return element;
      const Status fits = check_element(**element, types_);
      if (!fits.ok()) return fault(fits);
      return element;
    }
    return std::optional<DataElement>();
  }

 private:
  struct Open {
    DataStagePtr stage;
    DataStreamPtr stream;  // goes first
  };

  Status begin(Open& open) {
    NextElement element = input_->next();
    if (!element.ok()) return element.status();
    input_ended_ = !*element;
    if (input_ended_) return {};
    Result<Dataset> dataset = function_(std::move(**element));
    if (!dataset.ok()) return fault(dataset.status());
    open.stage = dataset->stage();
    open.stream = open.stage->open(run());
    return {};
  }

  void pass_on() {
    taken_ = 0;
    turn_ = (turn_ + 1) % open_.size();
  }

  const DataStreamPtr input_;
  const DatasetFunction function_;
  const DataTypes types_;
  const InterleaveOptions options_;
  bool input_ended_ = false;
  std::vector<Open> open_;
  size_t turn_ = 0;
  int taken_ = 0;  // in this turn
};

}  // namespace

DataStagePtr zip_stage(std::vector<DataStagePtr> inputs) {
  if (inputs.empty())
    throw Error(Code::kInvalidArgument, "Dataset.zip: there are no data sets");
  DataTypes types;
  for (const DataStagePtr& input : inputs)
    types.insert(types.end(), input->types().begin(), input->types().end());
  return make_stage("zip", std::move(types),
                    [inputs = std::move(inputs)](const DataRun& run) {
                      std::vector<DataStreamPtr> streams;
                      streams.reserve(inputs.size());
                      for (const DataStagePtr& input : inputs)
                        streams.push_back(input->open(run));
                      return std::make_unique<ZipStream>(std::move(streams),
                                                         run);
                    });
}

DataStagePtr concatenate_stage(DataStagePtr first, DataStagePtr second) {
  DataTypes types = first->types();
  const DataTypes& others = second->types();
  if (types.size() != others.size())
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.concatenate: elements of {} components "
                            "and of {}",
                            types.size(), others.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].dtype != others[i].dtype)
      throw Error(
          Code::kInvalidArgument,
          fmt::format("Dataset.concatenate: component {} has type {} "
                      "here and {} there",
                      i, name_of(types[i].dtype), name_of(others[i].dtype)));
    types[i].shape = relaxed(types[i].shape, others[i].shape);
  }
  return make_stage("concatenate", std::move(types),
                    [first = std::move(first),
                     second = std::move(second)](const DataRun& run) {
                      return std::make_unique<ConcatenateStream>(*first, second,
                                                                 run);
                    });
}

DataStagePtr interleave_stage(DataStagePtr input, DatasetFunction function,
                              DataTypes types, InterleaveOptions options) {
  if (options.cycle_length < 1 || options.block_length < 1)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.interleave: cycle_length is {} and "
                            "block_length {}, expected at least 1",
                            options.cycle_length, options.block_length));
  DataTypes given = types;
  return make_stage("interleave", std::move(given),
                    [input = std::move(input), function = std::move(function),
                     types = std::move(types), options](const DataRun& run) {
                      return std::make_unique<InterleaveStream>(
                          input->open(run), function, types, options, run);
                    });
}

}  // namespace rondo
