// Messages between two ranks, and the barrier that is made of them.
#include <condition_variable>
#include <mutex>
#include <span>

#include "backend.h"
#include "elements.h"
#include "errors.h"
#include "packed.h"

namespace rondo::torch {
namespace {

// A barrier's messages have tags that no program's message has.
constexpr int64_t kBarrierTag = int64_t{1} << 40;

// The end of one message, for a thread that waits for it.
class Ending {
 public:
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
    state_->changed.wait(lock, [&] { return state_->over; });
    return state_->status;
  }

 private:
  struct State {
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
  mailbox_->send(
      view_of(tensor), {.peer = to, .tag = tag, .timeout = timeout_or({})},
      [work, tensor](const Status& status, int) { work->end(status); });
  return work;
}

Backend::WorkPtr Backend::receive(Tensors& tensors, int from, int tag,
                                  const char* title) {
  const at::Tensor tensor = only("recv", tensors);
  const at::Tensor into = packed_for_output(tensor);
  const auto type = from == Mailbox::kAnySource ? c10d::OpType::RECVANYSOURCE
                                                : c10d::OpType::RECV;
  auto work = c10::make_intrusive<Work>(
      getRank(), Work::What{type, title, tensors, tensors, 0});
  mailbox_->recv(view_of(into),
                 {.peer = from, .tag = tag, .timeout = timeout_or({})},
                 [work, into, tensor](const Status& status, int peer) {
                   const at::AutoDispatchBelowADInplaceOrView guard;
                   if (status.ok()) unpack(into, tensor);
                   work->set_source(peer);
                   work->end(status);
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
  char token = 0;
  const View view(&token, 1, DType::kU8);
  auto envelope = [&](int peer) {
    const Duration left = deadline.left();
    return Mailbox::Envelope{
        .peer = peer,
        .tag = tag,
        .timeout = std::max<Duration>(left, std::chrono::milliseconds(1))};
  };
  if (getRank() != 0) {
    Ending sent;
    Ending answered;
    mailbox_->send(view, envelope(0), sent.callback());
    mailbox_->recv(view, envelope(0), answered.callback());
    Status status = sent.wait();
    // Waited for in any case: the token is on this stack.
    const Status answer = answered.wait();
    if (status.ok()) status = answer;
    // In the words of gloo's, for which programs may look.
    return status.ok() ? status
                       : status.with_context(fmt::format(
                             "Rank {} successfully reached monitoredBarrier, "
                             "but received errors while waiting for send/recv "
                             "from rank 0; see rank 0's error for who is "
                             "missing",
                             getRank()));
  }
  std::vector<int> missing;
  std::vector<char> tokens(static_cast<size_t>(getSize()));
  std::vector<Ending> reports(static_cast<size_t>(getSize()));
  auto token_of = [&](int rank) {
    return View(&tokens[static_cast<size_t>(rank)], 1, DType::kU8);
  };
  for (int rank = 1; rank < getSize(); ++rank)
    mailbox_->recv(token_of(rank), envelope(rank),
                   reports[static_cast<size_t>(rank)].callback());
  for (int rank = 1; rank < getSize(); ++rank)
    if (!reports[static_cast<size_t>(rank)].wait().ok())
      missing.push_back(rank);
  if (!missing.empty()) {
    const size_t named = all ? missing.size() : 1;
    return error(
        Code::kTimeout, "Rank{} {} failed to pass monitoredBarrier in {} ms",
        named > 1 ? "s" : "", listed({missing.data(), named}), timeout.count());
  }
  std::vector<Ending> answers(static_cast<size_t>(getSize()));
  for (int rank = 1; rank < getSize(); ++rank)
    mailbox_->send(token_of(rank), envelope(rank),
                   answers[static_cast<size_t>(rank)].callback());
  Status status;
  for (int rank = 1; rank < getSize(); ++rank) {
    Status one = answers[static_cast<size_t>(rank)].wait();
    if (status.ok()) status = std::move(one);
  }
  return status;
}

void Backend::monitoredBarrier(const c10d::BarrierOptions& opts,
                               bool wait_all_ranks) {
  check_usable("monitored_barrier");
  if (getSize() == 1) return;
  TORCH_CHECK_WITH(
      DistBackendError, opts.timeout != std::chrono::milliseconds::zero(),
      "rondo: Rank ", getRank(), " timed out in monitoredBarrier after 0 ms");
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      timeout_or(opts.timeout));
  throw_if_error(wait_for_messages(timeout, wait_all_ranks));
}

}  // namespace rondo::torch
