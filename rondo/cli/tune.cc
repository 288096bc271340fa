// `rondo tune`: measures what sending and reducing cost on this machine and
// writes a file that selection reads from then on.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "rondo/base/env.h"
#include "rondo/cli/bench_collective.h"
#include "rondo/cli/command.h"
#include "rondo/collectives/algorithms.h"
#include "rondo/launch/hosts.h"
#include "rondo/launch/launcher.h"
#include "rondo/rendezvous/job_env.h"

namespace rondo {
namespace {

struct TuneArguments {
  int ranks = 2;
  std::string output;
};

// Median seconds of a collective of so many bytes.
Result<double> timed(Communicator& comm, const std::string& collective,
                     const std::string& algorithm, int64_t bytes) {
  BenchOptions options;
  options.collective = collective;
  options.algorithm = algorithm;
  options.seconds = 0.5;
  RONDO_ASSIGN_OR_RETURN(const BenchRow row,
                         bench_collective(comm, options, bytes));
  return row.median_us * 1e-6;
}

constexpr int64_t kSmall = 8;
constexpr int64_t kLarge = 16 << 20;

struct MessageCosts {
  double message;
  double overhead;
  double byte;
};

// From two ranks: the latency of one message, and seconds per byte sent and
// received at once. What a further message costs meanwhile is taken as a fifth
// of a latency: most of a latency is waiting.
Result<MessageCosts> message_costs(Communicator& comm) {
  RONDO_ASSIGN_OR_RETURN(const double small,
                         timed(comm, "sendrecv", "", kSmall));
  RONDO_ASSIGN_OR_RETURN(const double large,
                         timed(comm, "sendrecv", "", kLarge));
  return MessageCosts{small, small / 5,
                      std::max(1e-13, (large - small) / double(kLarge))};
}

double measure_reduce_byte() {
  Tensor a = Tensor::zeros({1 << 16});
  Tensor b = Tensor::zeros({1 << 16});
  constexpr int kRounds = 500;
  const auto start = Clock::now();
  for (int i = 0; i < kRounds; ++i)
    reduce(ReduceOp::kSum, DType::kF32, a.data(), b.data(), 1 << 16);
  return to_seconds(Clock::now() - start) / kRounds / double(a.bytes());
}

Status measure_tcp(CommunicatorOptions options, Costs& costs) {
  options.transport = "tcp";
  RONDO_ASSIGN_OR_RETURN(auto comm, Communicator::world(options));
  RONDO_ASSIGN_OR_RETURN(const auto tcp, message_costs(comm));
  costs.message = tcp.message;
  costs.overhead = tcp.overhead;
  costs.byte = tcp.byte;
  return {};
}

Status measure_memory(CommunicatorOptions options, Costs& costs) {
  options.transport = "auto";
  RONDO_ASSIGN_OR_RETURN(auto comm, Communicator::world(options));
  for (int peer = 0; peer < comm.size(); ++peer)
    if (comm.transport_to(peer) == "tcp") return {};  // several hosts
  RONDO_ASSIGN_OR_RETURN(const auto local, message_costs(comm));
  costs.local_message = local.message;
  costs.local_overhead = local.overhead;
  costs.local_byte = local.byte;
  RONDO_ASSIGN_OR_RETURN(const double small,
                         timed(comm, "allreduce", "direct", kSmall));
  RONDO_ASSIGN_OR_RETURN(const double large,
                         timed(comm, "allreduce", "direct", kLarge));
  costs.direct = small;
  costs.direct_byte =
      std::max(1e-13, 2 * (large - small) / comm.size() / double(kLarge));
  return {};
}

Status write(const Costs& costs, const std::string& file) {
  std::error_code ignored;
  const auto folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  std::ofstream out(file);
  out << "# Made by `rondo tune`; seconds. Rank 0's file holds for a job.\n"
      << costs.to_string();
  out.flush();
  if (!out)
    return error(Code::kInvalidArgument,
                 "cannot write {}: check the folder and its rights, or choose "
                 "another with --output",
                 file);
  return {};
}

Result<int> tune(TuneArguments args) {
  const Env env = Env::process();
  if (args.output.empty()) args.output = default_tuning_file(env);
  if (args.output.empty())
    return error(Code::kInvalidArgument,
                 "there is no home folder to write to; use --output FILE");
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(env));
  if (job.launcher == "none") {
    if (args.ranks < 2)
      return error(Code::kInvalidArgument, "-n {}: two ranks at least",
                   args.ranks);
    LaunchOptions run;
    RONDO_ASSIGN_OR_RETURN(
        run.hosts, assign_ranks({{"localhost", args.ranks}}, args.ranks));
    run.prefix = false;
    run.argv = {"/proc/self/exe", "tune", "--output=" + args.output};
    return run_job(run);
  }
  RONDO_ASSIGN_OR_RETURN(auto options, CommunicatorOptions::from_env(env));
  options.tuning_file.clear();
  options.algorithm = "auto";
  Costs costs;
  costs.reduce_byte = measure_reduce_byte();
  RONDO_RETURN_IF_ERROR(measure_tcp(options, costs));
  RONDO_RETURN_IF_ERROR(measure_memory(options, costs));
  if (job.rank != 0) return 0;
  RONDO_RETURN_IF_ERROR(write(costs, args.output));
  std::printf("%s\nwritten to %s; every communicator reads it from now on\n",
              costs.to_string().c_str(), args.output.c_str());
  return 0;
}

}  // namespace

void add_tune_command(CLI::App& app, CommandLine& line) {
  auto args = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand(
      "tune", "Measure this machine, for the choice of algorithms");
  command->add_option("-n,--ranks", args->ranks, "Number of ranks to start")
      ->capture_default_str();
  command->add_option("--output", args->output,
                      "The file to write (~/.config/rondo/tuning)");
  command->footer(
      "Inside a job (rondo run --hosts a:1,b:1 -- rondo tune) it measures "
      "that\n"
      "job's network. RONDO_TUNING names another file to read.");
  command->callback([args, &line] {
    line.action = [args] {
      auto code = tune(*args);
      if (code.ok()) return *code;
      std::fprintf(stderr, "rondo: %s\n", code.status().message().c_str());
      return code.status().code() == Code::kInvalidArgument ? kUsageError : 1;
    };
  });
}

}  // namespace rondo
