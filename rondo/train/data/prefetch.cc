// A thread that makes elements before they are asked for.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "rondo/train/data/own_cancellation.h"
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

class PrefetchStream final : public DataStream {
 public:
  PrefetchStream(const DataStage& input, int64_t size, const DataRun& run)
      : DataStream("prefetch", run),
        cancellation_(*run.cancellation,
                      [this] {
                        const std::lock_guard lock(mutex_);
                        ready_.notify_all();
                      }),
        size_(static_cast<size_t>(size)),
        input_(input.open({&cancellation_, run.pass})) {}

  ~PrefetchStream() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    cancellation_.close();
    room_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 protected:
  NextElement produce() override {
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] {
      return !made_.empty() || ended_ || cancellation_.cancelled();
    });
    if (cancellation_.cancelled()) return cancellation_.reason();
    if (made_.empty()) return std::optional<DataElement>();
    NextElement element = std::move(made_.front());
    made_.pop_front();
    lock.unlock();
    room_.notify_one();
    return element;
  }

 private:
  void work() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return closing_ || made_.size() < size_; });
        if (closing_) return;
      }
      NextElement element = input_->next();
      const std::lock_guard lock(mutex_);
      ended_ = element.ok() && !*element;
      if (!ended_) made_.push_back(std::move(element));
      ready_.notify_one();
      if (ended_) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;  // an element, or the end
  std::condition_variable room_;
  // Guarded by mutex_.
  std::deque<NextElement> made_;
  bool ended_ = false;
  bool closing_ = false;

  OwnCancellation cancellation_;
  const size_t size_;
  const DataStreamPtr input_;  // the thread's

  std::thread thread_;
};

}  // namespace

DataStagePtr prefetch_stage(DataStagePtr input, int64_t buffer_size) {
  if (buffer_size < 1)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.prefetch: buffer_size is {}, expected at "
                            "least 1",
                            buffer_size));
  DataTypes types = input->types();
  return make_stage(
      "prefetch", std::move(types),
      [input = std::move(input), buffer_size](const DataRun& run) {
        return std::make_unique<PrefetchStream>(*input, buffer_size, run);
      });
}

}  // namespace rondo
