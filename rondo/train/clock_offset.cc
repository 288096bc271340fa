#include "rondo/train/clock_offset.h"

namespace rondo {
namespace {

constexpr int kQuestions = 16;

using Now = std::function<Clock::time_point()>;

int64_t ns(const Now& clock) {
  return std::chrono::duration_cast<Duration>(clock().time_since_epoch())
      .count();
}

Status answer(Communicator& comm, int rank, const Now& clock) {
  for (int i = 0; i < kQuestions; ++i) {
    int64_t time = 0;
    RONDO_RETURN_IF_ERROR(comm.recv(View(std::span(&time, 1)), rank));
    time = ns(clock);
    RONDO_RETURN_IF_ERROR(comm.send(ConstView(std::span(&time, 1)), rank));
  }
  return {};
}

Result<Duration> ask(Communicator& comm, const Now& clock) {
  int64_t shortest = INT64_MAX;
  int64_t offset = 0;
  for (int i = 0; i < kQuestions; ++i) {
    const int64_t sent = ns(clock);
    int64_t time = sent;
    RONDO_RETURN_IF_ERROR(comm.send(ConstView(std::span(&time, 1)), 0));
    RONDO_RETURN_IF_ERROR(comm.recv(View(std::span(&time, 1)), 0));
    const int64_t way = ns(clock) - sent;
    if (way >= shortest) continue;
    shortest = way;
    offset = time - (sent + way / 2);
  }
  return Duration(offset);
}

}  // namespace

Result<Duration> clock_offset(Communicator& comm, const Now& clock) {
  if (comm.rank() != 0) return ask(comm, clock);
  for (int rank = 1; rank < comm.size(); ++rank)
    RONDO_RETURN_IF_ERROR(answer(comm, rank, clock));
  return Duration(0);
}

}  // namespace rondo
