#include "rondo/graph/origin.h"

#include <utility>

namespace rondo {
namespace {

// Of the thread and not of a graph: who calls gradients() may not know the
// graph yet, and one thread at a time builds one.
thread_local std::string line_of_thread;

}  // namespace

OriginScope::OriginScope(std::string line) : before_(line_of_thread) {
  if (!line.empty()) line_of_thread = std::move(line);
}

OriginScope::~OriginScope() { line_of_thread = std::move(before_); }

const std::string& OriginScope::current() { return line_of_thread; }

}  // namespace rondo
