// merged_trace: the timelines of all ranks as one Chrome trace.
#pragma once

#include <string>
#include <vector>

#include "rondo/collectives/communicator.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

// As chrome://tracing and Perfetto read it, on rank 0; empty elsewhere. A rank
// is a process of the trace; times are those of rank 0's clock, from the first
// event on. All ranks call it, and nothing else of the communicator's is under
// way.
RONDO_API Result<std::string> merged_trace(Communicator& comm,
                                           const Timeline& timeline);
// That of one process alone.
RONDO_API std::string trace_of(const Timeline& timeline);

// The lines of one rank in such a trace. Its lanes: events without a thread
// (a negative number), threads, and exchanges, each of them several where
// events overlap, which the format has no other way to show.
RONDO_API std::string trace_lines(int rank, const std::string& name,
                                  std::vector<Timeline::Event> events);

}  // namespace rondo
