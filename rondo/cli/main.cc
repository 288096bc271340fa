// The `rondo` command: a table of sub-commands, each in a file of its own.
#include <cstdio>
#include <exception>

#include "rondo/cli/command.h"

namespace rondo {
namespace {

constexpr void (*kCommands[])(CLI::App&, CommandLine&) = {
    add_run_command,         add_train_command,  add_plan_command,
    add_lab_command,         add_bench_command,  add_tune_command,
    add_agent_command,       add_server_command, add_parameter_server_command,
    add_probe_links_command,
};

// The arguments before "--", last one first, as CLI11 takes them; the rest goes
// to `line`, so that a program's own options are never taken for ours.
std::vector<std::string> split_arguments(int argc, char** argv,
                                         CommandLine& line) {
  for (int i = 1; i < argc; ++i) {
    if (line.has_program)
      line.program.emplace_back(argv[i]);
    else if (std::string_view(argv[i]) == "--")
      line.has_program = true;
    else
      line.arguments.emplace_back(argv[i]);
  }
  return {line.arguments.rbegin(), line.arguments.rend()};
}

int run(int argc, char** argv) {
  CLI::App app("Collectives and distributed training on many processes.",
               "rondo");
  app.set_version_flag("--version", "rondo " RONDO_VERSION);
  app.require_subcommand(1);
  app.footer("rondo COMMAND --help says what a command takes.");
  CommandLine line;
  for (const auto add : kCommands) add(app, line);
  try {
    app.parse(split_arguments(argc, argv, line));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kUsageError;
  }
  if (line.has_program && !line.takes_program) {
    std::fprintf(stderr, "rondo: this command takes no program after --\n");
    return kUsageError;
  }
  const int code = line.action();
  // What has been printed, as to a full disk, may not have arrived. By now
  // nobody knows why.
  if (code != 0 || (std::fflush(stdout) == 0 && !std::ferror(stdout)))
    return code;
  std::fprintf(stderr,
               "rondo: not all of the output could be written; is the disk "
               "full?\n");
  return 1;
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  try {
    return rondo::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rondo: %s\n", e.what());
    return 1;
  }
}
