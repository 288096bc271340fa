// Calls whose answer begins and does not go on: they end by their deadline,
// whoever reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>

#include "rondo/cluster/raw_server.h"

namespace rondo {
namespace {

using testing::HasSubstr;

constexpr uint32_t kEcho = 1, kStall = 2;
// After a few calls in a row their thread reads the answers itself.
constexpr int kInARow = 20;

Deadline soon() { return Deadline(seconds(30)); }

// Exactly so many bytes; false at the end of the connection.
bool read_all(const Fd& fd, char* to, size_t bytes) {
  while (bytes > 0) {
    pollfd p{fd.get(), POLLIN, 0};
    ::poll(&p, 1, -1);
    const ssize_t n = ::recv(fd.get(), to, bytes, 0);
    if (n <= 0) return false;
    to += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

// Unless whoever it is for has gone.
void send_some(const Fd& fd, std::string_view bytes) {
  (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

Tensor counting(int64_t count) {
  Tensor tensor = Tensor::empty({count});
  float next = 0;
  for (float& x : tensor.span<float>()) x = next++;
  return tensor;
}

// An answer with a tensor, as it travels.
std::string answer_to(uint64_t id) {
  const wire::Encoded made = wire::encode({.kind = wire::Kind::kAnswer,
                                           .id = id,
                                           .body = "here",
                                           .tensors = {counting(100)}},
                                          false);
  std::string bytes = made.front;
  for (const Tensor& tensor : made.tail)
    bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
  return bytes;
}

// Answers calls; of the answer to a call of kStall it sends `part`, and the
// rest when it is told to. No tensors come with the calls.
class Stalling {
 public:
  explicit Stalling(double part)
      : part_(part), server_([this](const Fd& fd) { serve(fd); }) {}
  ~Stalling() {
    if (!told_) go_on();
  }
  LinkTarget target() const { return server_.target(); }
  void go_on() {
    told_ = true;
    rest_.set_value();
  }

 private:
  void serve(const Fd& fd) {
    char bytes[wire::kHeaderBytes];
    while (read_all(fd, bytes, sizeof bytes)) {
      const auto header = wire::decode_header({bytes, sizeof bytes}).value();
      std::string head(header.head_bytes, '\0');
      if (!read_all(fd, head.data(), head.size())) return;
      if (header.kind == wire::Kind::kCall) answer(fd, header);
    }
  }
  void answer(const Fd& fd, const wire::Header& call) {
    const std::string whole = answer_to(call.id);
    size_t first = whole.size();
    if (call.code == kStall)
      first = static_cast<size_t>(part_ * static_cast<double>(first));
    send_some(fd, whole.substr(0, first));
    if (first == whole.size()) return;
    rest_.get_future().wait();
    send_some(fd, whole.substr(first));
  }

  const double part_;
  bool told_ = false;
  std::promise<void> rest_;
  RawServer server_;
};

void call_in_a_row(PeerLink& link) {
  for (int i = 0; i < kInARow; ++i) {
    const auto answer = link.call({kEcho, "", {}}, soon());
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    ASSERT_EQ(answer->body, "here");
    ASSERT_EQ(answer->tensors[0].span<float>()[99], 99);
  }
}

// Of the answer: of its header, of its head, of its tensor.
class LinkStallPartTest : public testing::TestWithParam<double> {};

TEST_P(LinkStallPartTest, EndsACallByItsDeadlineAndNotTheLink) {
  Stalling peer(GetParam());
  auto link =
      PeerLink::connect(peer.target(), {.caller = "test"}, soon()).value();
  call_in_a_row(*link);
  const Status late =
      link->call({kStall, "", {}}, Deadline(seconds(2))).status();
  EXPECT_EQ(late.code(), Code::kTimeout) << late.message();
  EXPECT_THAT(late.message(), HasSubstr("/job:ps/task:0"));
  EXPECT_THAT(late.message(), HasSubstr("a part of a message has come"));
  // It was only slow: another thread reads the rest of the answer, which nobody
  // waits for any more, and the link serves as before.
  peer.go_on();
  call_in_a_row(*link);
}

TEST(LinkStall, ForGoodEndsTheLink) {
  Stalling peer(0.6);
  auto link =
      PeerLink::connect(peer.target(),
                        {.caller = "test", .patience = seconds(3)}, soon())
          .value();
  call_in_a_row(*link);
  EXPECT_FALSE(link->call({kStall, "", {}}, Deadline(seconds(0.05))).ok());
  const Status lost = link->call({kEcho, "", {}}, soon()).status();
  EXPECT_EQ(lost.code(), Code::kPeerLost);
  EXPECT_THAT(lost.message(), HasSubstr("/job:ps/task:0 has not answered for"));
  EXPECT_EQ(link->failure().code(), Code::kPeerLost);
}

INSTANTIATE_TEST_SUITE_P(Parts, LinkStallPartTest,
                         testing::Values(0.03, 0.1, 0.6));

}  // namespace
}  // namespace rondo
