#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "rondo/rendezvous/job_env.h"
#include "rondo/rendezvous/tcp_store.h"
#include "rondo/transport/free_port.h"

namespace rondo {
namespace {

using testing::HasSubstr;

Deadline soon() { return Deadline(seconds(20)); }

JobEnv rank_of(int rank, int size, const std::string& store) {
  JobEnv job;
  job.rank = rank;
  job.size = size;
  job.store = store;
  return job;
}

// What a rank does with a store; its token afterwards.
std::string meet(JobEnv job) {
  auto store = open_store(job, soon());
  EXPECT_TRUE(store.ok()) << store.status().to_string();
  if (!store.ok()) return "";
  const std::string me = std::to_string(job.rank);
  (*store)->set("from" + me, me).value();
  for (int r = 0; r < job.size; ++r) {
    const std::string other = std::to_string(r);
    EXPECT_EQ((*store)->get("from" + other, soon()).value(), other);
  }
  return job.token;
}

std::vector<std::string> meet_all(int size, const std::string& store) {
  std::vector<std::string> tokens(static_cast<size_t>(size));
  std::vector<std::thread> ranks;
  for (int r = size - 1; r >= 0; --r)
    ranks.emplace_back([&tokens, r, size, &store] {
      tokens[static_cast<size_t>(r)] = meet(rank_of(r, size, store));
    });
  for (auto& t : ranks) t.join();
  return tokens;
}

TEST(OpenStore, RankZeroServesTcpAndStaysForTheOthers) {
  meet_all(4, fmt::format("tcp://127.0.0.1:{}", free_port()));
  meet_all(3, fmt::format("tcp://localhost:{}", free_port()));
}

TEST(OpenStore, RankZeroConnectsWhenTheLauncherServes) {
  auto server =
      TcpStoreServer::start(SocketAddress::parse("127.0.0.1:0").value(), {}, "")
          .value();
  const std::string url = "tcp://" + server->address().to_string();
  meet_all(2, url);
  auto job = rank_of(0, 2, url);
  EXPECT_EQ(open_store(job, soon()).value()->get("from1", soon()).value(), "1");
}

TEST(OpenStore, ATakenPortIsNamed) {
  Fd stranger =
      listen_on(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
  const std::string at = local_address(stranger.get()).value().to_string();
  auto job = rank_of(0, 2, "tcp://" + at);
  const auto store = open_store(job, Deadline(seconds(0.2)));
  EXPECT_EQ(store.status().code(), Code::kTimeout);
  EXPECT_THAT(store.status().message(), HasSubstr(at));
  EXPECT_THAT(store.status().message(), HasSubstr("in use"));
}

TEST(OpenStore, TheWrongTokenIsRefusedToRankZeroToo) {
  auto server = TcpStoreServer::start(
                    SocketAddress::parse("127.0.0.1:0").value(), {}, "right")
                    .value();
  auto job = rank_of(0, 2, "tcp://" + server->address().to_string());
  job.token = "wrong";
  EXPECT_EQ(open_store(job, soon()).status().code(), Code::kPermission);
}

TEST(OpenStore, FilesHandOutOneTokenAndGoAfterwards) {
  char root[] = "/tmp/rondo-open-test-XXXXXX";
  const std::string folder = std::string(::mkdtemp(root)) + "/job";
  const auto tokens = meet_all(3, "file://" + folder);
  EXPECT_EQ(tokens[0].size(), 32u);
  EXPECT_EQ(tokens[1], tokens[0]);
  EXPECT_EQ(tokens[2], tokens[0]);
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::filesystem::remove_all(root);
}

TEST(OpenStore, MemoryIsForOneRank) {
  EXPECT_EQ(meet(rank_of(0, 1, "memory")), "");
  auto job = rank_of(0, 2, "memory");
  EXPECT_EQ(open_store(job, soon()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace rondo
