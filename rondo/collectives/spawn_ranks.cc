#include "rondo/collectives/spawn_ranks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace rondo {

void spawn_ranks(const std::string& transport, int n,
                 const std::function<void(Communicator&)>& body,
                 CommunicatorOptions options) {
  auto store = make_memory_store();
  options.transport = transport;
  options.connect_timeout = 30;
  if (options.timeout == CommunicatorOptions().timeout) options.timeout = 30;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank)
    threads.emplace_back([&, rank] {
      auto comm = Communicator::connect(store, rank, n, options);
      ASSERT_TRUE(comm.ok()) << comm.status().to_string();
      body(*comm);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace rondo
