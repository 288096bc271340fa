#include "rondo/collectives/group.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "rondo/base/cores.h"
#include "rondo/base/interrupt.h"
#include "rondo/base/log.h"

namespace rondo {

// What a member answers when it is asked what it is doing.
struct Group::Report {
  OpTag entered;
  uint64_t inside = 0;
  uint64_t waiting_for = 0;  // see Group::waiting_for_
  OpTag history[kRemembered];

  static std::optional<Report> parse(const std::optional<std::string>& bytes) {
    if (!bytes || bytes->size() != sizeof(Report)) return std::nullopt;
    Report report;
    std::memcpy(&report, bytes->data(), sizeof report);
    return report;
  }
};

// Every word is released after the odd version before it: who sees a new word
// sees that version too, and knows that the tag may be half stored.
void SharedTag::store(const OpTag& tag) {
  uint64_t words[3];
  static_assert(sizeof words == sizeof tag);
  std::memcpy(words, &tag, sizeof tag);
  const uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  for (int i = 0; i < 3; ++i)
    words_[i].store(words[i], std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

OpTag SharedTag::load() const {
  OpTag tag;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    uint64_t words[3];
    for (int i = 0; i < 3; ++i)
      words[i] = words_[i].load(std::memory_order_acquire);
    if (version % 2 != 0 || version_.load(std::memory_order_relaxed) != version)
      continue;
    std::memcpy(&tag, words, sizeof tag);
    break;
  }
  return tag;
}

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
  const Status why = failure();
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    const int world = members_[static_cast<size_t>(peer)];
    // The failure may reach this rank, and this rank's leave a third one,
    // before the failure does: without a word it would be blamed for leaving.
    if (!why.ok())
      endpoint_->tell(
          world, {ControlType::kAbort, id_, static_cast<uint64_t>(why.code()),
                  why.message()});
    endpoint_->tell(world, {ControlType::kLeave, id_, 0, {}});
  }
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
  entered_.store(tag);
  if (tag.sequence != 0) history_[tag.sequence % kRemembered].store(tag);
  waiting_for_.store(0, std::memory_order_relaxed);
  inside_.store(true, std::memory_order_relaxed);
}

void Group::wait_for(std::span<const int> peers) {
  uint64_t packed = 0;
  int listed = 0;
  int last = -1;
  for (const int peer : peers) {
    if (peer == last || listed == 4) continue;  // several streams of one peer
    packed |= (static_cast<uint64_t>(peer + 1) & 0xffff) << (16 * listed++);
    last = peer;
  }
  waiting_for_.store(packed, std::memory_order_relaxed);
}

void Group::leave() { inside_.store(false, std::memory_order_relaxed); }

std::string Group::report() {
  Report report;
  report.entered = entered_.load();
  report.inside = inside_.load(std::memory_order_relaxed) ? 1 : 0;
  report.waiting_for = waiting_for_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < kRemembered; ++i)
    report.history[i] = history_[i].load();
  std::string bytes(sizeof report, '\0');
  std::memcpy(bytes.data(), &report, sizeof report);
  return bytes;
}

bool Group::yielded_long() {
  return contested_cores_.yielded_long(threads_wanting_cores(), Clock::now());
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
  const OpTag tag = entered_.load();
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

// Who left may have done its part together with those that are still here.
Status Group::deserted(const OpTag& tag, int peer) {
  RONDO_RETURN_IF_ERROR(inspect(tag, {}, false, {}));
  return fail(left_error(tag, peer));
}

Status Group::broken(const OpTag& tag, int peer, const Status& cause) {
  if (failed()) return failure();
  if (Interrupt::raised()) return interrupted(tag);
  if (cause.code() != Code::kPeerLost)
    return fail(cause.with_context(
        fmt::format("{} on communicator {} failed on rank {}", short_name(tag),
                    name(), rank_)));
  for (const Deadline patience(seconds(0.5)); !patience.passed();) {
    pollfd event{event_.get(), POLLIN, 0};
    poll(&event, 1, 20);
    clear_event();
    if (failed()) return failure();
    if (left(peer)) return deserted(tag, peer);
  }
  if (Interrupt::raised()) return interrupted(tag);
  return fail(error(Code::kPeerLost,
                    "{} on communicator {} failed on rank {}: {} was lost\n  "
                    "cause: {}\n  do: "
                    "look at the log of that rank",
                    short_name(tag), name(), rank_, describe(peer),
                    cause.message()));
}

Status Group::mismatch(const OpTag& mine, int peer, const OpTag& theirs) {
  // A rank that only sends in an operation is in the next one before others
  // find out that it called another.
  OpTag here = mine;
  OpTag there = theirs;
  if (theirs.sequence != 0 && theirs.sequence < mine.sequence) {
    const OpTag then = history_[theirs.sequence % kRemembered].load();
    if (then.sequence == theirs.sequence) here = then;
  } else if (mine.sequence != 0 && mine.sequence < theirs.sequence) {
    const int world = members_[static_cast<size_t>(peer)];
    const auto answers =
        endpoint_->query(id_, {&world, 1}, std::chrono::milliseconds(100));
    const auto report = Report::parse(answers[0]);
    if (report &&
        report->history[mine.sequence % kRemembered].sequence == mine.sequence)
      there = report->history[mine.sequence % kRemembered];
  }
  if (here == there) {
    here = mine;
    there = theirs;
  }
  return fail(error(
      Code::kMismatch,
      "ranks called different operations on communicator {}: rank {} called "
      "{}, {} called {}\n  do: make every rank call the same operations in the "
      "same order with the same arguments",
      name(), rank_, rondo::describe(here), describe(peer),
      rondo::describe(there)));
}

Status Group::interrupted(const OpTag& tag) {
  return fail(error(Code::kCancelled,
                    "{} on communicator {} was interrupted on {}, so the "
                    "communicator is aborted",
                    short_name(tag), name(), describe(rank_)));
}

Status Group::operator_failed(const OpTag& tag, const Status& cause) {
  return fail(error(cause.code(),
                    "{} on communicator {}: the caller's operator failed on "
                    "{}: {}",
                    short_name(tag), name(), describe(rank_), cause.message()));
}

// ---- The watchdog's question ------------------------------------------------

// ", waiting for rank 1 (node7, pid 81233)": who a peer in its turn waits for.
std::string Group::waited_for(uint64_t packed) const {
  std::string text;
  for (; packed != 0; packed >>= 16) {
    const int peer = static_cast<int>(packed & 0xffff) - 1;
    if (peer < 0 || peer >= size() || peer == rank_) continue;
    text += (text.empty() ? ", waiting for " : " and ") + describe(peer);
  }
  return text;
}

Status Group::inspect(const OpTag& tag, std::span<const int> waiting_on,
                      bool final, Duration waited) {
  std::vector<int> others;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_ && !left(peer)) others.push_back(peer);
  std::vector<int> world;
  for (int peer : others) world.push_back(members_[static_cast<size_t>(peer)]);
  const auto answers =
      endpoint_->query(id_, world, seconds(final ? 0.25 : 0.2));
  if (failed()) return failure();
  if (Interrupt::raised()) return interrupted(tag);

  std::string silent;
  std::string late;
  std::string waiting;  // what those that owe something are doing
  for (size_t i = 0; i < others.size(); ++i) {
    const int peer = others[i];
    if (left(peer)) continue;
    const auto report = Report::parse(answers[i]);
    if (!report) {
      silent += (silent.empty() ? "" : ", ") + describe(peer);
      continue;
    }
    const bool same = report->entered.sequence == tag.sequence;
    if (tag.sequence != 0 && same && report->entered != tag)
      return mismatch(tag, peer, report->entered);
    if (report->entered.sequence < tag.sequence)
      late += fmt::format(
          "\n  {} has not called it: {} {}", describe(peer),
          report->inside != 0 ? "it is still in" : "its last call was",
          short_name(report->entered));
    if (std::find(waiting_on.begin(), waiting_on.end(), peer) !=
        waiting_on.end())
      waiting += fmt::format(
          "\n  cause: nothing arrived from {}: {} {}{}", describe(peer),
          report->inside != 0 ? "it is in" : "its last call was",
          rondo::describe(report->entered),
          report->inside != 0 ? waited_for(report->waiting_for) : "");
  }
  if (!final) return {};
  std::string cause;
  if (!silent.empty())
    cause = fmt::format(
        "\n  cause: {} does not answer: stopped, overloaded or unreachable",
        silent);
  else if (!late.empty())
    cause = late;
  else
    cause = waiting;
  return fail(error(
      Code::kTimeout,
      "{} on communicator {} failed on rank {}: no progress for {:.1f} s{}\n  "
      "do: look at the log of the rank that is named; RONDO_TIMEOUT sets how "
      "long to wait",
      short_name(tag), name(), rank_, to_seconds(waited), cause));
}

}  // namespace rondo
