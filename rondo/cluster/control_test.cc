#include "rondo/cluster/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/cluster/call_proof.h"
#include "rondo/transport/free_port.h"

namespace rondo {
namespace {

using testing::HasSubstr;

struct FakeTask final : ControlService {
  HelloInfo hello() override { return {"/job:ps/task:0", 42, {1234, 0}}; }
  TaskStatus status() override {
    return {"/job:ps/task:0", {"/job:ps/task:0/cpu:0"}, 1, 2, 3, 4.5};
  }
  Status reset(const std::vector<std::string>& containers) override {
    cleared = containers;
    return {};
  }
  Result<SessionInfo> create_session(const ClusterSessionOptions& options,
                                     Deadline) override {
    return SessionInfo{9, options.device_filters};
  }
  Status close_session(uint64_t session) override {
    return error(Code::kInvalidArgument, "no session {}", session);
  }
  Status reset_cluster(const std::vector<std::string>&, Deadline d) override {
    left = to_seconds(d.left());
    return {};
  }
  std::vector<std::string> cleared;
  double left = 0;
};

struct Started {
  explicit Started(std::string token = "") {
    server = ControlServer::start({.address = {"127.0.0.1", 0},
                                   .loopback_only = true,
                                   .token = std::move(token),
                                   .incarnation = 42},
                                  task)
                 .value();
  }
  std::string address() const {
    return fmt::format("127.0.0.1:{}", server->port());
  }
  FakeTask task;
  std::unique_ptr<ControlServer> server;
};

Deadline soon() { return Deadline(seconds(30)); }

TEST(Control, CallsArrive) {
  Started s("secret");
  auto client = ControlClient::make(s.address(), {.token = "secret"}).value();
  auto hello = client->hello(soon());
  ASSERT_TRUE(hello.ok()) << hello.status().message();
  EXPECT_EQ(hello->incarnation, 42u);
  EXPECT_EQ(hello->link_ports, (std::vector<int>{1234, 0}));
  EXPECT_EQ(client->status(soon())->sessions, 3);
  EXPECT_TRUE(client->reset({"a", "b"}, soon()).ok());
  EXPECT_EQ(s.task.cleared, (std::vector<std::string>{"a", "b"}));
  auto session = client->create_session({{"/job:ps"}}, soon());
  EXPECT_EQ(session->session, 9u);
  EXPECT_EQ(session->devices, (std::vector<std::string>{"/job:ps"}));
  const Status closed = client->close_session(5, soon());
  EXPECT_EQ(closed.code(), Code::kInvalidArgument);
  EXPECT_THAT(closed.message(), HasSubstr("no session 5"));
  EXPECT_TRUE(client->reset_cluster({}, Deadline(seconds(20))).ok());
  EXPECT_GT(s.task.left, 1);
  EXPECT_LE(s.task.left, 25);  // gRPC rounds
}

TEST(Control, NeedsTheToken) {
  Started s("secret");
  auto other = ControlClient::make(s.address(), {.token = "guess"}).value();
  const Status refused = other->hello(soon()).status();
  EXPECT_EQ(refused.code(), Code::kPermission);
  EXPECT_THAT(refused.message(), HasSubstr("RONDO_TOKEN"));
  // Without a hello the incarnation is not known, and calls are no good.
  auto hasty = ControlClient::make(s.address(), {.token = "secret"}).value();
  EXPECT_EQ(hasty->status(soon()).status().code(), Code::kPermission);
}

TEST(Control, APortThatIsTaken) {
  Started s;
  FakeTask task;
  auto second = ControlServer::start(
      {.address = {"127.0.0.1", s.server->port()}, .loopback_only = true},
      task);
  EXPECT_EQ(second.status().code(), Code::kResource);
  EXPECT_THAT(second.status().message(), HasSubstr("in use"));
}

TEST(Control, NobodyThere) {
  const std::string nowhere = fmt::format("127.0.0.1:{}", free_port());
  auto client = ControlClient::make(nowhere, {}).value();
  EXPECT_EQ(client->hello(soon()).status().code(), Code::kUnavailable);
}

TEST(Control, AKeyAloneIsNoReasonToSpeakWithoutTls) {
  auto client = ControlClient::make("a:1", {.tls = {.key = "/no/file"}});
  EXPECT_THAT(client.status().message(),
              HasSubstr("a file with the authority's certificate"));
}

TEST(Control, TlsFilesThatAreMissing) {
  auto client = ControlClient::make("a:1", {.tls = {.authority = "/no/file"}});
  EXPECT_THAT(client.status().message(), HasSubstr("/no/file"));
}

TEST(CallProof, HoldsForOneCallOfOneStart) {
  const CallProof proof = CallProof::make("t", "Reset", 1);
  EXPECT_TRUE(proof.check("t", "Reset", 1, "x").ok());
  EXPECT_EQ(proof.check("u", "Reset", 1, "x").code(), Code::kPermission);
  EXPECT_EQ(proof.check("t", "Close", 1, "x").code(), Code::kPermission);
  EXPECT_EQ(proof.check("t", "Reset", 2, "x").code(), Code::kPermission);
  CallProof older = proof;
  older.version = "0";
  EXPECT_EQ(older.check("t", "Reset", 1, "x").code(), Code::kMismatch);
  older.version = "";
  EXPECT_EQ(older.check("t", "Reset", 1, "x").code(), Code::kPermission);
}

}  // namespace
}  // namespace rondo
