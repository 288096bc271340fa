// Several servers in one process: what sessions on a cluster do. What takes
// processes (kills, stops) is in tests/cluster_test.py.
#include "rondo/cluster/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "rondo/cluster/control.h"
#include "rondo/cluster/methods.h"
#include "rondo/cluster/peers.h"
#include "rondo/cluster/remote_session.h"
#include "rondo/graph/graph.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/transport/free_port.h"

namespace rondo {
namespace {

using testing::HasSubstr;

std::string free_address() { return fmt::format("127.0.0.1:{}", free_port()); }

// 1 ps and some workers.
ClusterSpec make_spec(int workers) {
  ClusterSpec::Jobs jobs;
  jobs["ps"][0] = free_address();
  for (int i = 0; i < workers; ++i) jobs["worker"][i] = free_address();
  return ClusterSpec::from(jobs).value();
}

// Those, each with a server here.
class Cluster {
 public:
  explicit Cluster(int workers, ServerOptions options = {})
      : spec(make_spec(workers)) {
    for (const TaskName& task : spec.tasks())
      servers.push_back(Server::start(spec, task, options).value());
  }
  Server& operator[](size_t i) { return *servers[i]; }

  ClusterSpec spec;
  std::vector<std::unique_ptr<Server>> servers;  // ps first
};

float number(const Tensor& tensor) { return tensor.span<float>()[0]; }

std::string address(const Server& server) {
  return server.target().substr(std::string_view("grpc://").size());
}

// Not known by name in this process: every call goes out.
struct Far {
  explicit Far(Graph& graph, Server& server,
               const ClusterSessionOptions& options = {}) {
    auto remote =
        RemoteSession::open(graph, address(server), {.caller = "a test"},
                            options, Deadline(seconds(30)));
    session = std::make_unique<Session>(std::move(remote).value());
  }
  std::unique_ptr<Session> session;
};

// w on the ps, y = sum(w * x) on worker 0.
struct Program {
  Program() {
    x = placeholder(graph);
    {
      const DeviceScope ps(graph, "/job:ps/task:0");
      w = variable(graph, fill(graph, {2}, 3), {.name = "w"});
      more = assign_add(w, fill(graph, {2}, 1));
    }
    const DeviceScope worker(graph, "/job:worker/task:0");
    y = reduce_sum(w * x);
  }
  std::vector<Feed> fed(float value) const {
    return {{x, Tensor::full<float>({}, value)}};
  }
  Graph graph;
  Value x, w, more, y;
};

// An element on the ps that never comes.
struct Waiting {
  Waiting() {
    const DeviceScope ps(graph, "/job:ps/task:0");
    element = FIFOQueue(graph, {DType::kF32}, {.name = "q"}).dequeue()[0];
  }
  Graph graph;
  Value element;
};

// Two products of large matrices, which ask for no device, added.
struct Diamond {
  Diamond() {
    x = placeholder(graph, {.shape = {kSize, kSize}, .name = "x"});
    left = matmul(x, x);
    right = matmul(x, -x);
    sum = left - right;
  }
  static constexpr int64_t kSize = 256;
  Graph graph;
  Value x, left, right, sum;
};

// The device on which a node ran.
std::string device_of(const Timeline& timeline, const Value& of) {
  for (const Timeline::Event& event : timeline.events())
    if (event.node == of.node->name()) return event.device;
  return "nowhere";
}

TEST(Server, StepsArePlacedByCostWhenAskedTo) {
  // On many cores a product takes less time than its transfer.
  ::setenv("RONDO_NUM_THREADS", "1", 1);
  Cluster cluster(1);
  Diamond d;
  const std::vector<Feed> feeds = {
      {d.x, Tensor::full<float>({Diamond::kSize, Diamond::kSize}, 0.5f)}};
  const float expected = number(Session(d.graph).run(d.sum, feeds).value());
  for (const auto kind : {PlacementKind::kConstraints, PlacementKind::kCost}) {
    const bool by_cost = kind == PlacementKind::kCost;
    const Far far(d.graph, cluster[1], {.placement = kind});
    Timeline timeline;
    const auto first =
        far.session->run({d.sum}, feeds, {}, {.timeline = &timeline}).value();
    EXPECT_EQ(number(first[0]), expected);
    EXPECT_EQ(device_of(timeline, d.left) != device_of(timeline, d.right),
              by_cost);
    // Through several times at which it may be placed again.
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(number(far.session->run(d.sum, feeds).value()), expected);
    EXPECT_THAT(far.session->explain_placement({d.sum}, {d.x}).value(),
                HasSubstr(by_cost ? "simulations" : "asks for nothing"));
  }
  ::unsetenv("RONDO_NUM_THREADS");
}

TEST(Server, AStepOverTwoTasks) {
  Cluster cluster(1);
  Program p;
  for (const bool near : {true, false}) {
    std::unique_ptr<Session> session =
        near ? open_session(p.graph, cluster[1].target()).value()
             : std::move(Far(p.graph, cluster[1]).session);
    ASSERT_TRUE(session->run(initializer(p.graph)).ok());
    for (int i = 0; i < 50; ++i) {
      auto result = session->run(p.y, p.fed(1.0f * static_cast<float>(i)));
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(number(*result), 6.0f * static_cast<float>(i));
    }
  }
}

TEST(Server, VariablesOutliveSessionsAndAreShared) {
  Cluster cluster(2);
  Program p;
  {
    auto first = open_session(p.graph, cluster[1].target()).value();
    ASSERT_TRUE(first->run(initializer(p.graph)).ok());
    ASSERT_TRUE(first->run(p.more).ok());
  }
  Program q;  // another client's, the same names
  const Far second(q.graph, cluster[2]);
  ASSERT_TRUE(second.session->run(q.more).ok());
  EXPECT_EQ(number(second.session->run(q.w).value()), 5);
  // Until somebody clears them.
  ASSERT_TRUE(reset(cluster[1].target()).ok());
  const Far third(q.graph, cluster[2]);
  EXPECT_FALSE(third.session->run(q.w).ok());
}

TEST(Server, TheGraphMayGrow) {
  Cluster cluster(1);
  Program p;
  const Far far(p.graph, cluster[1]);
  ASSERT_TRUE(far.session->run(initializer(p.graph)).ok());
  const Value z = p.y + p.y;
  EXPECT_EQ(number(far.session->run(z, p.fed(2)).value()), 24);
}

TEST(Server, LargeTensorsTravel) {
  Cluster cluster(1);
  Graph graph;
  const Value x = placeholder(graph);
  Value there, back;
  {
    const DeviceScope ps(graph, "/job:ps/task:0");
    there = x + x;
  }
  {
    const DeviceScope worker(graph, "/job:worker/task:0");
    back = there * there;
  }
  const Far far(graph, cluster[1]);
  const int64_t count = 1 << 20;
  for (int i = 0; i < 5; ++i) {
    auto result = far.session->run(
        back, {{x, Tensor::full<float>({count}, static_cast<float>(i))}});
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(result->count(), count);
    EXPECT_EQ(result->span<float>()[count - 1], static_cast<float>(4 * i * i));
  }
}

TEST(Server, AFailureEndsTheStepEverywhere) {
  Cluster cluster(1);
  Waiting p;
  const Value x = placeholder(p.graph);
  const Value broken = [&] {
    const DeviceScope worker(p.graph, "/job:worker/task:0");
    return reshape(x, {3});
  }();
  for (const size_t master : {0, 1}) {
    auto session = open_session(p.graph, cluster[master].target()).value();
    const Status status =
        session->run({p.element, broken}, {{x, Tensor::zeros({2})}}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("/job:worker/task:0"));
    EXPECT_THAT(status.message(), HasSubstr("Reshape"));
  }
}

TEST(Server, TimeIsUp) {
  Cluster cluster(1);
  Waiting p;
  const Far far(p.graph, cluster[1]);
  RunOptions options;
  options.timeout = seconds(0.2);
  const Status status = far.session->run({p.element}, {}, {}, options).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.message(), HasSubstr("/job:ps/task:0/cpu:0"));
}

TEST(Server, ARunIsCancelledFromAfar) {
  Cluster cluster(1);
  Waiting p;
  const Far far(p.graph, cluster[1]);
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  std::thread waits([&] {
    const Status status =
        far.session->run({p.element}, {}, {}, options).status();
    EXPECT_EQ(status.code(), Code::kCancelled) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("enough"));
  });
  // Whether the run has begun by then or not.
  cancellation.cancel(error(Code::kCancelled, "enough"));
  waits.join();
}

TEST(Server, UnknownTasksAndDevices) {
  Cluster cluster(1);
  EXPECT_THAT(Server::start(cluster.spec, {"worker", 7}, {}).status().message(),
              HasSubstr("no task 7"));
  EXPECT_THAT(Server::start(cluster.spec, {"boss", 0}, {}).status().message(),
              HasSubstr("no job \"boss\""));
  Graph graph;
  const DeviceScope nowhere(graph, "/job:ps/task:5");
  const Value x = fill(graph, {2}, 1);
  auto session = open_session(graph, cluster[1].target()).value();
  EXPECT_THAT(session->run(x).status().message(), HasSubstr("/job:ps/task:5"));
  EXPECT_THAT(open_session(graph, "nonsense").status().message(),
              HasSubstr("grpc://host:port"));
}

TEST(Server, TwoOfOneName) {
  Cluster cluster(1);
  const Status status = Server::start(cluster.spec, {"worker", 0}, {}).status();
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_THAT(status.message(), HasSubstr("another process"));
}

TEST(Server, AnotherTokenIsTurnedAway) {
  Cluster cluster(1, {.common = {.token = "secret"}});
  Graph graph;
  auto session = RemoteSession::open(graph, address(cluster[1]),
                                     {.token = "guess", .caller = "a test"}, {},
                                     Deadline(seconds(30)));
  EXPECT_EQ(session.status().code(), Code::kPermission);
}

// Somebody who has the token and makes no sense.
TEST(Server, CallsThatMakeNoSense) {
  Cluster cluster(1);
  Program p;
  const Far far(p.graph, cluster[1]);
  ASSERT_TRUE(far.session->run(initializer(p.graph)).ok());
  const Deadline deadline(seconds(60));
  const Peer peer =
      reach(address(cluster[1]), "", {.caller = "a test"}, deadline).value();
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    LinkCall call;
    call.method = random() % 24;
    for (size_t n = random() % 60; n > 0; --n)
      call.body.push_back(static_cast<char>(random() % (i % 2 ? 256 : 3)));
    if (random() % 2) call.tensors.push_back(Tensor::zeros({8}, DType::kU8));
    // A tensor that nobody sends is waited for, as it should be.
    peer.link->call(call, [](const Result<LinkAnswer>&) {});
  }
  ASSERT_TRUE(far.session->run(p.more).ok());
  EXPECT_EQ(number(far.session->run(p.w).value()), 4);
  EXPECT_TRUE(peer.link->failure().ok());
}

TEST(Server, WaitsForATaskAndSaysForWhom) {
  const ClusterSpec spec = make_spec(1);
  auto worker = Server::start(spec, {"worker", 0}, {}).value();
  Program p;
  const Status late =
      open_session(p.graph, worker->target(), {.connect_timeout = seconds(0.2)})
          .status();
  EXPECT_EQ(late.code(), Code::kTimeout);
  EXPECT_THAT(late.message(), HasSubstr("/job:ps/task:0 at 127.0.0.1"));
  // Without the ps that is up to nobody.
  EXPECT_TRUE(open_session(p.graph, worker->target(), {},
                           {.device_filters = {"/job:worker"}})
                  .ok());
  std::unique_ptr<Server> ps;
  std::thread starts([&] { ps = Server::start(spec, {"ps", 0}, {}).value(); });
  auto session = open_session(p.graph, worker->target()).value();
  starts.join();
  EXPECT_TRUE(session->run(initializer(p.graph)).ok());
  // It is started anew: this session ends, and the next one finds it.
  ps.reset();
  ps = Server::start(spec, {"ps", 0}, {}).value();
  EXPECT_EQ(session->run(p.w).status().code(), Code::kPeerLost);
  session = open_session(p.graph, worker->target()).value();
  EXPECT_TRUE(session->run(initializer(p.graph)).ok());
}

TEST(Server, StopsWhileItWaitsForATask) {
  const ClusterSpec spec = make_spec(1);
  auto worker = Server::start(spec, {"worker", 0}, {}).value();
  auto control = ControlClient::make(address(*worker), {}).value();
  ASSERT_TRUE(control->hello(Deadline(seconds(30))).ok());
  std::thread waits([&] {
    // Longer than a test may take. Whether it comes before the end or after.
    EXPECT_FALSE(control->create_session({}, Deadline(seconds(500))).ok());
  });
  worker->stop();
  waits.join();
}

// The ps has another address of the worker than the worker itself, so it never
// gets to where its part of the graph takes a tensor from.
TEST(Server, WhoWaitsForATaskHoldsUpNeitherARunNorTheEnd) {
  const ClusterSpec spec = make_spec(1);
  auto worker = Server::start(spec, {"worker", 0}, {}).value();
  auto ps = Server::start(spec.with_address({"worker", 0}, free_address()),
                          {"ps", 0}, {})
                .value();
  Graph graph;
  Value x, y;
  {
    const DeviceScope there(graph, "/job:worker/task:0");
    x = fill(graph, {2}, 1);
  }
  {
    const DeviceScope here(graph, "/job:ps/task:0");
    y = x + x;
  }
  auto session = open_session(graph, worker->target()).value();
  RunOptions options;
  options.timeout = seconds(0.2);
  EXPECT_EQ(session->run({y}, {}, {}, options).status().code(), Code::kTimeout);
  Cancellation cancellation;
  std::thread cancels(
      [&] { cancellation.cancel(error(Code::kCancelled, "enough")); });
  options = {.cancellation = &cancellation};
  EXPECT_THAT(session->run({y}, {}, {}, options).status().message(),
              HasSubstr("enough"));
  cancels.join();
  std::thread waits([&] {
    // Whether it comes before the end or after.
    EXPECT_EQ(session->run(y).status().code(), Code::kCancelled);
  });
  worker->stop();
  waits.join();
}

// Who has joined may let the server go, or start another one in its place.
TEST(Server, JoinWaitsForTheWholeEnd) {
  const ClusterSpec spec = make_spec(0);
  for (int i = 0; i < 5; ++i) {
    auto server = Server::start(spec, {"ps", 0}, {}).value();
    std::thread stops([&] { server->stop(); });
    server->join();
    EXPECT_TRUE(Server::start(spec, {"ps", 0}, {}).ok());
    stops.join();
  }
}

TEST(Server, AClientThatVanishesIsForgotten) {
  Cluster cluster(1, {.lease = Duration(1)});
  const Deadline deadline(seconds(30));
  Peer peer =
      reach(address(cluster[1]), "", {.caller = "a test"}, deadline).value();
  const auto made = peer.control->create_session({}, deadline).value();
  Graph graph;
  const Far stays(graph, cluster[1]);
  // A lease is for those who have been there.
  EXPECT_EQ(peer.control->status(deadline)->sessions, 2);
  const std::string body =
      wire::Writer().number(static_cast<int64_t>(made.session)).take();
  ASSERT_TRUE(
      peer.link->call({number(CallMethod::kAttach), body, {}}, deadline).ok());
  peer.link.reset();  // and is never heard of again
  while (peer.control->status(deadline)->sessions != 1 && !deadline.passed())
    std::this_thread::yield();
  EXPECT_EQ(peer.control->status(deadline)->sessions, 1);
}

TEST(Server, StopEndsWhatRuns) {
  Cluster cluster(1);
  Graph graph;
  const DeviceScope ps(graph, "/job:ps/task:0");
  const FIFOQueue queue(graph, {DType::kF32}, {.name = "q"});
  const Value element = queue.dequeue()[0];
  const Node& more = queue.enqueue({fill(graph, {}, 1)});
  auto session = open_session(graph, cluster[1].target()).value();
  ASSERT_TRUE(session->run(const_cast<Node&>(more)).ok());
  ASSERT_TRUE(session->run(element).ok());
  std::thread waits([&] {
    const Status status = session->run(element).status();
    EXPECT_THAT(status.message(), HasSubstr("/job:ps/task:0"));
  });
  cluster[0].stop();
  waits.join();
  // The worker goes on with others.
  Graph other;
  const Value one = fill(other, {}, 1);
  auto alone = open_session(other, cluster[1].target(), {},
                            {.device_filters = {"/job:worker"}});
  EXPECT_EQ(number(alone.value()->run(one).value()), 1);
}

}  // namespace
}  // namespace rondo
