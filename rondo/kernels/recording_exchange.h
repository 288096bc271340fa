// RecordingExchange: what tests of an ExchangeGroup give it instead of other
// ranks, and how they submit to it.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "rondo/kernels/exchange_group.h"

namespace rondo {

// What the group did, instead of what ranks would do together.
struct ExchangeLog {
  std::vector<std::string> aborts;
};

// Rank 0 of two, where nothing travels and nothing fails.
class RecordingExchange : public Exchange {
 public:
  explicit RecordingExchange(std::shared_ptr<ExchangeLog> log)
      : log_(std::move(log)) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  Status all_reduce(std::span<Tensor>, const ReduceTerms&) override {
    return {};
  }
  Status all_gather(Tensor&, DType, Allocator&) override { return {}; }
  Status all_gather_rows(Tensor&, Tensor&, Allocator&) override { return {}; }
  Status broadcast(std::span<Tensor>, int) override { return {}; }
  void abort(const std::string& reason) override {
    log_->aborts.push_back(reason);
  }

 private:
  const std::shared_ptr<ExchangeLog> log_;
};

// Work, or the tensors of a reduction; the future is how it ended.
template <class What>
std::future<Status> submit_to(ExchangeGroup& group, ExchangeRun& run,
                              int64_t sequence, Cancellation& cancellation,
                              What what) {
  auto promise = std::make_shared<std::promise<Status>>();
  group.submit(
      run, sequence, cancellation, std::move(what),
      [promise](Status status) { promise->set_value(std::move(status)); });
  return promise->get_future();
}

}  // namespace rondo
