// What wrong calls, wrong peers and strangers get.
#include <sys/wait.h>

#include <random>
#include <thread>
#include <utility>

#include "rondo/ps/test_cluster.h"
#include "rondo/transport/card.h"

namespace rondo {
namespace {

using testing::HasSubstr;

TEST(KvErrors, WrongCallsSayWhatToChange) {
  const TestCluster cluster(with_rules({}), 2);
  auto worker = cluster.worker(0);
  const Tensor w = Tensor::zeros({4, 2});
  ASSERT_TRUE(worker->add({{"w", DType::kF32, {4, 2}}}, {w}).ok());
  const auto outcome = [](const KvWork& work) {
    const Status status = work.wait(soon());
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(outcome(worker->pull("v", w)), HasSubstr("no key \"v\""));
  EXPECT_THAT(outcome(worker->push("w", Tensor::zeros({8}))),
              HasSubstr("f32[8], the key f32[4, 2]"));
  EXPECT_THAT(outcome(worker->push("w", Tensor::zeros({4, 2}, DType::kF64))),
              HasSubstr("f64[4, 2], the key f32[4, 2]"));
  EXPECT_THAT(outcome(worker->push_pull("w", w, Tensor::zeros({2, 4}))),
              HasSubstr("f32[2, 4]"));
  EXPECT_THAT(outcome(worker->push_rows("w", Tensor::zeros({1}, DType::kI64),
                                        Tensor::zeros({1, 2}))),
              HasSubstr("by rows"));
  EXPECT_THAT(worker->add({{"w", DType::kF32, {4, 2}}}).message(),
              HasSubstr("added twice"));
  EXPECT_THAT(worker->add({{"i", DType::kI32, {4}}}).message(),
              HasSubstr("floating-point"));
  EXPECT_THAT(worker->add({{"x", DType::kF32, {4}}}, {w, w}).message(),
              HasSubstr("2 initial values for 1 keys"));
  EXPECT_THAT(worker->add({{"x", DType::kF32, {4}}}, {w}).message(),
              HasSubstr("initial value"));
  // None of it has done any harm.
  worker->push("w", w).wait(soon()).value();
}

TEST(KvErrors, RowsOutOfRange) {
  const TestCluster cluster(with_rules({}), 2);
  auto worker = cluster.worker(0);
  ASSERT_TRUE(
      worker->add({{"e", DType::kF32, {9, 3}, true}}, {Tensor::zeros({9, 3})})
          .ok());
  for (const int64_t row : {int64_t{-1}, int64_t{9}, INT64_MAX, INT64_MIN})
    EXPECT_THAT(worker
                    ->pull_rows("e", Tensor::full<int64_t>({1}, row),
                                Tensor::zeros({1, 3}))
                    .wait(soon())
                    .message(),
                HasSubstr("there is no row"));
}

// They are written into snapshots.
TEST(KvErrors, NamesAreUtf8) {
  const TestCluster cluster(with_rules({}));
  auto worker = cluster.worker(0);
  for (const char* name : {"\xff", "\x80", "a\xc3", "\xc0\xaf", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80"})
    EXPECT_THAT(worker->add({{name, DType::kF32, {1}}}).message(),
                HasSubstr("not UTF-8"));
  for (const char* name :
       {"", "w", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_TRUE(worker->add({{name, DType::kF32, {1}}}).ok()) << name;
}

TEST(KvErrors, RowsOfNothing) {
  const TestCluster cluster(with_rules({}), 2);
  auto worker = cluster.worker(0);
  ASSERT_TRUE(
      worker->add({{"e", DType::kF32, {10, 0}, true}}, {Tensor::zeros({10, 0})})
          .ok());
  EXPECT_EQ(pulled(*worker, "e", {10, 0}).count(), 0);
  EXPECT_THAT(
      worker
          ->pull_rows("e", Tensor::full<int64_t>({1}, 3), Tensor::zeros({1, 1}))
          .wait(soon())
          .message(),
      HasSubstr("there is no row"));
}

TEST(KvErrors, WorkersMustAgreeOnKeys) {
  const TestCluster cluster(with_rules({.workers = 2}), 2);
  auto a = cluster.worker(0), b = cluster.worker(1);
  ASSERT_TRUE(a->add({{"w", DType::kF32, {4000}}}).ok());
  const Status status = b->add({{"w", DType::kF32, {4001}}});
  EXPECT_EQ(status.code(), Code::kMismatch);
  EXPECT_THAT(status.message(), HasSubstr("the same keys"));
}

TEST(KvErrors, WhoMayNotCome) {
  KvServerOptions options = with_rules({.workers = 2});
  options.token = "secret";
  options.interface = "127.0.0.0/8";
  const TestCluster cluster(options);
  auto with = cluster.worker_options(0);
  with.token = "guess";
  EXPECT_EQ(KvWorker::connect(with).status().code(), Code::kPermission);
  with = cluster.worker_options(0);
  with.workers = 3;
  EXPECT_THAT(KvWorker::connect(with).status().message(),
              HasSubstr("one of 3 workers"));
  auto first = cluster.worker(0);
  with = cluster.worker_options(0);
  with.connect_timeout = seconds(2);
  EXPECT_THAT(KvWorker::connect(with).status().message(),
              HasSubstr("two processes say that they are worker 0"));
  with = cluster.worker_options(1);
  with.servers = 2;
  with.connect_timeout = seconds(1);
  EXPECT_EQ(KvWorker::connect(with).status().code(), Code::kTimeout);
}

TEST(KvErrors, ServersCheckTheirOptions) {
  EXPECT_EQ(KvServer::start({}).status().code(), Code::kInvalidArgument);
  KvServerOptions options = with_rules({.workers = 2, .backup = 2});
  options.store = make_memory_store();
  EXPECT_THAT(KvServer::start(options).status().message(),
              HasSubstr("backup workers"));
}

// A peer that knows the token and says what it likes.
class Stranger {
 public:
  explicit Stranger(const TestCluster& cluster) {
    const Card card =
        Card::parse(
            cluster.options.store->get(KvServer::store_key(0), soon()).value())
            .value();
    link = PeerLink::connect({"server", card.nonce, card.addresses},
                             {.caller = "stranger"}, soon())
               .value();
  }
  Status call(uint32_t method, std::string body,
              std::vector<Tensor> tensors = {}) const {
    return link->call({method, std::move(body), std::move(tensors)}, soon())
        .status();
  }
  std::shared_ptr<PeerLink> link;
};

TEST(KvErrors, NonsenseIsRefused) {
  const TestCluster cluster(with_rules({.workers = 2}));
  auto worker = cluster.worker(0);
  const Key key{"e", DType::kF32, {10'000, 4}, true};
  ASSERT_TRUE(worker->add({key}, {Tensor::zeros({10'000, 4})}).ok());
  const Stranger stranger(cluster);
  EXPECT_THAT(stranger.call(kv::kPull, kv::Pull{}.encode()).message(),
              HasSubstr("who it is"));
  ASSERT_TRUE(
      stranger.call(kv::kHello, kv::Hello{1, 2, 5, "stranger"}.encode()).ok());
  std::mt19937 random(1);
  for (uint32_t method = 0; method < 9; ++method)
    for (size_t bytes = 0; bytes < 100; bytes += 7) {
      std::string body(bytes, '\0');
      for (char& c : body) c = static_cast<char>(random());
      if (method == kv::kLeave) continue;  // has no body to look at
      EXPECT_FALSE(stranger.call(method, body).ok()) << method;
    }
  const auto refused = [&](uint32_t method, const std::string& body,
                           std::vector<Tensor> tensors) {
    EXPECT_FALSE(stranger.call(method, body, std::move(tensors)).ok());
  };
  refused(kv::kAddPart, kv::AddPart{key, 4, 40'001}.encode(), {});
  refused(kv::kAddPart, kv::AddPart{key, 2, 40'000}.encode(), {});
  refused(kv::kAddPart, kv::AddPart{key, 40, 40}.encode(), {});
  refused(kv::kAddPart,
          kv::AddPart{{"big", DType::kF64, {INT64_MAX, 4}}, 0, 1}.encode(), {});
  refused(kv::kPush, kv::Push{.part = 0, .sequence = 1}.encode(), {});
  refused(kv::kPush, kv::Push{.part = 0, .sequence = 1}.encode(),
          {Tensor::zeros({3})});
  refused(kv::kPush, kv::Push{.part = 7, .sequence = 1}.encode(),
          {Tensor::zeros({40'000})});
  refused(kv::kPush,
          kv::Push{.part = 0, .sequence = 1, .by_rows = true}.encode(),
          {Tensor::zeros({1, 4}), Tensor::full<int64_t>({1}, 10'000)});
  refused(kv::kPush,
          kv::Push{.part = 0, .sequence = 1, .by_rows = true}.encode(),
          {Tensor::zeros({1, 4}), Tensor::zeros({1}, DType::kF64)});
  refused(kv::kPull, kv::Pull{.part = 0, .by_rows = true}.encode(),
          {Tensor::full<int64_t>({1}, -1)});
  // The server is as it was.
  EXPECT_EQ(pulled(*worker, "e", {10'000, 4}).span<float>()[39'999], 0);
}

TEST(KvErrors, PartsOfAKeyAreApart) {
  const TestCluster cluster(with_rules({}));
  const Stranger stranger(cluster);
  stranger.call(kv::kHello, kv::Hello{0, 1, 5, "stranger"}.encode()).value();
  const Key key{"w", DType::kF32, {100}};
  const auto add = [&](const Key& of, int64_t begin, int64_t end) {
    return stranger.call(kv::kAddPart, kv::AddPart{of, begin, end}.encode())
        .code();
  };
  // Keys before and behind it in the order of names have nothing to say.
  for (const char* other : {"v", "x"})
    ASSERT_EQ(add({other, DType::kF32, {7}}, 0, 7), Code::kOk);
  for (const int64_t begin : {40, 0, 80, 20})  // and not from 60 to 80
    ASSERT_EQ(add(key, begin, begin + 20), Code::kOk);
  for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 10}, {10, 20}, {0, 40}, {30, 50}, {59, 61}, {60, 81}, {0, 100}})
    EXPECT_EQ(add(key, begin, end), Code::kMismatch) << begin << " " << end;
  // The key is not what it was, before all parts, among them and behind them.
  const Key longer{"w", DType::kF32, {200}};
  for (const int64_t begin : {0, 60, 100})
    EXPECT_EQ(add(longer, begin, begin + 1), Code::kMismatch) << begin;
  for (const int64_t begin : {0, 20, 40, 60, 80})
    EXPECT_EQ(add(key, begin, begin + 20), Code::kOk) << begin;
}

// What is reduced has its memory at once, and nobody has so much.
TEST(KvErrors, AKeyThatDoesNotFitLeavesNothing) {
  const TestFolder folder;
  KvServerOptions options = with_rules({});
  options.folder = folder.path();
  TestCluster cluster(options);
  const int64_t count = int64_t{1} << 50;
  const kv::AddPart huge{
      {.name = "huge", .shape = {count}, .reduces = ReduceOp::kSum}, 0, count};
  const Key key{.name = "small", .shape = {4}, .reduces = ReduceOp::kSum};
  {
    const Stranger stranger(cluster);
    stranger.call(kv::kHello, kv::Hello{0, 1, 5, "stranger"}.encode()).value();
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(stranger.call(kv::kAddPart, huge.encode()).code(),
                Code::kResource);
    stranger.call(kv::kAddPart, kv::AddPart{key, 0, 4}.encode()).value();
    EXPECT_EQ(stranger.call(kv::kAddPart, huge.encode()).code(),
              Code::kResource);
  }
  // Nor is it in the log.
  cluster.stop(0);
  cluster.start(0);
  auto worker = cluster.worker(0);
  ASSERT_TRUE(worker->add({key}).ok());
  worker->push_pull("small", counting({4}), Tensor::zeros({4}))
      .wait(soon())
      .value();
}

TEST(KvErrors, AReducedKeyHasNoOptimizer) {
  const KvOptimizer adam = KvOptimizer::adam(0.1);
  const TestCluster cluster(with_rules({.optimizer = adam}));
  auto worker = cluster.worker(0);
  Key key{
      .name = "r", .shape = {4}, .optimizer = adam, .reduces = ReduceOp::kSum};
  EXPECT_THAT(worker->add({key}).message(), HasSubstr("takes no optimizer"));
  key.optimizer.reset();
  ASSERT_TRUE(worker->add({key}).ok());
  EXPECT_THAT(
      worker->pull_slot("r", 0, Tensor::zeros({4})).wait(soon()).message(),
      HasSubstr("a pull of a slot"));
  EXPECT_THAT(values(pulled(*worker, "r", {4})), testing::Each(0));
}

// A child has the worker, but not the threads that its end waits for.
TEST(KvErrors, AForkedChildLeavesTheWorkerAlone) {
  const TestCluster cluster(with_rules({}));
  auto worker = cluster.worker(0);
  ASSERT_TRUE(
      worker->add({{"w", DType::kF32, {4}}}, {Tensor::zeros({4})}).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);  // instead of for ever
    worker->abort("the child has nothing to say");
    worker.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(values(pulled(*worker, "w", {4})), testing::Each(0));
}

TEST(KvErrors, APushThatIsSentAgainCountsOnce) {
  for (const KvMode mode : {KvMode::kSync, KvMode::kAsync, KvMode::kBounded}) {
    const TestCluster cluster(
        with_rules({.mode = mode, .staleness = 9, .optimizer = adding()}));
    const Stranger stranger(cluster);
    stranger.call(kv::kHello, kv::Hello{0, 1, 5, "stranger"}.encode()).value();
    const Key key{"w", DType::kF32, {1}};
    stranger
        .call(kv::kAddPart, kv::AddPart{key, 0, 1}.encode(),
              {Tensor::zeros({1})})
        .value();
    for (const int64_t sequence : {1, 1, 2, 1, 2, 3})
      stranger
          .call(kv::kPush,
                kv::Push{.sequence = sequence, .learning_rate = 1}.encode(),
                {Tensor::full({1}, 1.0f)})
          .value();
    const auto answer =
        stranger.link->call({kv::kPull, kv::Pull{}.encode(), {}}, soon())
            .value();
    EXPECT_EQ(answer.tensors[0].span<float>()[0], -3);
  }
}

// A worker that was killed between the parts of a push, and its successor.
TEST(KvErrors, PartsOfAKeyStayInStep) {
  for (const KvMode mode : {KvMode::kSync, KvMode::kAsync}) {
    const TestCluster cluster(
        with_rules({.mode = mode, .optimizer = adding()}));
    const std::vector<Key> keys = {{"w", DType::kF32, {40'000}}};
    auto first = cluster.worker(0);
    ASSERT_TRUE(first->add(keys, {Tensor::zeros({40'000})}).ok());
    const int64_t count = first->parts("w")[0].count();
    ASSERT_LT(count, 40'000);
    first.reset();
    {
      const Stranger killed(cluster);
      while (
          !killed.call(kv::kHello, kv::Hello{0, 1, 5, "killed"}.encode()).ok())
        std::this_thread::yield();
      killed
          .call(kv::kPush,
                kv::Push{.sequence = 1, .learning_rate = -1}.encode(),
                {Tensor::full({count}, 1.0f)})
          .value();
    }
    auto next = cluster.worker(0);
    ASSERT_TRUE(next->add(keys).ok());
    for (int step = 1; step <= 2; ++step) {
      next->push("w", Tensor::full({40'000}, 1.0f)).wait(soon()).value();
      EXPECT_THAT(values(pulled(*next, "w", {40'000})), testing::Each(step));
    }
  }
}

}  // namespace
}  // namespace rondo
