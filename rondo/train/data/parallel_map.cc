// A function of several elements at once, in order.
//
// A worker takes an element from the input and a slot behind those of the
// elements before it, in one step; then it calls the function, and the result
// goes into the slot. Results leave from the first slot. There are so many
// slots that workers need not wait for a slow one among them.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "rondo/train/data/own_cancellation.h"
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

class ParallelMapStream final : public DataStream {
 public:
  ParallelMapStream(const DataStage& input, StageFunction function,
                    DataTypes types, int threads, const DataRun& run)
      : DataStream("map", run),
        cancellation_(*run.cancellation,
                      [this] {
                        const std::lock_guard lock(mutex_);
                        ready_.notify_all();
                      }),
        function_(std::move(function)),
        types_(std::move(types)),
        wanted_threads_(threads),
        slots_wanted_(4 * static_cast<size_t>(threads)),
        input_(input.open({&cancellation_, run.pass})) {}

  ~ParallelMapStream() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    cancellation_.close();
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 protected:
  NextElement produce() override {
    // The first element is asked for: from now on somebody wants them.
    while (threads_.size() < static_cast<size_t>(wanted_threads_))
      threads_.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] {
      return (!slots_.empty() && slots_.front()->done) ||
             (ended_ && slots_.empty()) || cancellation_.cancelled();
    });
    if (cancellation_.cancelled()) return cancellation_.reason();
    if (slots_.empty()) return std::optional<DataElement>();
    const std::shared_ptr<Slot> slot = std::move(slots_.front());
    slots_.pop_front();
    lock.unlock();
    room_.notify_one();
    return std::move(slot->result);
  }

 private:
  struct Slot {
    bool done = false;  // guarded by mutex_
    NextElement result = std::optional<DataElement>();
  };

  void work() {
    int64_t number = 0;
    DataElement element;
    while (const std::shared_ptr<Slot> slot = take(element, number)) {
      NextElement result = call(std::move(element), number);
      finish(*slot, std::move(result));
    }
  }

  // The next element and its slot; none when there is nothing left to do.
  std::shared_ptr<Slot> take(DataElement& element, int64_t& number) {
    const std::lock_guard in_order(input_mutex_);
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] {
          return closing_ || ended_ || slots_.size() < slots_wanted_;
        });
        if (closing_ || ended_) return nullptr;
      }
      NextElement next = input_->next();
      auto slot = std::make_shared<Slot>();
      const std::lock_guard lock(mutex_);
      if (closing_) return nullptr;
      if (next.ok() && !*next) {
        ended_ = true;
        room_.notify_all();
        ready_.notify_all();
        return nullptr;
      }
      slots_.push_back(slot);
      number = taken_++;
      if (next.ok()) {
        element = std::move(**next);
        return slot;
      }
      slot->result = next.status();
      slot->done = true;
      ready_.notify_all();
    }
  }

  NextElement call(DataElement element, int64_t number) {
    Status status;
    try {
      Result<DataElement> made = function_(std::move(element), cancellation_);
      status = made.status();
      if (made.ok()) {
        status =
            check_element(*made, types_).with_context("what the function gave");
        if (status.ok()) return std::optional(std::move(*made));
      }
    } catch (const Error& e) {
      status = Status(e.code(), e.what());
    } catch (const std::exception& e) {
      status = Status(Code::kInternal, e.what());
    }
    return stage_fault("map", number, status);
  }

  void finish(Slot& slot, NextElement result) {
    const std::lock_guard lock(mutex_);
    slot.result = std::move(result);
    slot.done = true;
    if (!slots_.empty() && slots_.front().get() == &slot) ready_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ready_;  // the first slot is done, or the end came
  std::condition_variable room_;   // for another slot
  // Guarded by mutex_.
  std::deque<std::shared_ptr<Slot>> slots_;
  bool ended_ = false;
  bool closing_ = false;

  OwnCancellation cancellation_;
  const StageFunction function_;
  const DataTypes types_;
  const int wanted_threads_;
  const size_t slots_wanted_;

  std::mutex input_mutex_;     // taken before mutex_
  const DataStreamPtr input_;  // used by who has input_mutex_
  int64_t taken_ = 0;          // guarded by input_mutex_

  std::vector<std::thread> threads_;
};

}  // namespace

DataStagePtr parallel_map_stage(DataStagePtr input, StageFunction function,
                                DataTypes types, int threads) {
  DataTypes given = types;
  return make_stage("map", std::move(given),
                    [input = std::move(input), function = std::move(function),
                     types = std::move(types), threads](const DataRun& run) {
                      return std::make_unique<ParallelMapStream>(
                          *input, function, types, threads, run);
                    });
}

}  // namespace rondo
