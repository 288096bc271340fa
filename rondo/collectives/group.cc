#include "rondo/collectives/group.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>
#include <cstring>

#include "rondo/base/log.h"

namespace rondo {
namespace {

// What a member answers when it is asked what it is doing.
struct Report {
  OpTag entered;
  uint64_t completed = 0;
  uint64_t inside = 0;
};

}  // namespace

std::string_view name_of(Link link) {
  switch (link) {
    case Link::kSelf: return "self";
    case Link::kInproc: return "inproc";
    case Link::kShm: return "shm";
    case Link::kTcp: return "tcp";
  }
  return "unknown";
}

Group::~Group() {
  // Detach first: nobody may call a handler that is being destroyed.
  if (endpoint_ == nullptr) return;
  endpoint_->detach(id_);
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_)
      endpoint_->tell(members_[static_cast<size_t>(peer)],
                      {ControlType::kLeave, id_, 0, {}});
}

int Group::index_of(int world_rank) const {
  for (size_t i = 0; i < members_.size(); ++i)
    if (members_[i] == world_rank) return static_cast<int>(i);
  return -1;
}

std::string Group::describe(int peer) const {
  const Card& card = endpoint_->card_of(members_[static_cast<size_t>(peer)]);
  return fmt::format("rank {} ({}, pid {})", peer, card.host, card.pid);
}

void Group::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(event_.get(), &one, sizeof one);
  own_board_->doorbell.ring();
}

void Group::clear_event() {
  uint64_t count = 0;
  [[maybe_unused]] ssize_t n = ::read(event_.get(), &count, sizeof count);
}

// ---- What this rank is doing ------------------------------------------------

void Group::enter(const OpTag& tag) {
  uint64_t words[3];
  static_assert(sizeof words == sizeof tag);
  std::memcpy(words, &tag, sizeof tag);
  for (int i = 0; i < 3; ++i)
    entered_[i].store(words[i], std::memory_order_relaxed);
  inside_.store(true, std::memory_order_relaxed);
}

void Group::leave(const OpTag& tag) {
  if (tag.sequence != 0)
    completed_.store(tag.sequence, std::memory_order_relaxed);
  inside_.store(false, std::memory_order_relaxed);
}

std::string Group::report() {
  Report report;
  uint64_t words[3];
  for (int i = 0; i < 3; ++i)
    words[i] = entered_[i].load(std::memory_order_relaxed);
  std::memcpy(&report.entered, words, sizeof words);
  report.completed = completed_.load(std::memory_order_relaxed);
  report.inside = inside_.load(std::memory_order_relaxed) ? 1 : 0;
  std::string bytes(sizeof report, '\0');
  std::memcpy(bytes.data(), &report, sizeof report);
  return bytes;
}

// ---- Failures ---------------------------------------------------------------

Status Group::failure() const {
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

void Group::keep(Status why) {
  {
    std::lock_guard lock(failure_mutex_);
    if (!failure_.ok()) return;
    failure_ = std::move(why);
    failed_.store(true, std::memory_order_release);
  }
  wake();
}

Status Group::fail(Status why) {
  {
    std::lock_guard lock(failure_mutex_);
    if (!failure_.ok()) return failure_;
    failure_ = why;
    failed_.store(true, std::memory_order_release);
  }
  log(LogLevel::kInfo, "{}: {}", name(), why.message());
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_)
      endpoint_->tell(
          members_[static_cast<size_t>(peer)],
          {ControlType::kAbort, id_, static_cast<uint64_t>(why.code()),
           fmt::format("{}\n  first seen by rank {}", why.message(), rank_)});
  wake();
  return why;
}

void Group::on_lost(int peer, const Status& why) {
  const int index = index_of(peer);
  if (index < 0) return;
  // Everybody has a link to everybody, so everybody sees a loss by itself.
  uint64_t words[3];
  for (int i = 0; i < 3; ++i)
    words[i] = entered_[i].load(std::memory_order_relaxed);
  OpTag tag;
  std::memcpy(&tag, words, sizeof tag);
  const bool inside = inside_.load(std::memory_order_relaxed);
  keep(error(Code::kPeerLost,
             "{} on communicator {} failed on rank {}: {}\n  do: look at the "
             "log of that rank (rondo run prints its last lines)",
             inside ? short_name(tag)
                    : fmt::format("the operation after {}", short_name(tag)),
             name(), rank_, why.message()));
}

void Group::on_left(int peer) {
  const int index = index_of(peer);
  if (index < 0) return;
  gone_[static_cast<size_t>(index)].store(true, std::memory_order_release);
  wake();
}

void Group::on_abort(int /*peer*/, Status failure) { keep(std::move(failure)); }

void Group::on_stream() { wake(); }

Status Group::left_error(const OpTag& tag, int peer) const {
  return error(Code::kPeerLost,
               "{} on communicator {} failed on rank {}: {} has closed the "
               "communicator without taking part\n  do: make every rank call "
               "the same operations",
               short_name(tag), name(), rank_, describe(peer));
}

// ---- The watchdog's question ------------------------------------------------

Status Group::inspect(const OpTag& tag, std::span<const int> waiting_on,
                      bool final, Duration waited) {
  std::vector<int> others;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_) others.push_back(peer);
  std::vector<int> world;
  for (int peer : others) world.push_back(members_[static_cast<size_t>(peer)]);
  const auto answers =
      endpoint_->query(id_, world, std::chrono::milliseconds(500));
  if (failed()) return failure();

  std::string silent;
  std::string late;
  std::string waiting;
  for (size_t i = 0; i < others.size(); ++i) {
    const int peer = others[i];
    if (left(peer)) continue;
    if (!answers[i] || answers[i]->size() != sizeof(Report)) {
      silent += (silent.empty() ? "" : ", ") + describe(peer);
      continue;
    }
    Report report;
    std::memcpy(&report, answers[i]->data(), sizeof report);
    const bool same = report.entered.sequence == tag.sequence;
    if (tag.sequence != 0 && same && report.entered != tag)
      return fail(
          error(Code::kMismatch,
                "ranks called different operations on communicator {}: rank {} "
                "called {}, {} called {}\n  do: make every rank call the same "
                "operations in the same order with the same arguments",
                name(), rank_, rondo::describe(tag), describe(peer),
                rondo::describe(report.entered)));
    if (report.entered.sequence < tag.sequence)
      late += fmt::format(
          "\n  {} has not called it: {} {}", describe(peer),
          report.inside != 0 ? "it is still in" : "its last call was",
          short_name(report.entered));
  }
  if (!final) return {};
  for (int peer : waiting_on)
    waiting += (waiting.empty() ? "" : ", ") + describe(peer);
  std::string cause;
  if (!silent.empty())
    cause = fmt::format(
        "\n  cause: {} does not answer: stopped, overloaded or unreachable",
        silent);
  else if (!late.empty())
    cause = late;
  else
    cause = fmt::format("\n  cause: nothing arrived from {}", waiting);
  return fail(error(
      Code::kTimeout,
      "{} on communicator {} failed on rank {}: no progress for {:.1f} s{}\n  "
      "do: look at the log of the rank that is named; RONDO_TIMEOUT sets how "
      "long to wait",
      short_name(tag), name(), rank_, to_seconds(waited), cause));
}

}  // namespace rondo
