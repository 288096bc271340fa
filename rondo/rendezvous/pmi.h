// PMI-1, as MPICH's mpirun (hydra) speaks it over the descriptor PMI_FD.
//
// A request and its answer are one line each: "cmd=put kvsname=... key=...
// value=...\n". Two facts about hydra decide how Rondo uses it: a put is seen
// by others only after a barrier of all ranks, and a process that has said
// anything at all has to say "finalize" before it ends, after which PMI is
// closed to it. So PMI carries one text from rank 0 to all, once.
#pragma once

#include <string>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"

namespace rondo {

// Every rank of the job calls this; all get the `text` of the one that is the
// giver (no spaces or newlines, at most kMaxPmiText bytes). PMI is closed then.
inline constexpr size_t kMaxPmiText = 900;
Result<std::string> pmi_share(int fd, bool giver, const std::string& text,
                              Deadline deadline);

// A text that is the same for all processes that one mpirun started on this
// host and different for any other's: from who is at the other end of the
// descriptor, without saying a word on it.
Result<std::string> pmi_local_job_id(int fd);

}  // namespace rondo
