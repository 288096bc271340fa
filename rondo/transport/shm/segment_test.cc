#include "rondo/transport/shm/segment.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace rondo {
namespace {

// Runs `body` in a child process and returns its exit code.
template <class Body>
int in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST(Segment, AnotherProcessSeesAndWrites) {
  auto mine = Segment::create(1 << 20).value();
  std::strcpy(mine->data() + 4096, "ping");
  const SegmentHandle handle = mine->handle();
  EXPECT_EQ(in_child([&] {
              auto theirs = Segment::attach(handle);
              if (!theirs.ok()) return 1;
              if (std::strcmp((*theirs)->data() + 4096, "ping") != 0) return 2;
              std::strcpy((*theirs)->data() + 4096, "pong");
              return 0;
            }),
            0);
  EXPECT_STREQ(mine->data() + 4096, "pong");
}

TEST(Segment, AThreadOfTheSameProcessGetsTheSameMapping) {
  auto mine = Segment::create(4096).value();
  auto again = Segment::attach(mine->handle()).value();
  EXPECT_EQ(mine->data(), again->data());
}

TEST(Segment, TheWrongFileIsRefused) {
  auto mine = Segment::create(4096).value();
  SegmentHandle handle = mine->handle();
  handle.nonce ^= 1;
  auto result = Segment::attach(handle);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("is not the peer's memory"),
            std::string::npos);
  handle = mine->handle();
  handle.process ^= 1;
  handle.bytes = 1 << 20;  // more than there is
  EXPECT_FALSE(Segment::attach(handle).ok());
  handle.fd = 9999;
  EXPECT_FALSE(Segment::attach(handle).ok());
}

TEST(Segment, WithoutAMemfdItIsPrivate) {
  EXPECT_EQ(in_child([] {
              const rlimit none{0, 0};
              setrlimit(RLIMIT_FSIZE, &none);
              auto mine = Segment::create(4096);
              if (!mine.ok()) return 1;
              if ((*mine)->handle().fd >= 0) return 2;
              (*mine)->data()[4000] = 1;
              // Threads still share it.
              if (!Segment::attach((*mine)->handle()).ok()) return 3;
              SegmentHandle elsewhere = (*mine)->handle();
              elsewhere.process ^= 1;
              return Segment::attach(elsewhere).ok() ? 4 : 0;
            }),
            0);
}

TEST(Segment, StaysMappedWhenTheOwnerIsGone) {
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    auto mine = Segment::create(4096).value();
    std::strcpy(mine->data() + 64, "legacy");
    const SegmentHandle handle = mine->handle();
    char byte = 0;
    if (write(ready[1], &handle, sizeof handle) < 0) _exit(1);
    if (read(done[0], &byte, 1) < 0) _exit(1);
    _exit(0);
  }
  SegmentHandle handle;
  ASSERT_EQ(read(ready[0], &handle, sizeof handle),
            static_cast<ssize_t>(sizeof handle));
  auto theirs = Segment::attach(handle).value();
  ASSERT_EQ(write(done[1], "x", 1), 1);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_STREQ(theirs->data() + 64, "legacy");
}

}  // namespace
}  // namespace rondo
