// One process of bench/cluster's cases of parameter servers: a KvServer or a
// KvWorker.
//
//   ps_task ps|worker TASK SERVERS WORKERS FOLDER [sync] [log] [tcp]
//
// A server waits for the end of its input; a worker pulls 100 MB, halves them
// as its gradient and pushes that, as many times as the line that it reads
// says, and answers with the seconds of each.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "rondo/ps/kv_server.h"
#include "rondo/ps/kv_worker.h"

namespace {

using namespace rondo;

constexpr int64_t kCount = 25'000'000;

struct Arguments {
  std::string job;
  int task = 0, servers = 0, workers = 0;
  std::string folder;
  std::set<std::string> words;
  bool has(const char* word) const { return words.contains(word); }
};

int run_server(const Arguments& with, const std::shared_ptr<Store>& store) {
  KvServerOptions options;
  options.server = with.task;
  options.rules.mode = with.has("sync") ? KvMode::kSync : KvMode::kAsync;
  options.rules.workers = with.workers;
  options.store = store;
  options.shares_memory = !with.has("tcp");
  if (with.has("log")) options.folder = with.folder;
  auto server = KvServer::start(options).value();
  std::string line;
  while (std::getline(std::cin, line)) continue;
  return 0;
}

double step(KvWorker& worker, Tensor& value, Tensor& gradient) {
  const auto began = Clock::now();
  const auto from = value.span<float>();
  auto to = gradient.span<float>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = 0.5f * from[i];
  worker.push_pull("variable", gradient, value)
      .wait(Deadline(seconds(60)))
      .value();
  return to_seconds(Clock::now() - began);
}

int run_worker(const Arguments& with, const std::shared_ptr<Store>& store) {
  auto worker = KvWorker::connect({.worker = with.task,
                                   .workers = with.workers,
                                   .servers = with.servers,
                                   .store = store,
                                   .shares_memory = !with.has("tcp")})
                    .value();
  Tensor value = Tensor::zeros({kCount});
  Tensor gradient = Tensor::zeros({kCount});
  worker->add({{"variable", DType::kF32, {kCount}}}, {value}).value();
  worker->pull("variable", value).wait(Deadline(seconds(60))).value();
  std::cout << "ready" << std::endl;
  int steps = 0;
  while (std::cin >> steps) {
    std::string out;
    for (int i = 0; i < steps; ++i)
      out += fmt::format("{}{}", i == 0 ? "" : ", ",
                         step(*worker, value, gradient));
    std::cout << "[" << out << "]" << std::endl;
  }
  worker->leave().value();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::cerr << "ps_task ps|worker TASK SERVERS WORKERS FOLDER [sync] [log] "
                 "[tcp]\n";
    return 2;
  }
  Arguments with{argv[1], std::atoi(argv[2]), std::atoi(argv[3]),
                 std::atoi(argv[4]), argv[5]};
  for (int i = 6; i < argc; ++i) with.words.insert(argv[i]);
  auto store = open_file_store(with.folder + "/store").value();
  return with.job == "ps" ? run_server(with, store) : run_worker(with, store);
}
