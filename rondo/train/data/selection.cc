// The same elements again, or some of them.
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

class RepeatStream final : public DataStream {
 public:
  RepeatStream(DataStagePtr input, int64_t count, const DataRun& run)
      : DataStream("repeat", run), input_(std::move(input)), count_(count) {}

 protected:
  NextElement produce() override {
    for (;;) {
      if (cancelled()) return cancel_reason();
      if (!stream_) {
        if (count_ >= 0 && begun_ >= count_)
          return std::optional<DataElement>();
        stream_ =
            input_->open(run().repetition(static_cast<uint64_t>(begun_++)));
        empty_ = true;
      }
      NextElement element = stream_->next();
      if (!element.ok()) {
        empty_ = false;
        return element;
      }
      if (*element) {
        empty_ = false;
        return element;
      }
      stream_.reset();
      // Nothing, for ever, is nothing.
      if (empty_) begun_ = count_ = 0;
    }
  }

 private:
  const DataStagePtr input_;
  int64_t count_;
  int64_t begun_ = 0;
  DataStreamPtr stream_;
  bool empty_ = true;
};

class TakeStream final : public DataStream {
 public:
  TakeStream(DataStreamPtr input, int64_t count, const DataRun& run)
      : DataStream("take", run), input_(std::move(input)), left_(count) {}

 protected:
  NextElement produce() override {
    if (left_ == 0) return std::optional<DataElement>();
    NextElement element = input_->next();
    if (left_ > 0) --left_;
    return element;
  }

 private:
  const DataStreamPtr input_;
  int64_t left_;  // negative: all
};

class SkipStream final : public DataStream {
 public:
  SkipStream(DataStreamPtr input, int64_t count, const DataRun& run)
      : DataStream("skip", run), input_(std::move(input)), left_(count) {}

 protected:
  NextElement produce() override {
    for (; left_ != 0; --left_) {
      NextElement element = input_->next();
      if (!element.ok() || !*element) return element;
    }
    return input_->next();
  }

 private:
  const DataStreamPtr input_;
  int64_t left_;  // negative: all
};

class ShardStream final : public DataStream {
 public:
  ShardStream(DataStreamPtr input, int64_t shards, int64_t index,
              const DataRun& run)
      : DataStream("shard", run),
        input_(std::move(input)),
        shards_(shards),
        index_(index) {}

 protected:
  NextElement produce() override {
    for (;;) {
      NextElement element = input_->next();
      if (!element.ok() || !*element) return element;
      const bool mine = at_ == index_;
      at_ = (at_ + 1) % shards_;
      if (mine) return element;
    }
  }

 private:
  const DataStreamPtr input_;
  const int64_t shards_;
  const int64_t index_;
  int64_t at_ = 0;  // of the next element, in its round
};

void check_count(std::string_view stage, int64_t count) {
  if (count < -1)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.{}: count is {}, expected at least 0, or "
                            "-1 for all",
                            stage, count));
}

}  // namespace

DataStagePtr repeat_stage(DataStagePtr input, int64_t count) {
  check_count("repeat", count);
  DataTypes types = input->types();
  return make_stage("repeat", std::move(types),
                    [input = std::move(input), count](const DataRun& run) {
                      return std::make_unique<RepeatStream>(input, count, run);
                    });
}

DataStagePtr take_stage(DataStagePtr input, int64_t count) {
  check_count("take", count);
  DataTypes types = input->types();
  return make_stage("take", std::move(types),
                    [input = std::move(input), count](const DataRun& run) {
                      return std::make_unique<TakeStream>(input->open(run),
                                                          count, run);
                    });
}

DataStagePtr skip_stage(DataStagePtr input, int64_t count) {
  check_count("skip", count);
  DataTypes types = input->types();
  return make_stage("skip", std::move(types),
                    [input = std::move(input), count](const DataRun& run) {
                      return std::make_unique<SkipStream>(input->open(run),
                                                          count, run);
                    });
}

DataStagePtr shard_stage(DataStagePtr input, int64_t num_shards,
                         int64_t index) {
  if (num_shards < 1 || index < 0 || index >= num_shards)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.shard: index is {} of {} shards, expected "
                            "one of [0, num_shards)",
                            index, num_shards));
  DataTypes types = input->types();
  return make_stage(
      "shard", std::move(types),
      [input = std::move(input), num_shards, index](const DataRun& run) {
        return std::make_unique<ShardStream>(input->open(run), num_shards,
                                             index, run);
      });
}

}  // namespace rondo
