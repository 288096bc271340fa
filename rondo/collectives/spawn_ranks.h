// spawn_ranks: several ranks as threads of a test, over an in-memory store.
#pragma once

#include <functional>
#include <string>

#include "rondo/collectives/communicator.h"

namespace rondo {

// Runs body(comm) on n threads, each a rank of one job whose ranks reach each
// other by `transport`: "inproc", "tcp", or "shm", with which the threads treat
// each other as processes on one host would. A test fails if a communicator
// cannot be made.
void spawn_ranks(const std::string& transport, int n,
                 const std::function<void(Communicator&)>& body,
                 CommunicatorOptions options = {});

}  // namespace rondo
