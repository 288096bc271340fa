// `rondo train`: train a model on this machine, with as many workers as wanted.
//
// The command starts itself again as the ranks of a job; in a job that somebody
// else started, it is one of its workers.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "rondo/base/env.h"
#include "rondo/cli/command.h"
#include "rondo/launch/hosts.h"
#include "rondo/launch/launcher.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/trainer/config_file.h"
#include "rondo/trainer/train_options.h"
#include "rondo/trainer/trainer.h"

namespace rondo {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  rondo train lenet --data fashion-mnist -n 4 --strategy ring --epochs 3\n"
    "  rondo train mlp --data synthetic --steps 100\n"
    "  rondo train gpt --data book.txt -n 2 --optimizer adam --checkpoint "
    "run1\n"
    "\n"
    "DATA is fashion-mnist (Debian's dataset-fashion-mnist), cifar10 (the\n"
    "folder cifar-10-batches-bin), synthetic, a folder with idx or CIFAR-10\n"
    "files, a folder with a folder of images for each class, within train and\n"
    "test or without, or, for gpt, a text file. Ctrl-C ends with a "
    "checkpoint.\n"
    "On several hosts: rondo run --hosts a:2,b:2 -- rondo train ...";

// For the checkpoint that Ctrl-C asks for.
constexpr Duration kLastCheckpoint = std::chrono::seconds(30);

struct TrainArguments {
  TrainOptions options;
  std::string config;
  int restart_servers = 0;
  std::string server_log;
  CLI::Option* workers = nullptr;
};

// Columns of the terminal that is this process's output; 0: it is none.
int terminal_columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 ||
      Env::process().get_or("TERM", "dumb") == "dumb")
    return 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

// What the command line does not say is taken from the file.
Status apply_config(CLI::App& command, const std::string& path) {
  if (path.empty()) return {};
  RONDO_ASSIGN_OR_RETURN(const ConfigLines lines, read_config_file(path));
  for (const auto& [name, value] : lines) {
    CLI::Option* option = name == "model"
                              ? command.get_option_no_throw("model")
                              : command.get_option_no_throw("--" + name);
    if (option == nullptr || name == "config" || name == "help")
      return error(Code::kInvalidArgument,
                   "--config {}: there is no option \"{}\"", path, name);
    if (option->count() > 0) continue;
    try {
      option->add_result(value);
      option->run_callback();
    } catch (const CLI::Error& e) {
      return error(Code::kInvalidArgument, "--config {}: {} = {}: {}", path,
                   name, value, e.what());
    }
  }
  return {};
}

void print_failure(const Status& status) {
  std::fprintf(stderr, "rondo train: %s\n", status.message().c_str());
}

// As one of the workers. All fail with the same code, whoever is the first.
Result<int> work(const TrainArguments& args, const JobEnv& job) {
  if (args.workers->count() > 0 && args.options.workers != job.size)
    return error(Code::kInvalidArgument,
                 "-n {}: this job has {} ranks; leave -n out to train on them",
                 args.options.workers, job.size);
  // For Strategy::from_env(), where another launcher started the job.
  if (!args.options.strategy.empty())
    setenv("RONDO_STRATEGY", args.options.strategy.c_str(), 1);
  if (args.options.staleness >= 0)
    setenv("RONDO_STALENESS", std::to_string(args.options.staleness).c_str(),
           1);
  if (args.options.backup)
    setenv("RONDO_BACKUP", std::to_string(*args.options.backup).c_str(), 1);
  const Status status = train(args.options);
  if (status.ok()) return 0;
  // Where it is cancelled, another one says why.
  if (status.code() != Code::kCancelled) print_failure(status);
  return 1;
}

Result<int> launch(const TrainArguments& args, const CommandLine& line) {
  const TrainOptions& options = args.options;
  if (options.workers < 1 || options.workers > kMaxRanks)
    return error(Code::kInvalidArgument, "-n {}: expected 1 to {} workers",
                 options.workers, kMaxRanks);
  RONDO_RETURN_IF_ERROR(check(options));
  RONDO_RETURN_IF_ERROR(check_backups(options, Env::process()));
  LaunchOptions run;
  RONDO_ASSIGN_OR_RETURN(run.hosts,
                         assign_ranks({{"localhost", options.workers}}, 0));
  run.prefix = false;
  run.argv = {"/proc/self/exe"};
  run.argv.insert(run.argv.end(), line.arguments.begin(), line.arguments.end());
  if (const int columns = terminal_columns(); columns > 0)
    run.argv.push_back(fmt::format("--columns={}", columns));
  run.servers = options.servers;
  run.restart_servers = args.restart_servers;
  run.server_log = args.server_log;
  run.term_time = kLastCheckpoint;
  if (!options.strategy.empty())
    run.environment["RONDO_STRATEGY"] = options.strategy;
  if (options.staleness >= 0)
    run.environment["RONDO_STALENESS"] = std::to_string(options.staleness);
  if (options.backup)
    run.environment["RONDO_BACKUP"] = std::to_string(*options.backup);
  return run_job(run);
}

Result<int> run(TrainArguments& args, CLI::App& command,
                const CommandLine& line) {
  RONDO_RETURN_IF_ERROR(apply_config(command, args.config));
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(Env::process()));
  return job.launcher == "none" ? launch(args, line) : work(args, job);
}

void add_options(CLI::App& command, TrainArguments& args) {
  TrainOptions& options = args.options;
  command
      .add_option("model", options.model,
                  "mlp, lenet, vgg16, resnet50, lstm or gpt")
      ->type_name("MODEL");
  const auto text = [&](const char* name, std::string& value, const char* help,
                        const char* type) {
    command.add_option(name, value, help)
        ->type_name(type)
        ->capture_default_str();
  };
  const auto number = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->type_name("N");
  };
  text("--data", options.data, "What to train on: see below", "DATA");
  args.workers = number("-n,--workers", options.workers, "Workers to start")
                     ->capture_default_str();
  text("--strategy", options.strategy,
       "How they train together: single, ring, allreduce, hybrid, ps, "
       "ps-async, ssp",
       "NAME");
  number("--servers", options.servers, "Servers for hybrid, ps, ps-async, ssp");
  number("--restart-servers", args.restart_servers,
         "How often a server that is killed is started again, with its log");
  text("--server-log", args.server_log,
       "With --restart-servers: folder for the servers' logs", "DIR");
  number("--staleness", options.staleness,
         "With ssp: steps that a worker may be ahead of the slowest");
  number("--backup", options.backup,
         "With ps: of how many workers, the slowest, no step waits for");
  number("--epochs", options.epochs, "How often to go through the data")
      ->capture_default_str();
  number("--steps", options.steps, "How many steps, instead of --epochs");
  number("--batch", options.batch, "Examples a step, of all workers together")
      ->capture_default_str();
  text("--optimizer", options.optimizer, "sgd, momentum or adam", "NAME");
  number("--lr", options.lr,
         "Learning rate; sgd 0.1, momentum 0.05, adam 0.001 unless given");
  text("--decay", options.decay,
       "none, or cosine: the rate falls to 0 by the last step", "NAME");
  text("--precision", options.precision,
       "What products and convolutions are computed in: fp32 or bf16", "NAME");
  text("--wire", options.wire, "As what gradients travel: fp32 or bf16",
       "NAME");
  text("--factors", options.factors,
       "Whether gradients of fully connected layers travel as their factors:\n"
       "auto (where that takes less time), on or off",
       "NAME");
  command.add_flag("--tune-buckets", options.tune_buckets,
                   "Try buckets of several sizes in the first steps, and keep "
                   "the quickest");
  number("--seed", options.seed, "Of first weights and the order of examples")
      ->capture_default_str();
  text("--checkpoint", options.checkpoint, "Folder to write checkpoints to",
       "DIR");
  command.add_flag("--resume", options.resume,
                   "Go on from the last checkpoint there");
  number("--save-every", options.save_every,
         "Steps between checkpoints; unless given, one with each epoch");
  text("--logdir", options.logdir, "Folder for TensorBoard's event files",
       "DIR");
  text("--trace", options.trace,
       "File for a Chrome trace of some steps of all workers", "FILE");
  text("--trace-steps", options.trace_steps,
       "Which steps; unless given, 10:14, the tenth to the 14th", "A:B");
  number("--log-every", options.log_every,
         "Steps between lines of progress; unless given, every 5 s");
  command.add_flag("--speedup", options.speedup,
                   "At the end, measure one worker alone for comparison");
  text("--config", args.config, "File with lines option = value", "FILE");
  command.add_option("--columns", options.columns)->group("");
}

}  // namespace

void add_train_command(CLI::App& app, CommandLine& line) {
  auto args = std::make_shared<TrainArguments>();
  CLI::App* command =
      app.add_subcommand("train", "Train a model with workers on this machine");
  command->footer(kFooter);
  add_options(*command, *args);
  command->callback([args, command, &line] {
    line.action = [args, command, &line] {
      const Result<int> code = run(*args, *command, line);
      if (code.ok()) return *code;
      print_failure(code.status());
      return code.status().code() == Code::kInvalidArgument ? kUsageError : 1;
    };
  });
}

}  // namespace rondo
