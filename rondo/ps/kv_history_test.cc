// Servers that go and come back, within one process.
#include "rondo/ps/kv_history.h"

#include <atomic>
#include <thread>

#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using testing::Each;
using testing::HasSubstr;

KvServerOptions kept(const TestFolder& folder, KvRules rules) {
  KvServerOptions options = with_rules(std::move(rules));
  options.folder = folder.path();
  return options;
}

const std::vector<Key> kKeys = {{"w", DType::kF32, {40'000}},
                                {"e", DType::kF32, {100, 4}, true}};

void add(KvWorker& worker) {
  worker.add(kKeys, {Tensor::zeros({40'000}), Tensor::zeros({100, 4})}).value();
  pulled(worker, "w", {40'000});
  pulled(worker, "e", {100, 4});
}

// Until there is one that the server will begin with.
void wait_for_snapshot(const TestFolder& folder, int server) {
  const Deadline deadline = soon();
  while (!deadline.passed()) {
    for (const auto& entry : std::filesystem::directory_iterator(
             fmt::format("{}/server-{}", folder.path(), server)))
      if (entry.path().filename().string().starts_with("snapshot-")) return;
    std::this_thread::yield();
  }
  ADD_FAILURE() << "no snapshot of server " << server;
}

TEST(KvHistory, AServerThatComesBackHasEverything) {
  for (const bool snapshots : {false, true}) {
    const TestFolder folder;
    KvServerOptions options =
        kept(folder, {.optimizer = KvOptimizer::adam(0.01)});
    if (snapshots) options.snapshot_bytes = 1;
    TestCluster cluster(options, 2);
    TestCluster other(with_rules({.optimizer = KvOptimizer::adam(0.01)}), 2);
    auto worker = cluster.worker(0), same = other.worker(0);
    add(*worker);
    add(*same);
    Tensor w = Tensor::zeros({40'000}), expected = Tensor::zeros({40'000});
    Tensor e = Tensor::zeros({100, 4}), rows = Tensor::zeros({100, 4});
    for (int step = 0; step < 12; ++step) {
      if (step % 3 == 2) {
        if (snapshots) wait_for_snapshot(folder, step % 2);
        cluster.stop(step % 2);
        cluster.start(step % 2);
      }
      const Tensor gradient = counting({40'000}, static_cast<float>(step));
      const Tensor index = Tensor::full<int64_t>({1}, step % 5);
      const Tensor row = Tensor::full({1, 4}, 1.0f);
      for (auto& [to, who] :
           {std::pair(&w, worker.get()), std::pair(&expected, same.get())}) {
        const KvWork one = who->push_rows("e", index, row);
        who->push_pull("w", gradient, *to).wait(soon()).value();
        one.wait(soon()).value();
      }
      ASSERT_EQ(values(w), values(expected)) << step;
    }
    worker->pull("e", e).wait(soon()).value();
    same->pull("e", rows).wait(soon()).value();
    EXPECT_EQ(values(e), values(rows));
  }
}

// Servers go and come all the time while pushes are under way.
TEST(KvHistory, PushesCountOnceWhateverHappens) {
  for (const KvMode mode : {KvMode::kAsync, KvMode::kSync}) {
    const TestFolder folder;
    KvServerOptions options =
        kept(folder, {.mode = mode, .workers = 2, .optimizer = adding()});
    options.snapshot_bytes = 2 << 20;
    TestCluster cluster(options, 2);
    constexpr int kSteps = 24;
    std::atomic<int> steps = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        auto worker = cluster.worker(rank);
        add(*worker);
        for (int step = 0; step < kSteps; ++step, ++steps)
          worker->push("w", Tensor::full({40'000}, 1.0f)).wait(soon()).value();
        worker->leave().value();
      });
    for (int round = 1; round <= 8; ++round) {
      while (steps < round * kSteps / 5) std::this_thread::yield();
      cluster.stop(round % 2);
      cluster.start(round % 2);
    }
    for (std::thread& thread : threads) thread.join();
    auto last = cluster.worker(0);
    ASSERT_TRUE(last->add(kKeys).ok());
    EXPECT_THAT(values(pulled(*last, "w", {40'000})),
                Each(mode == KvMode::kSync ? kSteps : 2 * kSteps));
  }
}

TEST(KvHistory, SnapshotsTakeThePlaceOfLogs) {
  const TestFolder folder;
  KvServerOptions options = kept(folder, {.optimizer = adding()});
  options.snapshot_bytes = 1 << 20;
  TestCluster cluster(options);
  auto worker = cluster.worker(0);
  add(*worker);
  uint64_t pushed = 0;
  const auto bytes = [&] {
    uint64_t sum = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder.path()))
      // It may be gone by now.
      if (std::error_code gone; entry.is_regular_file(gone))
        if (const auto size = entry.file_size(gone); !gone) sum += size;
    return sum;
  };
  for (int step = 0; step < 200; ++step, pushed += 160'000)
    worker->push("w", Tensor::full({40'000}, 1.0f)).wait(soon()).value();
  const Deadline deadline = soon();
  while (bytes() > pushed / 4 && !deadline.passed()) std::this_thread::yield();
  EXPECT_LE(bytes(), pushed / 4);
  cluster.stop(0);
  cluster.start(0);
  EXPECT_THAT(values(pulled(*worker, "w", {40'000})), Each(200));
}

// What earlier starts have logged counts, too.
TEST(KvHistory, ServersThatAreOftenStartedTakeSnapshots) {
  const TestFolder folder;
  KvServerOptions options = kept(folder, {.optimizer = adding()});
  options.snapshot_bytes = 400'000;
  TestCluster cluster(options);
  auto worker = cluster.worker(0);
  add(*worker);  // 160 KB
  for (int step = 0; step < 2; ++step) {
    worker->push("w", Tensor::full({40'000}, 1.0f)).wait(soon()).value();
    cluster.stop(0);
    cluster.start(0);
  }
  wait_for_snapshot(folder, 0);
  EXPECT_THAT(values(pulled(*worker, "w", {40'000})), Each(2));
}

TEST(KvHistory, ASnapshotThatFailsIsStillDue) {
  const TestFolder folder;
  auto history =
      KvHistory::open({.folder = folder.path(), .snapshot_bytes = 100}, {}, {})
          .value();
  // Records without a payload have bytes, too.
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(history->grown()) << i;
    ASSERT_TRUE(history->append(KvRecord::kLeave, "12").ok());
  }
  EXPECT_TRUE(history->grown());
  EXPECT_THROW((void)history->snapshot([]() -> KvImage {
    throw Error(Code::kResource, "no memory");
  }),
               Error);
  EXPECT_TRUE(history->grown());
  ASSERT_TRUE(history->snapshot([] { return KvImage(); }).ok());
  EXPECT_FALSE(history->grown());
}

TEST(KvHistory, AWorkerThatComesBackGoesOn) {
  const TestFolder folder;
  const TestCluster cluster(kept(folder, {.optimizer = adding()}), 2);
  for (int start = 1; start <= 3; ++start) {
    auto worker = cluster.worker(0);
    add(*worker);
    Tensor w = Tensor::zeros({40'000});
    worker->push_pull("w", Tensor::full({40'000}, 1.0f), w)
        .wait(soon())
        .value();
    EXPECT_THAT(values(w), Each(start));
  }
}

// The other worker neither waits for who has left, nor without who is back,
// also when the server was away meanwhile.
TEST(KvHistory, WhoHasLeftAndWhoIsBackIsKept) {
  const TestFolder folder;
  TestCluster cluster(kept(folder, {.workers = 2, .optimizer = adding()}));
  auto stays = cluster.worker(0), leaves = cluster.worker(1);
  add(*stays);
  add(*leaves);
  leaves->leave().value();
  cluster.stop(0);
  cluster.start(0);
  // Waits until its link is there again, which is no return.
  pulled(*leaves, "w", {40'000});
  const Tensor ones = Tensor::full({40'000}, 1.0f);
  stays->push("w", ones).wait(soon()).value();
  leaves.reset();
  auto back = cluster.worker(1);
  add(*back);
  back.reset();
  cluster.stop(0);
  cluster.start(0);
  const KvWork work = stays->push("w", ones);
  // The server has seen the push when it has answered what came behind it.
  ASSERT_TRUE(stays->add({{"x", DType::kF32, {1}}}, {counting({1})}).ok());
  EXPECT_FALSE(work.finished());
  back = cluster.worker(1);
  add(*back);
  back->push("w", ones).wait(soon()).value();
  work.wait(soon()).value();
  EXPECT_THAT(values(pulled(*stays, "w", {40'000})), Each(2));
}

TEST(KvHistory, WithoutAFolderEverythingIsLost) {
  TestCluster cluster(with_rules({}));
  auto worker = cluster.worker(0);
  add(*worker);
  cluster.stop(0);
  cluster.start(0);
  const Status status = worker->push("w", Tensor::zeros({40'000})).wait(soon());
  EXPECT_THAT(status.message(), HasSubstr("its parameters are lost"));
}

TEST(KvHistory, AServerThatStaysAwayEndsCalls) {
  TestCluster cluster(with_rules({}));
  auto options = cluster.worker_options(0);
  options.timeout = seconds(1.5);
  auto worker = KvWorker::connect(options).value();
  add(*worker);
  cluster.stop(0);
  const Status status = worker->push("w", Tensor::zeros({40'000})).wait(soon());
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.message(), HasSubstr("parameter server 0"));
}

// Records whose checksums are right, but that no server writes.
TEST(KvHistory, RecordsThatMakeNoSenseAreRefused) {
  const auto number = [](std::initializer_list<int64_t> all) {
    wire::Writer writer;
    for (const int64_t one : all) writer.number(one);
    return writer.take();
  };
  const auto f32 = static_cast<int64_t>(DType::kF32);
  const Tensor four = Tensor::zeros({4});
  const struct {
    const char* what;
    KvRecord kind;
    std::string body;
    Tensor payload;
  } kRecords[] = {
      // part, version, rate, type, rows, pushes
      {"of no type", KvRecord::kUpdate, number({0, 1, 0, 99, -1, 0}), four},
      {"too short", KvRecord::kUpdate, number({0, 1, 0, f32, -1, 0}),
       Tensor::zeros({3})},
      {"of rows that are not in it", KvRecord::kUpdate,
       number({1, 1, 0, f32, 1 << 30, 0}), four},
      {"of a row that the part has not", KvRecord::kUpdate,
       number({1, 1, 0, f32, 1, 0}), Tensor::full<int64_t>({2}, 7)},
      {"of rows, but the key is not", KvRecord::kUpdate,
       number({0, 1, 0, f32, 1, 0}), Tensor::zeros({3})},
      {"of another type", KvRecord::kUpdate,
       number({0, 1, 0, static_cast<int64_t>(DType::kF64), -1, 0}),
       Tensor::zeros({8})},
      {"of more pushes than there are bytes for", KvRecord::kUpdate,
       number({0, 1, 0, f32, -1, int64_t{1} << 60}) + "rest", four},
      {"of a push behind which none can come", KvRecord::kUpdate,
       number({0, 1, 0, f32, -1, 1, 0, INT64_MAX}), four},
      {"initial, too short", KvRecord::kInitialize, number({2}), four}};
  for (const auto& one : kRecords) {
    const TestFolder folder;
    std::filesystem::create_directories(folder.path() + "/server-0");
    auto log =
        LogFile::create(folder.path() + "/server-0/log-0", false).value();
    const auto append = [&](KvRecord kind, const std::string& body,
                            const Tensor& payload) {
      log->append(static_cast<uint32_t>(kind), body, {&payload, 1}).value();
    };
    const Key keys[] = {{"w", DType::kF32, {4}},
                        {"e", DType::kF32, {2, 2}, true},
                        {"v", DType::kF32, {12}}};
    for (const Key& key : keys)
      append(KvRecord::kAddPart,
             kv::AddPart{key, 0, key.shape.count()}.encode(), Tensor());
    append(KvRecord::kInitialize, number({0}), four);
    append(KvRecord::kInitialize, number({1}), four);
    append(one.kind, one.body, one.payload);
    KvServerOptions options = kept(folder, {});
    options.store = make_memory_store();
    EXPECT_THAT(KvServer::start(options).status().message(),
                HasSubstr("makes no sense"))
        << one.what;
  }
}

TEST(KvHistory, AFolderHasOneServerAndOneOptimizer) {
  const TestFolder folder;
  KvServerOptions options = kept(folder, {});
  options.store = make_memory_store();
  auto server = KvServer::start(options).value();
  EXPECT_THAT(KvServer::start(options).status().message(),
              HasSubstr("another server"));
  server.reset();
  options.rules.optimizer = KvOptimizer::adam(0.1);
  EXPECT_THAT(KvServer::start(options).status().message(),
              HasSubstr("another optimizer"));
}

}  // namespace
}  // namespace rondo
