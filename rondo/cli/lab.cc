// `rondo lab`: several hosts on one machine. The work is that of a script,
// which lies beside the command; system tools do nearly all of it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/cli/command.h"
#include "rondo/launch/process.h"

namespace rondo {
namespace {

constexpr const char* kFooter =
    "rondo lab up --hosts 4 --rate 1gbit\n"
    "rondo lab up --hosts 4 --rate 1gbit --topology racks --uplink 200mbit\n"
    "rondo lab run -n 4 -- PROGRAM     a job of four ranks, in order on hosts\n"
    "rondo lab run h0 -- PROGRAM       on one host; all: on each of them\n"
    "rondo lab with --hosts 4 -- CMD   up, CMD on this machine, down\n"
    "rondo lab list [--json]\n"
    "rondo lab down [--all]\n"
    "\n"
    "--name NAME says which of several labs. Needs root. See lab.md.";

// Where it is installed, and where it is in the sources beside a build.
Result<std::string> find_script() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto prefix = self.parent_path().parent_path();
  std::string places;
  for (const char* place : {"libexec/rondo/lab/lab", "lab/lab"}) {
    const auto path = prefix / place;
    if (std::filesystem::exists(path, failed)) return path.string();
    places += fmt::format("{}{}", places.empty() ? "" : " or ", path.string());
  }
  return error(Code::kUnavailable,
               "its script is not there, {}; install rondo with `cmake "
               "--install`, or run the command in its build folder",
               places);
}

// Returns only when it fails.
Status run_script(const CommandLine& line) {
  RONDO_ASSIGN_OR_RETURN(std::string script, find_script());
  if (!find_program("python3", process_environment(), "").ok())
    return error(Code::kUnavailable,
                 "it needs python3, which is not on PATH; install it");
  // It starts parameter servers, which are this command.
  RONDO_ASSIGN_OR_RETURN(const std::string self, own_path());
  setenv("LAB_RONDO", self.c_str(), 1);
  std::vector<std::string> words = {script};
  const auto verb = std::ranges::find(line.arguments, "lab");
  words.insert(words.end(), verb + 1, line.arguments.end());
  if (line.has_program) words.emplace_back("--");
  words.insert(words.end(), line.program.begin(), line.program.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(script.c_str(), argv.data());
  return errno_error(Code::kUnavailable, errno,
                     fmt::format("{} cannot be run", script));
}

}  // namespace

void add_lab_command(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "lab", "Several hosts on this machine, with shaped links between them");
  command->footer(kFooter);
  // The script knows its verbs and their options.
  command->prefix_command();
  command->callback([&line] {
    line.takes_program = true;
    line.action = [&line] {
      if (line.arguments.size() < 2) {
        std::fprintf(stderr,
                     "rondo lab: say what to do: up, run, with, list "
                     "or down; see rondo lab --help\n");
        return kUsageError;
      }
      const Status status = run_script(line);
      std::fprintf(stderr, "rondo lab: %s\n", status.message().c_str());
      return 1;
    };
  });
}

}  // namespace rondo
