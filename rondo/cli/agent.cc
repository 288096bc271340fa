// `rondo remote-agent`: what `rondo run` starts on every host. Not for people.
#include "rondo/launch/agent.h"

#include <unistd.h>

#include <cstdio>

#include "rondo/cli/command.h"

namespace rondo {

void add_agent_command(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("remote-agent", "Start ranks for a rondo run");
  command->group("");  // not in the help
  command->callback([&line] {
    line.action = [] {
      const Result<int> code = run_agent(STDIN_FILENO, STDOUT_FILENO);
      if (code.ok()) return *code;
      std::fprintf(stderr, "rondo: %s\n", code.status().message().c_str());
      return 255;
    };
  });
}

}  // namespace rondo
