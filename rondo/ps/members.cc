#include "rondo/ps/members.h"

namespace rondo {

Members::Members(int workers, Duration patience)
    : patience_(patience), members_(static_cast<size_t>(workers)) {}

Result<bool> Members::come(uint64_t link, const kv::Hello& hello) {
  const MutexLock lock(mutex_);
  const auto workers = static_cast<int64_t>(members_.size());
  if (hello.workers != workers)
    return error(
        Code::kMismatch,
        "worker {} is one of {} workers, but this parameter server was "
        "started for {}: give both the same number",
        hello.worker, hello.workers, workers);
  if (hello.worker < 0 || hello.worker >= workers)
    return error(Code::kInvalidArgument,
                 "there is no worker {}: they are 0 to {}", hello.worker,
                 workers - 1);
  Member& member = members_[static_cast<size_t>(hello.worker)];
  if (member.link != 0 && member.incarnation != hello.incarnation)
    // The other one may be about to go, so this is worth another try.
    return error(Code::kUnavailable,
                 "two processes say that they are worker {}: {} and {}",
                 hello.worker, member.name, hello.name);
  if (member.incarnation == hello.incarnation && link < member.newest)
    return error(Code::kUnavailable,
                 "{} has come by a later link since it tried this one",
                 hello.name);
  member.newest = link;
  member.name = hello.name;
  member.incarnation = hello.incarnation;
  member.link = link;
  member.came = true;
  const bool returns = member.left && !hello.left;
  member.left = hello.left;
  return returns;
}

void Members::go(uint64_t link) {
  const MutexLock lock(mutex_);
  for (Member& member : members_)
    if (member.link == link) {
      member.link = 0;
      member.gone = Clock::now();
    }
}

void Members::leave(int worker) {
  const MutexLock lock(mutex_);
  members_[static_cast<size_t>(worker)].left = true;
}

void Members::return_from_leave(int worker) {
  const MutexLock lock(mutex_);
  members_[static_cast<size_t>(worker)].left = false;
}

int Members::worker_of(uint64_t link) const {
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < members_.size(); ++i)
    if (members_[i].link == link) return static_cast<int>(i);
  return -1;
}

bool Members::left(int worker) const {
  const MutexLock lock(mutex_);
  return members_[static_cast<size_t>(worker)].left;
}

bool Members::lost(int worker) const {
  const MutexLock lock(mutex_);
  const Member& member = members_[static_cast<size_t>(worker)];
  return member.came && !member.left && member.link == 0 &&
         Clock::now() - member.gone >= patience_;
}

std::string Members::describe(int worker) const {
  const MutexLock lock(mutex_);
  const Member& member = members_[static_cast<size_t>(worker)];
  return member.came
             ? fmt::format("worker {} ({})", worker, member.name)
             : fmt::format("worker {} (which has not come yet)", worker);
}

}  // namespace rondo
