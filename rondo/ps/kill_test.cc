// Servers and workers that are killed, as real processes.
#include <atomic>
#include <thread>

#include "rondo/base/env.h"
#include "rondo/ps/test_cluster.h"
#include "rondo/ps/test_process.h"

namespace rondo {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int64_t kCount = 50'000;
const std::vector<Key> kKeys = {{"w", DType::kF32, {kCount}}};

struct Job {
  KvMode mode = KvMode::kAsync;
  int workers = 1;
  int backup = 0;
  TestFolder folder = {};

  std::shared_ptr<Store> store() const {
    return open_file_store(folder.path() + "/store").value();
  }
  std::map<std::string, std::string> variables(int number) const {
    return {{"RONDO_TEST_FOLDER", folder.path()},
            {"RONDO_TEST_NUMBER", std::to_string(number)},
            {"RONDO_TEST_MODE", std::to_string(static_cast<int>(mode))},
            {"RONDO_TEST_WORKERS", std::to_string(workers)},
            {"RONDO_TEST_BACKUP", std::to_string(backup)}};
  }
  std::unique_ptr<TestProcess> server(int number) const {
    return std::make_unique<TestProcess>("Kill.DISABLED_Server",
                                         variables(number));
  }
  std::unique_ptr<KvWorker> worker(int number) const {
    return KvWorker::connect({.worker = number,
                              .workers = workers,
                              .servers = 2,
                              .store = store(),
                              .most_part_bytes = 32 << 10})
        .value();
  }
};

int64_t variable(const char* name) {
  return Env::process().get_int(name, 0, 0, 1000).value();
}

TEST(Kill, DISABLED_Server) {
  const std::string folder = Env::process().get_or("RONDO_TEST_FOLDER", "");
  KvServerOptions options;
  options.server = static_cast<int>(variable("RONDO_TEST_NUMBER"));
  options.rules = {.mode = static_cast<KvMode>(variable("RONDO_TEST_MODE")),
                   .workers = static_cast<int>(variable("RONDO_TEST_WORKERS")),
                   .backup = static_cast<int>(variable("RONDO_TEST_BACKUP")),
                   .optimizer = adding()};
  options.store = open_file_store(folder + "/store").value();
  options.folder = folder + "/data";
  options.snapshot_bytes = 1 << 20;
  options.worker_patience = seconds(0.2);
  auto server = KvServer::start(options).value();
  TestProcess::wait_for_end();
}

// Pushes step after step until it is killed.
TEST(Kill, DISABLED_Worker) {
  auto store =
      open_file_store(Env::process().get_or("RONDO_TEST_FOLDER", "") + "/store")
          .value();
  auto worker =
      KvWorker::connect(
          {.worker = static_cast<int>(variable("RONDO_TEST_NUMBER")),
           .workers = static_cast<int>(variable("RONDO_TEST_WORKERS")),
           .servers = 2,
           .store = store,
           .most_part_bytes = 32 << 10})
          .value();
  worker->add(kKeys, {Tensor::zeros({kCount})}).value();
  Tensor w = pulled(*worker, "w", {kCount});
  while (
      worker->push_pull("w", Tensor::full({kCount}, 1.0f), w).wait(soon()).ok())
    continue;
}

TEST(Kill, ServersBetweenPushes) {
  const Job job;
  std::unique_ptr<TestProcess> servers[] = {job.server(0), job.server(1)};
  auto worker = job.worker(0);
  ASSERT_TRUE(worker->add(kKeys, {Tensor::zeros({kCount})}).ok());
  Tensor w = pulled(*worker, "w", {kCount});
  for (int step = 1; step <= 8; ++step) {
    worker->push("w", Tensor::full({kCount}, 1.0f)).wait(soon()).value();
    servers[step % 2]->kill();
    servers[step % 2] = job.server(step % 2);
    worker->pull("w", w).wait(soon()).value();
    ASSERT_THAT(values(w), Each(step));
  }
}

void kill_during_pushes(KvMode mode) {
  Job job{.mode = mode, .workers = 2};
  std::unique_ptr<TestProcess> servers[] = {job.server(0), job.server(1)};
  constexpr int kSteps = 60;
  std::atomic<int> steps = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      auto worker = job.worker(rank);
      worker->add(kKeys, {Tensor::zeros({kCount})}).value();
      Tensor w = pulled(*worker, "w", {kCount});
      for (int step = 0; step < kSteps; ++step, ++steps)
        worker->push_pull("w", Tensor::full({kCount}, 1.0f), w)
            .wait(soon())
            .value();
      if (mode == KvMode::kSync) {
        EXPECT_THAT(values(w), Each(kSteps));
      }
      worker->leave().value();
    });
  for (int kills = 1; kills <= 6; ++kills) {
    while (steps < kills * 2 * kSteps / 8) std::this_thread::yield();
    servers[kills % 2]->kill();
    servers[kills % 2] = job.server(kills % 2);
  }
  for (std::thread& thread : threads) thread.join();
  auto last = job.worker(0);
  ASSERT_TRUE(last->add(kKeys).ok());
  EXPECT_THAT(values(pulled(*last, "w", {kCount})),
              Each(mode == KvMode::kSync ? kSteps : 2 * kSteps));
}

TEST(Kill, ServersDuringAsynchronousPushes) {
  kill_during_pushes(KvMode::kAsync);
}
TEST(Kill, ServersDuringSynchronousPushes) {
  kill_during_pushes(KvMode::kSync);
}

TEST(Kill, AWorkerIsNamed) {
  const Job job{.mode = KvMode::kSync, .workers = 2};
  const auto s0 = job.server(0), s1 = job.server(1);
  const auto other =
      std::make_unique<TestProcess>("Kill.DISABLED_Worker", job.variables(1));
  auto worker = job.worker(0);
  ASSERT_TRUE(worker->add(kKeys, {Tensor::zeros({kCount})}).ok());
  Tensor w = pulled(*worker, "w", {kCount});
  const Tensor one = Tensor::full({kCount}, 1.0f);
  for (int step = 0; step < 3; ++step)
    worker->push_pull("w", one, w).wait(soon()).value();
  const int pid = other->pid();
  other->kill();
  // What it had pushed before may complete a step or two.
  Status status;
  for (int step = 0; step < 3 && status.ok(); ++step)
    status = worker->push_pull("w", one, w).wait(soon());
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_THAT(status.message(), HasSubstr("worker 1 ("));
  EXPECT_THAT(status.message(), HasSubstr(fmt::format("pid {}", pid)));
}

TEST(Kill, ABackupWorkerIsNotMissed) {
  const Job job{.mode = KvMode::kSync, .workers = 2, .backup = 1};
  const auto s0 = job.server(0), s1 = job.server(1);
  const auto other =
      std::make_unique<TestProcess>("Kill.DISABLED_Worker", job.variables(1));
  auto worker = job.worker(0);
  ASSERT_TRUE(worker->add(kKeys, {Tensor::zeros({kCount})}).ok());
  Tensor w = pulled(*worker, "w", {kCount});
  const Tensor one = Tensor::full({kCount}, 1.0f);
  for (int step = 0; step < 20; ++step) {
    if (step == 5) other->kill();
    worker->push_pull("w", one, w).wait(soon()).value();
  }
  EXPECT_THAT(values(w), Each(testing::Ge(20)));
}

}  // namespace
}  // namespace rondo
