// Four ranks add up their ranks: build/rondo run -n 4 -- build/examples/hello
#include <rondo/rondo.h>

#include <cstdio>
#include <span>
#include <vector>

int main() try {
  auto comm = rondo::Communicator::world().value();
  std::printf("rank %d of %d is here\n", comm.rank(), comm.size());

  // A tensor: peers on the same host reduce it where it lies.
  auto x = rondo::Tensor::full({4}, static_cast<float>(comm.rank()));
  comm.allreduce(x).value();

  // Memory of one's own works too, and need not be waited for at once.
  std::vector<float> mine(1 << 20, static_cast<float>(comm.rank()));
  rondo::Work work =
      comm.allreduce_async(std::span(mine), {.op = rondo::ReduceOp::kAvg});
  work.wait().value();

  if (comm.rank() == 0) {
    std::printf("sum of the ranks:  %s\n", x.to_string().c_str());
    std::printf("mean of the ranks: %g, %zu times\n",
                static_cast<double>(mine[0]), mine.size());
  }
} catch (const rondo::Error& e) {
  std::fprintf(stderr, "hello: %s\n", e.what());
  return 1;
}
