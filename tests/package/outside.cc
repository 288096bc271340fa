#include <rondo/base/env.h>
#include <rondo/base/interrupt.h>
#include <rondo/graph.h>
#include <rondo/graph/op_registry.h>
#include <rondo/kernels/kernel_registry.h>
#include <rondo/rendezvous/job_env.h>
#include <rondo/rondo.h>

#include <chrono>
#include <cstdio>

struct Patient : rondo::Interrupt {
  bool ask() override { return false; }
};

// A graph with an operation of the program's own.
float doubled_sum(float x) {
  using namespace rondo;
  OpRegistry::process().add({.name = "Double",
                             .doc = "Twice x.",
                             .inputs = {{"x"}},
                             .outputs = {"y"},
                             .infer = [](InferContext& c) {
                               c.output(c.dtype(0), c.shape(0));
                               return Status();
                             }});
  KernelRegistry::process().add(
      "Double", "cpu", from_function([](const Node&, KernelContext& c) {
        Tensor& y = c.allocate(0, DType::kF32, c.input(0).shape());
        for (int64_t i = 0; i < y.count(); ++i)
          y.span<float>()[size_t(i)] = 2 * c.input(0).span<float>()[size_t(i)];
        return Status();
      }));
  Graph g;
  Value in = placeholder(g, {.shape = {kAny}});
  Value out = reduce_sum(make("Double", {relu(in)}));
  Session session(g);
  return session.run(out, {{in, Tensor::full({3}, x)}})
      .value()
      .span<float>()[0];
}

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
  if (doubled_sum(1.5f) != 9) throw rondo::Error(rondo::Code::kInternal, "sum");
} catch (const rondo::Error& e) {
  std::fprintf(stderr, "outside: %s\n", e.what());
  return 1;
}
