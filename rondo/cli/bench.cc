// `rondo bench`: measure a collective, on ranks of its own or in the job that
// it runs in.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

#include "rondo/base/env.h"
#include "rondo/cli/bench_collective.h"
#include "rondo/cli/command.h"
#include "rondo/launch/hosts.h"
#include "rondo/launch/launcher.h"
#include "rondo/rendezvous/job_env.h"

namespace rondo {
namespace {

struct BenchArguments {
  std::string collective = "allreduce";
  int ranks = 0;
  std::string transport = "auto";
  std::string algorithm = "auto";
  std::string buffers = "mapped";
  std::string sizes = "4,1K,64K,1M,16M,64M,256M";
  std::string dtype = "f32";
  std::string json;
  int iterations = 0;
  double seconds = 1;
};

// "64K" and the like; K, M and G are powers of 1024.
Result<int64_t> parse_size(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, value);
  const std::string unit(rest, end);
  const int shift = unit.empty()  ? 0
                    : unit == "K" ? 10
                    : unit == "M" ? 20
                    : unit == "G" ? 30
                                  : -1;
  if (ec != std::errc() || shift < 0 || value < 0 || value > (int64_t{1} << 50))
    return error(Code::kInvalidArgument,
                 "--sizes: \"{}\" is not a number of bytes (4, 64K, 1M, 1G)",
                 text);
  return value << shift;
}

Result<BenchOptions> parse_options(const BenchArguments& args) {
  BenchOptions options;
  options.collective = args.collective;
  options.algorithm = args.algorithm;
  options.buffers = args.buffers;
  options.iterations = args.iterations;
  options.seconds = args.seconds;
  const auto dtype = dtype_from_name(args.dtype);
  if (!dtype)
    return error(Code::kInvalidArgument, "--dtype: there is no dtype \"{}\"",
                 args.dtype);
  options.dtype = *dtype;
  if (args.buffers != "mapped" && args.buffers != "foreign")
    return error(Code::kInvalidArgument, "--buffers is mapped or foreign");
  for (const std::string& text : CLI::detail::split(args.sizes, ',')) {
    RONDO_ASSIGN_OR_RETURN(const int64_t size, parse_size(text));
    options.sizes.push_back(size);
  }
  return options;
}

void print_row(const BenchRow& row, bool first) {
  if (first)
    std::printf(
        "%s, %d ranks, %s, %s buffers, %s\n%12s %-13s %12s %12s %12s "
        "%9s %9s %s\n",
        row.collective.c_str(), row.ranks, row.transport.c_str(),
        row.buffers.c_str(), row.dtype.c_str(), "bytes", "algorithm",
        "median us", "min us", "p99 us", "algbw", "busbw", "GB/s");
  std::printf("%12lld %-13s %12.2f %12.2f %12.2f %9.3f %9.3f %s\n",
              static_cast<long long>(row.bytes), row.algorithm.c_str(),
              row.median_us, row.min_us, row.p99_us, row.algbw_gbps,
              row.busbw_gbps, row.correct ? "" : "WRONG RESULT");
  std::fflush(stdout);
}

// All sizes on one rank; rank 0 prints and writes the file.
Result<int> measure(Communicator& comm, const BenchOptions& options,
                    const std::string& json) {
  std::vector<BenchRow> rows;
  bool correct = true;
  for (const int64_t bytes : options.sizes) {
    RONDO_ASSIGN_OR_RETURN(auto row, bench_collective(comm, options, bytes));
    if (comm.rank() == 0) print_row(row, rows.empty());
    correct = correct && row.correct;
    rows.push_back(std::move(row));
  }
  if (comm.rank() == 0 && !json.empty()) {
    std::ofstream file(json);
    file << to_json(rows);
    file.flush();
    if (!file)
      return error(Code::kInvalidArgument, "--json {}: cannot be written",
                   json);
  }
  RONDO_RETURN_IF_ERROR(comm.barrier());
  return correct ? 0 : 1;
}

CommunicatorOptions with_transport(CommunicatorOptions options,
                                   const BenchArguments& args) {
  if (args.transport != "auto") options.transport = args.transport;
  return options;
}

Result<int> in_job(const BenchArguments& args, const BenchOptions& options) {
  RONDO_ASSIGN_OR_RETURN(auto from_env,
                         CommunicatorOptions::from_env(Env::process()));
  RONDO_ASSIGN_OR_RETURN(auto comm, Communicator::world(with_transport(
                                        std::move(from_env), args)));
  return measure(comm, options, args.json);
}

Result<int> as_threads(const BenchArguments& args,
                       const BenchOptions& options) {
  auto store = make_memory_store();
  std::vector<std::thread> threads;
  std::vector<Result<int>> results(static_cast<size_t>(args.ranks),
                                   Result<int>(0));
  for (int rank = 0; rank < args.ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto& result = results[static_cast<size_t>(rank)];
      auto comm = Communicator::connect(store, rank, args.ranks,
                                        with_transport({}, args));
      if (comm.ok())
        result = measure(*comm, options, args.json);
      else
        result = comm.status();
    });
  for (auto& thread : threads) thread.join();
  for (auto& result : results)
    if (!result.ok() || *result != 0) return result;
  return 0;
}

Result<int> as_processes(const BenchArguments& args) {
  LaunchOptions run;
  RONDO_ASSIGN_OR_RETURN(run.hosts,
                         assign_ranks({{"localhost", args.ranks}}, args.ranks));
  run.prefix = false;
  run.argv = {"/proc/self/exe",
              "bench",
              args.collective,
              "--transport=" + args.transport,
              "--algorithm=" + args.algorithm,
              "--buffers=" + args.buffers,
              "--sizes=" + args.sizes,
              "--dtype=" + args.dtype,
              "--iterations=" + std::to_string(args.iterations),
              "--seconds=" + std::to_string(args.seconds)};
  if (!args.json.empty()) run.argv.push_back("--json=" + args.json);
  return run_job(run);
}

Result<int> bench(const BenchArguments& args) {
  RONDO_ASSIGN_OR_RETURN(const BenchOptions options, parse_options(args));
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(Env::process()));
  if (job.launcher != "none") {
    if (args.ranks != 0 && args.ranks != job.size)
      return error(Code::kInvalidArgument,
                   "-n {}: this job has {} ranks; leave -n out to measure it",
                   args.ranks, job.size);
    return in_job(args, options);
  }
  if (args.ranks < 1)
    return error(Code::kInvalidArgument,
                 "say how many ranks to start: rondo bench {} -n 4",
                 args.collective);
  return args.transport == "inproc" ? as_threads(args, options)
                                    : as_processes(args);
}

}  // namespace

void add_bench_command(CLI::App& app, CommandLine& line) {
  auto args = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure a collective, in this job or on ranks of its own");
  command->add_option("collective", args->collective,
                      "allreduce, reduce, broadcast, allgather, "
                      "reduce_scatter, gather, scatter, all_to_all, sendrecv, "
                      "barrier");
  command->add_option("-n,--ranks", args->ranks, "Number of ranks to start");
  command->add_option("--transport", args->transport, "auto, shm, tcp, inproc");
  command->add_option("--algorithm", args->algorithm,
                      "For allreduce: auto, naive, star, tree, butterfly, "
                      "ring, direct, hierarchical");
  command->add_option("--buffers", args->buffers,
                      "mapped: memory that peers reach in place; foreign: any "
                      "other");
  command->add_option("--sizes", args->sizes, "Bytes, with K, M, G")
      ->capture_default_str();
  command->add_option("--dtype", args->dtype, "f64, f32, f16, bf16, i64, ...");
  command->add_option("--json", args->json, "Also write the rows to this file");
  command->add_option("--iterations", args->iterations,
                      "Timed calls per size; 0: by size and --seconds");
  command->add_option("--seconds", args->seconds,
                      "Most seconds per size, after five calls");
  command->footer(
      "algbw is bytes/time; busbw multiplies it by 2(n-1)/n for allreduce,\n"
      "(n-1)/n for allgather, reduce_scatter, gather, scatter and all_to_all,\n"
      "as nccl-tests do. Input is rewritten and the result checked on every "
      "call.");
  command->callback([args, &line] {
    line.action = [args] {
      auto code = bench(*args);
      if (code.ok()) return *code;
      std::fprintf(stderr, "rondo: %s\n", code.status().message().c_str());
      return code.status().code() == Code::kInvalidArgument ? kUsageError : 1;
    };
  });
}

}  // namespace rondo
