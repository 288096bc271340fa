// How calls are answered that take a while.
#pragma once

#include <utility>

#include "rondo/base/attempt.h"
#include "rondo/cluster/link.h"
#include "rondo/runtime/run_threads.h"

namespace rondo {

// Answers with what f() gives, a Result<LinkAnswer>, on a thread of its own. No
// call, whatever it brings, ends the process by what it makes f() throw.
template <class F>
void answer_on_thread(RunThreads& threads, LinkServer::Answer answer, F f) {
  threads.start([answer = std::move(answer), f = std::move(f)] {
    Result<LinkAnswer> result = LinkAnswer();
    const Status thrown = attempt([&] {
      result = f();
      return Status();
    });
    answer(thrown.ok() ? std::move(result) : Result<LinkAnswer>(thrown));
  });
}

}  // namespace rondo
