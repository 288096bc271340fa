#include "rondo/rendezvous/pmi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "rondo/rendezvous/job_env.h"
#include "rondo/transport/socket.h"

namespace rondo {
namespace {

using testing::HasSubstr;

Deadline soon() { return Deadline(seconds(20)); }

// As hydra behaves: puts are seen after a barrier, and finalize ends it.
class FakeMpirun {
 public:
  explicit FakeMpirun(int size) : size_(size) {
    for (int r = 0; r < size; ++r) {
      int ends[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      rank_fds.emplace_back(ends[0]);
      threads_.emplace_back([this, fd = ends[1]] { serve(Fd(fd)); });
    }
  }
  ~FakeMpirun() {
    for (Fd& fd : rank_fds) fd.reset();
    for (auto& t : threads_) t.join();
  }
  std::vector<Fd> rank_fds;
  std::atomic<int> finalized = 0;
  std::atomic<bool> fail_puts = false;

 private:
  static std::string read_line(int fd) {
    std::string line;
    for (char c; recv_all(fd, {&c, 1}, soon()).ok(); line += c)
      if (c == '\n') return line;
    return "";
  }

  std::string answer(const std::string& line) {
    if (line.starts_with("cmd=init")) return "cmd=response_to_init rc=0";
    if (line == "cmd=get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_1";
    std::unique_lock lock(mutex_);
    if (line.starts_with("cmd=put")) {
      put_ = line.substr(line.find("value=") + 6);
      return fail_puts ? "cmd=put_result rc=-1 msg=full"
                       : "cmd=put_result rc=0 msg=success";
    }
    if (line == "cmd=barrier_in") {
      if (++arrived_ == size_) seen_ = put_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return arrived_ == size_; });
      return "cmd=barrier_out";
    }
    if (line.starts_with("cmd=get") && !seen_.empty())
      return "cmd=get_result rc=0 msg=success value=" + seen_;
    if (line == "cmd=finalize") {
      ++finalized;
      return "cmd=finalize_ack";
    }
    return "cmd=get_result rc=-1 msg=not_found value=unknown";
  }

  void serve(Fd fd) {
    for (;;) {
      const std::string line = read_line(fd.get());
      if (line.empty()) return;
      const std::string text = answer(line) + "\n";
      if (!send_all(fd.get(), text, soon()).ok()) return;
    }
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string put_, seen_;  // guarded by mutex_
  int arrived_ = 0;         // guarded by mutex_
  std::vector<std::thread> threads_;
};

TEST(Pmi, OneTextReachesAllAndEverybodyFinalizes) {
  FakeMpirun mpirun(3);
  std::vector<std::thread> ranks;
  for (size_t r = 0; r < 3; ++r)
    ranks.emplace_back([&, r] {
      auto text = pmi_share(mpirun.rank_fds[r].get(), r == 0,
                            r == 0 ? "a;b" : "", soon());
      EXPECT_EQ(text.value(), "a;b");
    });
  for (auto& t : ranks) t.join();
  EXPECT_EQ(mpirun.finalized, 3);
}

TEST(Pmi, ARefusalSaysWhatMpirunAnsweredAndStillFinalizes) {
  FakeMpirun mpirun(1);
  mpirun.fail_puts = true;
  const auto text = pmi_share(mpirun.rank_fds[0].get(), true, "x", soon());
  EXPECT_THAT(text.status().message(), HasSubstr("msg=full"));
  EXPECT_THAT(text.status().message(), HasSubstr("RONDO_STORE"));
  EXPECT_EQ(mpirun.finalized, 1);
}

TEST(Pmi, MissingRanksEndAtTheDeadline) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Fd mine(ends[0]), silent(ends[1]);
  auto id = pmi_local_job_id(mine.get());
  EXPECT_THAT(id.value(), HasSubstr("-"));
  EXPECT_EQ(id.value(), pmi_local_job_id(silent.get()).value());
  silent.reset();
  EXPECT_EQ(pmi_share(mine.get(), false, "", soon()).status().code(),
            Code::kPeerLost);
  EXPECT_EQ(pmi_share(mine.get(), true, "a b", soon()).status().code(),
            Code::kInternal);
}

TEST(Pmi, RanksOnSeveralHostsMeetAtRankZerosTcpStore) {
  FakeMpirun mpirun(3);
  std::vector<std::thread> ranks;
  for (int r = 0; r < 3; ++r)
    ranks.emplace_back([&, r] {
      JobEnv job;
      job.rank = r;
      job.size = 3;
      job.local_size = 1;
      job.store =
          fmt::format("pmi:{}", mpirun.rank_fds[static_cast<size_t>(r)].get());
      auto store = open_store(job, soon()).value();
      EXPECT_TRUE(job.store.starts_with("tcp://")) << job.store;
      EXPECT_EQ(job.token.size(), 32u);
      store->set(std::to_string(r), "here").value();
      for (int other = 0; other < 3; ++other)
        EXPECT_EQ(store->get(std::to_string(other), soon()).value(), "here");
    });
  for (auto& t : ranks) t.join();
}

}  // namespace
}  // namespace rondo
