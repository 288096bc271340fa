// StopRequest: whether somebody asked this process to end.
#pragma once

namespace rondo {

// From here on SIGINT and SIGTERM (which is what the launcher makes of Ctrl-C)
// only set a flag; a second one of a kind ends the process. Once in a process.
class StopRequest {
 public:
  StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  bool came() const;
};

}  // namespace rondo
