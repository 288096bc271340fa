// Elements in random order.
//
// A buffer holds up to buffer_size elements; the next one is drawn from it, and
// the input's next takes its place. Draw k of a pass is number k of the random
// stream of (seed, pass), so an order depends on nothing else.
#include <random>

#include "rondo/kernels/cpu/philox.h"
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

class ShuffleStream final : public DataStream {
 public:
  ShuffleStream(DataStreamPtr input, int64_t size, uint64_t seed, uint64_t pass,
                const DataRun& run)
      : DataStream("shuffle", run),
        input_(std::move(input)),
        size_(static_cast<size_t>(size)),
        random_{seed, pass} {}

 protected:
  NextElement produce() override {
    while (!ended_ && buffer_.size() < size_) {
      NextElement element = input_->next();
      if (!element.ok()) return element;
      ended_ = !*element;
      if (!ended_) buffer_.push_back(std::move(**element));
    }
    if (buffer_.empty()) return std::optional<DataElement>();
    const uint64_t at = random_below(random_, draws_++, buffer_.size());
    std::swap(buffer_[at], buffer_.back());
    DataElement element = std::move(buffer_.back());
    buffer_.pop_back();
    return std::optional(std::move(element));
  }

 private:
  const DataStreamPtr input_;
  const size_t size_;
  const RandomStream random_;
  uint64_t draws_ = 0;
  std::vector<DataElement> buffer_;
  bool ended_ = false;
};

uint64_t unpredictable() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

DataStagePtr shuffle_stage(DataStagePtr input, int64_t buffer_size,
                           ShuffleOptions options) {
  if (buffer_size < 1)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.shuffle: buffer_size is {}, expected at "
                            "least 1",
                            buffer_size));
  const uint64_t seed = options.seed ? *options.seed : unpredictable();
  const bool each = options.reshuffle_each_iteration;
  DataTypes types = input->types();
  return make_stage(
      "shuffle", std::move(types),
      [input = std::move(input), buffer_size, seed, each](const DataRun& run) {
        return std::make_unique<ShuffleStream>(input->open(run), buffer_size,
                                               seed, each ? run.pass : 0, run);
      });
}

}  // namespace rondo
