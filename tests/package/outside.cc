#include <rondo/base/env.h>
#include <rondo/base/interrupt.h>
#include <rondo/rendezvous/job_env.h>
#include <rondo/rondo.h>

#include <chrono>
#include <cstdio>

struct Patient : rondo::Interrupt {
  bool ask() override { return false; }
};

// Touches what each public header exports, so that a missing RONDO_API shows.
int main() try {
  const Patient patient;
  auto options =
      rondo::CommunicatorOptions::from_env(rondo::Env::process()).value();
  options.connect_timeout = rondo::to_seconds(std::chrono::seconds(30));
  auto comm = rondo::Communicator::world(options).value();
  auto x = rondo::Tensor::full({3}, comm.rank() + 1);
  comm.allreduce(x, {.op = rondo::ReduceOp::kMax}).value();
  rondo::Work work = comm.barrier_async();
  work.wait(rondo::seconds(30)).value();
  if (comm.rank() == 0)
    std::printf("outside: %d ranks, %s\n", comm.size(), x.to_string().c_str());
} catch (const rondo::Error& e) {
  std::fprintf(stderr, "outside: %s\n", e.what());
  return 1;
}
