// DataIterator: where a session is in a data set.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rondo/kernels/cancellation.h"
#include "rondo/kernels/data_source.h"
#include "rondo/kernels/resources.h"

namespace rondo {

// Runs ask it for elements, and get them in the order in which they asked, from
// a thread of its own: no run waits in the source. An element for which a run
// asked that was cancelled meanwhile is kept for the next. Any thread.
class DataIterator final : public Resource {
 public:
  using Next = Result<std::optional<std::vector<Tensor>>>;
  using Done = std::function<void(Next)>;

  DataIterator() = default;
  ~DataIterator() override;

  // From the start of this data, wherever it was.
  void begin(const DataSourceMaker& maker);
  // The same unless it has begun.
  void begin_once(const DataSourceMaker& maker);
  // nullptr: it has not begun.
  std::shared_ptr<DataSource> source() const;
  // Calls `done` once: with the next element, none at the end, or the reason
  // for which the run was cancelled. It has begun.
  void next(Cancellation& cancellation, Done done);

 private:
  struct Request {
    Cancellation& cancellation;
    Done done;
    int link = 0;        // of the cancellation
    bool taken = false;  // by who calls done; guarded by the iterator's mutex
  };

  void abandon(const std::shared_ptr<Request>& request);
  void work();
  // The answer to the oldest request; none when it has to be asked for again.
  std::optional<Next> take(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  std::shared_ptr<DataSource> source_;
  uint64_t passes_ = 0;       // how often it has begun
  std::optional<Next> kept_;  // for a run that did not wait for it
  std::deque<std::shared_ptr<Request>> requests_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace rondo
