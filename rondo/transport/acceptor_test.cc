#include "rondo/transport/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "rondo/transport/endpoint.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RONDO_CHECKS_NEED_DESCRIPTORS
#endif
#endif

namespace rondo {
namespace {

Duration cpu_time_of_process() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

// Takes every descriptor this process may have until it goes.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = std::min<rlim_t>(256, before_.rlim_cur);
    setrlimit(RLIMIT_NOFILE, &low);
    for (;;) {
      Fd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd.valid()) break;
      taken_.push_back(std::move(fd));
    }
  }
  ~NoDescriptorsLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<Fd> taken_;
};

int count_of(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1))
    ++n;
  return n;
}

// A listener stays readable while nothing can be accepted from it: whoever
// polls it without a pause spins.
TEST(Acceptor, PausesWhileThereAreNoDescriptors) {
#ifdef RONDO_CHECKS_NEED_DESCRIPTORS
  GTEST_SKIP()
      << "clang's check of an object's type opens a pipe, and where it "
         "cannot takes the object for another";
#endif
  auto endpoint = Endpoint::start({.interface = "lo"}).value();
  const SocketAddress address = endpoint->card().addresses[0];
  Fd client(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(client.valid());
  Duration used{};
  constexpr int kWatchedMs = 500;
  testing::internal::CaptureStderr();
  {
    NoDescriptorsLeft none;
    ASSERT_EQ(connect(client.get(), address.get(), address.length()), 0);
    const Duration before = cpu_time_of_process();
    poll(nullptr, 0, kWatchedMs);
    used = cpu_time_of_process() - before;
  }
  // The server speaks first, once it has accepted.
  char challenge[4];
  const Status answered =
      recv_all(client.get(), challenge, Deadline(seconds(10)));
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(answered.ok()) << answered.to_string();
  EXPECT_LT(used, std::chrono::milliseconds(kWatchedMs / 10));
  EXPECT_EQ(count_of(logged, "cannot accept a connection"), 1) << logged;
}

}  // namespace
}  // namespace rondo
