#include "rondo/cluster/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>

namespace rondo {
namespace {

using testing::HasSubstr;

// Answers of nobody's calls, with a tensor each.
void answer(const Fd& peer) {
  const Tensor tensor = Tensor::zeros({4});
  const wire::Encoded made =
      wire::encode({.kind = wire::Kind::kAnswer, .tensors = {tensor}}, false);
  std::string bytes = made.front;
  bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
  (void)::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

struct Ends {
  Ends() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    here = Fd(fds[0]);
    peer = Fd(fds[1]);
  }
  Fd here, peer;
};

// Where there is no memory for what comes, whichever thread reads it, who waits
// learns that the connection is over: it is not left locked, and the process
// goes on.
TEST(Connection, WhatIsThrownWhileReadingEndsIt) {
  for (const bool by_caller : {true, false}) {
    Ends ends;
    const auto caller = std::this_thread::get_id();
    std::atomic<int> messages = 0;
    std::atomic<bool> is_over = false;
    std::promise<Status> over;
    const auto connection = Connection::start(
        std::move(ends.here),
        {.peer = "the peer",
         .shares_memory = false,
         .into = [&](uint64_t) -> std::vector<Tensor> {
           if ((std::this_thread::get_id() == caller) == by_caller)
             throw std::bad_alloc();
           return {};
         }},
        [&](const wire::Message&) { ++messages; },
        [&](const Status& why) {
          is_over = true;
          over.set_value(why);
        });
    // Until the thread reads that has no memory: this one only after a few
    // times that it was the only one to wait.
    const Deadline deadline(seconds(30));
    while (!is_over && !deadline.passed()) {
      const int before = messages;
      answer(ends.peer);
      while (messages == before && !is_over && !deadline.passed())
        connection->read_until(
            [&] { return messages != before || is_over.load(); },
            Deadline(seconds(1)));
    }
    ASSERT_TRUE(is_over);
    const Status why = over.get_future().get();
    EXPECT_EQ(why.code(), Code::kResource);
    EXPECT_THAT(why.message(), HasSubstr("the peer"));
    EXPECT_THAT(why.message(), HasSubstr("bad_alloc"));
  }
}

}  // namespace
}  // namespace rondo
