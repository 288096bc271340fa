// Messages between two ranks, and the barrier that is made of them.
#include <condition_variable>
#include <mutex>
#include <span>

#include "backend.h"
#include "checks.h"
#include "errors.h"
#include "operators.h"
#include "rondo/torch/packed.h"
#include "signals.h"

namespace rondo::torch {
namespace {

// A barrier's messages have tags that no program's message has.
constexpr int64_t kBarrierTag = int64_t{1} << 40;
constexpr const char* kMonitored = "monitored_barrier";

// A token that one message carries, and how that message ended, for a thread
// that waits for it. The message shares it: the thread may stop waiting.
class Report {
 public:
  View view() { return {&state_->token, 1, DType::kU8}; }
  Mailbox::Done callback() {
    return [state = state_](const Status& status, int) {
      std::lock_guard lock(state->mutex);
      state->status = status;
      state->over = true;
      state->changed.notify_all();
    };
  }
  Status wait() {
    std::unique_lock lock(state_->mutex);
    wait_or_throw(state_->changed, lock,
                  std::chrono::steady_clock::time_point::max(),
                  [&] { return state_->over; });
    return state_->status;
  }

 private:
  struct State {
    char token = 0;
    std::mutex mutex;
    std::condition_variable changed;
    Status status;
    bool over = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string listed(std::span<const int> ranks) {
  std::string text;
  for (const int rank : ranks)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
  return text;
}

}  // namespace

Backend::WorkPtr Backend::send(Tensors& tensors, int to, int tag) {
  check_usable("send");
  check_rank("send", to);
  TORCH_CHECK_VALUE(to != getRank(), "rondo: send: rank ", to,
                    " is this rank itself");
  const at::Tensor tensor = packed(only("send", tensors));
  auto work = c10::make_intrusive<Work>(
      getRank(),
      Work::What{c10d::OpType::SEND, "rondo:send", tensors, tensors, 0});
  mailbox("send")->send(
      view_of(tensor), {.peer = to, .tag = tag, .timeout = timeout_or({})},
      [work, tensor](const Status& status, int) { work->end(status); });
  return work;
}

Backend::WorkPtr Backend::receive(Tensors& tensors, int from, int tag,
                                  const char* title) {
  const at::Tensor tensor = only("recv", tensors);
  check_writable("recv", tensor);
  const at::Tensor into = packed_for_output(tensor);
  const auto type = from == Mailbox::kAnySource ? c10d::OpType::RECVANYSOURCE
                                                : c10d::OpType::RECV;
  auto work = c10::make_intrusive<Work>(
      getRank(), Work::What{type, title, tensors, tensors, 0});
  mailbox("recv")->recv(view_of(into),
                        {.peer = from, .tag = tag, .timeout = timeout_or({})},
                        [work, into, tensor](const Status& status, int peer) {
                          work->set_source(peer);
                          work->end(!status.ok() ? status : guarded([&] {
                            unpack(into, tensor);
                            return Status();
                          }));
                        });
  return work;
}

Backend::WorkPtr Backend::recv(Tensors& tensors, int from, int tag) {
  check_usable("recv");
  check_rank("recv", from);
  TORCH_CHECK_VALUE(from != getRank(), "rondo: recv: rank ", from,
                    " is this rank itself");
  return receive(tensors, from, tag, "rondo:recv");
}

Backend::WorkPtr Backend::recvAnysource(Tensors& tensors, int tag) {
  check_usable("recv");
  TORCH_CHECK_VALUE(getSize() > 1,
                    "rondo: recv: a group of one rank has nobody to hear from");
  return receive(tensors, Mailbox::kAnySource, tag, "rondo:recvAnySource");
}

// Everybody reports to rank 0, which answers when all have.
Status Backend::wait_for_messages(std::chrono::milliseconds timeout, bool all) {
  const Deadline deadline{Duration(timeout)};
  const int64_t tag = kBarrierTag + static_cast<int64_t>(++barriers_);
  auto envelope = [&](int peer) {
    const Duration left = deadline.left();
    return Mailbox::Envelope{
        .peer = peer,
        .tag = tag,
        .timeout = std::max<Duration>(left, std::chrono::milliseconds(1))};
  };
  std::vector<Report> reports(static_cast<size_t>(getSize()));
  auto report_of = [&](int rank) -> Report& {
    return reports[static_cast<size_t>(rank)];
  };
  if (getRank() != 0) {
    Report& sent = report_of(getRank());
    Report& answered = report_of(0);
    auto box = mailbox(kMonitored);
    box->send(sent.view(), envelope(0), sent.callback());
    box->recv(answered.view(), envelope(0), answered.callback());
    box.reset();
    Status status = sent.wait();
    if (status.ok()) status = answered.wait();
    // In the words of gloo's, for which programs may look.
    return status.ok() ? status
                       : status.with_context(fmt::format(
                             "Rank {} successfully reached monitoredBarrier, "
                             "but received errors while waiting for send/recv "
                             "from rank 0; see rank 0's error for who is "
                             "missing",
                             getRank()));
  }
  auto box = mailbox(kMonitored);
  for (int rank = 1; rank < getSize(); ++rank)
    box->recv(report_of(rank).view(), envelope(rank),
              report_of(rank).callback());
  box.reset();
  std::vector<int> missing;
  Status cause;
  for (int rank = 1; rank < getSize(); ++rank) {
    Status status = report_of(rank).wait();
    if (status.ok()) continue;
    missing.push_back(rank);
    if (cause.ok()) cause = std::move(status);
  }
  if (!missing.empty()) {
    const size_t named = all ? missing.size() : 1;
    return error(cause.code(),
                 "Rank{} {} failed to pass monitoredBarrier in {} ms\n  "
                 "cause: {}",
                 named > 1 ? "s" : "", listed({missing.data(), named}),
                 timeout.count(), cause.message());
  }
  box = mailbox(kMonitored);
  std::vector<Report> answers(static_cast<size_t>(getSize()));
  for (int rank = 1; rank < getSize(); ++rank) {
    Report& answer = answers[static_cast<size_t>(rank)];
    box->send(answer.view(), envelope(rank), answer.callback());
  }
  box.reset();
  Status status;
  for (int rank = 1; rank < getSize(); ++rank) {
    Status one = answers[static_cast<size_t>(rank)].wait();
    if (status.ok()) status = std::move(one);
  }
  return status;
}

void Backend::monitoredBarrier(const c10d::BarrierOptions& opts,
                               bool wait_all_ranks) {
  check_usable(kMonitored);
  if (getSize() == 1) return;
  TORCH_CHECK_WITH(
      DistBackendError, opts.timeout != std::chrono::milliseconds::zero(),
      "rondo: Rank ", getRank(), " timed out in monitoredBarrier after 0 ms");
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      timeout_or(opts.timeout));
  throw_if_error(wait_for_messages(timeout, wait_all_ranks));
}

}  // namespace rondo::torch
