// Times gloo::allreduce over Gloo's TCP transport. One process per rank, which
// find each other in an empty folder that they share:
//   gloo_allreduce --rank R --ranks N --store DIR [--host ADDRESS]
//       [--algorithm ring|bcube] [--peer P] [--transport T]
//       [--iterations I] [--seconds S] BYTES...
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <exception>
#include <memory>

#include "allreduce_bench.h"

namespace {

using Algorithm = gloo::AllreduceOptions::Algorithm;

struct Place {
  int rank = -1;
  int ranks = 0;
  std::string store;
  std::string host = "127.0.0.1";
  Algorithm algorithm = Algorithm::RING;

  bool take(const std::string& name, const std::string& value) {
    if (name == "--rank") {
      rank = std::atoi(value.c_str());
    } else if (name == "--ranks") {
      ranks = std::atoi(value.c_str());
    } else if (name == "--store") {
      store = value;
    } else if (name == "--host") {
      host = value;
    } else if (name == "--algorithm" && value == "ring") {
      algorithm = Algorithm::RING;
    } else if (name == "--algorithm" && value == "bcube") {
      algorithm = Algorithm::BCUBE;
    } else {
      return false;
    }
    return true;
  }
};

class Gloo final : public peers::Peer {
 public:
  explicit Gloo(const Place& place) : algorithm_(place.algorithm) {
    auto device = gloo::transport::tcp::CreateDevice(
        gloo::transport::tcp::attr(place.host.c_str()));
    gloo::rendezvous::FileStore store(place.store);
    auto context =
        std::make_shared<gloo::rendezvous::Context>(place.rank, place.ranks);
    context->connectFullMesh(store, device);
    context_ = context;
  }
  int rank() const override { return context_->rank; }
  int ranks() const override { return context_->size; }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void allreduce(float* data, size_t count) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(data, count);
    options.setAlgorithm(algorithm_);
    options.setReduceFunction([](void* to, const void* a, const void* b,
                                 size_t n) { gloo::sum<float>(to, a, b, n); });
    gloo::allreduce(options);
  }
  void maximum(double* values, size_t count) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values, count);
    options.setReduceFunction([](void* to, const void* a, const void* b,
                                 size_t n) { gloo::max<double>(to, a, b, n); });
    gloo::allreduce(options);
  }

 private:
  const Algorithm algorithm_;
  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

int main(int argc, char** argv) {
  Place place;
  const peers::Options options = peers::parse(
      argc, argv, [&place](const std::string& name, const std::string& value) {
        return place.take(name, value);
      });
  if (place.rank < 0 || place.rank >= place.ranks || place.store.empty()) {
    std::fprintf(stderr, "give --rank, --ranks and --store\n");
    return 2;
  }
  try {
    Gloo peer(place);
    return peers::bench(peer, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", place.rank, error.what());
    return 1;
  }
}
