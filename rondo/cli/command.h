// What the sub-commands of `rondo` have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace rondo {

// The command line, apart from what CLI11 parses.
struct CommandLine {
  // What stands before "--", as it was given.
  std::vector<std::string> arguments;
  // What stands behind "--": a program and its arguments. A sub-command that
  // takes a program says so with takes_program.
  std::vector<std::string> program;
  bool has_program = false;
  bool takes_program = false;

  // Set by the chosen sub-command while the line is parsed; called afterwards,
  // returns the exit code.
  std::function<int()> action;
};

// Each adds one sub-command, whose callback sets line.action.
void add_run_command(CLI::App& app, CommandLine& line);
void add_agent_command(CLI::App& app, CommandLine& line);
void add_bench_command(CLI::App& app, CommandLine& line);
void add_lab_command(CLI::App& app, CommandLine& line);
void add_parameter_server_command(CLI::App& app, CommandLine& line);
void add_plan_command(CLI::App& app, CommandLine& line);
void add_probe_links_command(CLI::App& app, CommandLine& line);
void add_server_command(CLI::App& app, CommandLine& line);
void add_train_command(CLI::App& app, CommandLine& line);
void add_tune_command(CLI::App& app, CommandLine& line);

// For a command line that cannot work.
inline constexpr int kUsageError = 2;

}  // namespace rondo
