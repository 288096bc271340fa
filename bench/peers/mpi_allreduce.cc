// Times MPI_Allreduce. Built once per MPI, with that MPI's compiler:
//   mpirun -np N mpi_allreduce_NAME [--peer P] [--transport T]
//       [--iterations I] [--seconds S] BYTES...
#include <mpi.h>

#include <climits>

#include "allreduce_bench.h"

namespace {

class Mpi final : public peers::Peer {
 public:
  Mpi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void allreduce(float* data, size_t count) override {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
  }
  void maximum(double* values, size_t count) override {
    MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_DOUBLE,
                  MPI_MAX, MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const peers::Options options = peers::parse(
      argc, argv, [](const std::string&, const std::string&) { return false; });
  for (size_t bytes : options.sizes) {
    if (bytes / sizeof(float) > INT_MAX) {
      std::fprintf(stderr, "MPI_Allreduce takes at most %d elements\n",
                   INT_MAX);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  Mpi peer;
  const int code = peers::bench(peer, options);
  MPI_Finalize();
  return code;
}
