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

// Draws from a window of items that a function gives, until it gives none.
template <class Item>
class Window {
 public:
  Window(int64_t size, const RandomStream& random)
      : size_(static_cast<size_t>(size)), random_(random) {}

  bool wants_more() const { return !ended_ && items_.size() < size_; }
  void add(Item item) { items_.push_back(std::move(item)); }
  void end() { ended_ = true; }
  bool empty() const { return items_.empty(); }
  Item draw() {
    const uint64_t at = random_below(random_, draws_++, items_.size());
    std::swap(items_[at], items_.back());
    Item item = std::move(items_.back());
    items_.pop_back();
    return item;
  }

 private:
  const size_t size_;
  const RandomStream random_;
  uint64_t draws_ = 0;
  std::vector<Item> items_;
  bool ended_ = false;
};

class ShuffleStream final : public DataStream {
 public:
  ShuffleStream(DataStreamPtr input, int64_t size, const RandomStream& random,
                const DataRun& run)
      : DataStream("shuffle", run),
        input_(std::move(input)),
        window_(size, random) {}

 protected:
  NextElement produce() override {
    while (window_.wants_more()) {
      NextElement element = input_->next();
      if (!element.ok()) return element;
      if (*element)
        window_.add(std::move(**element));
      else
        window_.end();
    }
    if (window_.empty()) return std::optional<DataElement>();
    return std::optional(window_.draw());
  }

 private:
  const DataStreamPtr input_;
  Window<DataElement> window_;
};

// The same order for rows that can be had in any: only their numbers wait.
class ShuffleRowsStream final : public DataStream {
 public:
  ShuffleRowsStream(DataStreamPtr input, int64_t size,
                    const RandomStream& random, const DataRun& run)
      : DataStream("shuffle", run),
        input_(std::move(input)),
        rows_(*input_->rows()),
        window_(size, random) {}

 protected:
  NextElement produce() override {
    while (window_.wants_more()) {
      if (next_ < rows_.rows())
        window_.add(next_++);
      else
        window_.end();
    }
    if (window_.empty()) return std::optional<DataElement>();
    return std::optional(rows_.row(window_.draw()));
  }

 private:
  const DataStreamPtr input_;
  const DataRows& rows_;
  Window<int64_t> window_;
  int64_t next_ = 0;
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
  return make_stage("shuffle", std::move(types),
                    [input = std::move(input), buffer_size, seed,
                     each](const DataRun& run) -> DataStreamPtr {
                      DataStreamPtr stream = input->open(run);
                      const RandomStream random{seed, each ? run.pass : 0};
                      if (stream->rows())
                        return std::make_unique<ShuffleRowsStream>(
                            std::move(stream), buffer_size, random, run);
                      return std::make_unique<ShuffleStream>(
                          std::move(stream), buffer_size, random, run);
                    });
}

}  // namespace rondo
