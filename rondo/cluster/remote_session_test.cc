#include "rondo/cluster/remote_session.h"

#include <gtest/gtest.h>

#include <thread>

#include "rondo/cluster/methods.h"
#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

constexpr Duration kExtending = std::chrono::milliseconds(30);

// A master that takes a while to extend its graph, and notes what time runs
// have.
class SlowMaster final : public ControlService {
 public:
  SlowMaster() {
    links_ =
        LinkServer::start(
            {.addresses = {SocketAddress::parse("127.0.0.1:0").value()},
             .incarnation = 42},
            [this](uint64_t, const LinkCall& call,
                   const LinkServer::Answer& answer) { serve(call, answer); },
            [](uint64_t) {})
            .value();
    control_ = ControlServer::start({.address = {"127.0.0.1", 0},
                                     .loopback_only = true,
                                     .incarnation = 42},
                                    *this)
                   .value();
  }
  ~SlowMaster() override { links_->stop(); }

  HelloInfo hello() override {
    return {"/job:worker/task:0", 42, {links_->addresses()[0].port(), 0}};
  }
  TaskStatus status() override { return {}; }
  Status reset(const std::vector<std::string>&) override { return {}; }
  Result<SessionInfo> create_session(const ClusterSessionOptions&,
                                     Deadline) override {
    return SessionInfo{1, {"/job:worker/task:0/cpu:0"}};
  }
  Status close_session(uint64_t) override { return {}; }
  Status reset_cluster(const std::vector<std::string>&, Deadline) override {
    return {};
  }
  std::string address() const {
    return fmt::format("127.0.0.1:{}", control_->port());
  }

  // Written before the run is answered.
  int64_t time_allowed = 0;

 private:
  void serve(const LinkCall& call, const LinkServer::Answer& answer) {
    if (call.method == number(CallMethod::kExtend))
      std::this_thread::sleep_for(kExtending);
    if (call.method == number(CallMethod::kSessionRun))
      time_allowed = SessionCall::decode(call.body).value().time_allowed;
    answer(LinkAnswer{});
  }

  std::unique_ptr<LinkServer> links_;
  std::unique_ptr<ControlServer> control_;
};

TEST(RemoteSession, ATimeOutCountsWhatExtendingTheGraphTook) {
  SlowMaster master;
  Graph g;
  Node& node = *placeholder(g, {.name = "x"}).node;
  const auto session =
      RemoteSession::open(g, master.address(), {}, {}, Deadline(seconds(30)))
          .value();
  constexpr Duration kTimeout = std::chrono::hours(1);
  ASSERT_TRUE(session->run({}, {}, {&node}, {.timeout = kTimeout}).ok());
  EXPECT_LE(Duration(master.time_allowed), kTimeout - kExtending);
  EXPECT_GT(master.time_allowed, 0);
  ASSERT_TRUE(session->run({}, {}, {&node}, {}).ok());
  EXPECT_EQ(master.time_allowed, kNoLimit);
}

}  // namespace
}  // namespace rondo
