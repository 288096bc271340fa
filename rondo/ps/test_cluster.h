// Parameter servers and workers within a test's process.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "rondo/ps/kv_server.h"
#include "rondo/ps/kv_worker.h"

namespace rondo {

inline Deadline soon() { return Deadline(seconds(60)); }

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = testing::TempDir() + "rondo_ps_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct TestCluster {
  explicit TestCluster(KvServerOptions with, int servers = 1)
      : options(std::move(with)) {
    if (!options.store) options.store = make_memory_store();
    for (int i = 0; i < servers; ++i) {
      list.emplace_back();
      start(i);
    }
  }
  void start(int server) {
    KvServerOptions one = options;
    one.server = server;
    list[static_cast<size_t>(server)] = KvServer::start(one).value();
  }
  void stop(int server) { list[static_cast<size_t>(server)].reset(); }

  KvWorkerOptions worker_options(int worker) const {
    return {.worker = worker,
            .workers = options.rules.workers,
            .servers = static_cast<int>(list.size()),
            .store = options.store,
            .token = options.token,
            .shares_memory = options.shares_memory,
            .timeout = seconds(60),
            .most_part_bytes = 64 << 10};
  }
  std::unique_ptr<KvWorker> worker(int number) const {
    return KvWorker::connect(worker_options(number)).value();
  }

  KvServerOptions options;
  std::vector<std::unique_ptr<KvServer>> list;
};

inline KvServerOptions with_rules(KvRules rules) {
  KvServerOptions options;
  options.rules = std::move(rules);
  return options;
}

// Adds what is pushed to the value.
inline KvOptimizer adding() { return KvOptimizer::gradient_descent(-1); }

inline Tensor counting(const Shape& shape, float first = 0) {
  Tensor tensor = Tensor::empty(shape);
  for (float& x : tensor.span<float>()) x = first++;
  return tensor;
}

inline Tensor pulled(KvWorker& worker, std::string_view key,
                     const Shape& shape) {
  Tensor into = Tensor::zeros(shape);
  worker.pull(key, into).wait(soon()).value();
  return into;
}

inline std::vector<float> values(const Tensor& tensor) {
  const auto span = tensor.span<float>();
  return {span.begin(), span.end()};
}

}  // namespace rondo
