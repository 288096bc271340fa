// Starting a child process with its standard streams on pipes.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

struct SpawnOptions {
  std::string path;               // the file to execute
  std::vector<std::string> argv;  // with argv[0]
  std::map<std::string, std::string> environment;
  std::string directory;    // to start in; empty: here
  bool pipe_stdin = false;  // otherwise /dev/null
  // A session of its own, out of reach of the terminal's Ctrl-C; otherwise a
  // process group of its own.
  bool new_session = false;
  // Sent by the kernel when the calling thread ends without having ended the
  // child; 0: none.
  int death_signal = 0;
};

struct Child {
  pid_t pid = -1;
  Fd in;   // what the child reads; only with pipe_stdin
  Fd out;  // what the child writes; these ends do not block
  Fd err;
};

// Returns once the child runs its program; the error says what could not be
// executed and why.
Result<Child> spawn(const SpawnOptions& options);

// Becomes the program at `path`; only returns when that failed.
Status execute(const std::string& path, std::vector<std::string> argv,
               const std::map<std::string, std::string>& environment);

// Where the program `name` is: a path as it is (relative to `directory`), a
// bare name along the PATH in `environment`. kInvalidArgument when there is
// none, kPermission when it cannot be executed.
Result<std::string> find_program(
    const std::string& name,
    const std::map<std::string, std::string>& environment,
    const std::string& directory);

// As one word of a shell's command.
std::string shell_quoted(const std::string& word);

// Every variable of this process, for handing on to children.
std::map<std::string, std::string> process_environment();

// Opens /dev/null where standard input, output or error is closed, so that no
// pipe gets its number by accident.
void ensure_standard_streams();

// The path of the running command itself.
Result<std::string> own_path();

// "exited with code 3", "was killed by signal 9 (Killed)".
std::string describe_exit(int wait_status);
// What a shell would report: the code, or 128 + the signal.
int exit_code_of(int wait_status);

}  // namespace rondo
