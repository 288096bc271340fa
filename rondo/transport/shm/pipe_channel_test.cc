#include "rondo/transport/shm/pipe_channel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace rondo {
namespace {

struct Pair {
  BoardView a = BoardView::create(2).value();
  BoardView b = BoardView::create(2).value();
  PipeChannel from_a{a, b, 0, 1};
  PipeChannel from_b{b, a, 1, 0};
};

iovec piece(const void* data, size_t bytes) {
  return {const_cast<void*>(data), bytes};
}

TEST(PipeChannel, MessagesOfAnyLengthArriveInOrder) {
  Pair pair;
  // Odd lengths, so that the ring's end falls everywhere; longer than the ring.
  const std::vector<size_t> lengths{1, 63, 64, 65, 100'003, kPipeBytes + 17,
                                    0, 5};
  constexpr int kRounds = 20;
  std::thread sender([&] {
    for (int round = 0; round < kRounds; ++round)
      for (size_t length : lengths) {
        std::vector<unsigned char> data(length);
        std::iota(data.begin(), data.end(), static_cast<unsigned char>(round));
        for (size_t done = 0; done < length;) {
          const iovec rest = piece(data.data() + done, length - done);
          const ssize_t n = pair.from_a.send(0, {&rest, 1});
          done += static_cast<size_t>(n);
          if (n == 0) std::this_thread::yield();
        }
        pair.from_a.end_send(0);
      }
  });
  for (int round = 0; round < kRounds; ++round)
    for (size_t length : lengths) {
      std::vector<unsigned char> data(length);
      for (size_t done = 0; done < length;) {
        const iovec rest = piece(data.data() + done, length - done);
        const ssize_t n = pair.from_b.recv(0, {&rest, 1});
        done += static_cast<size_t>(n);
        if (n == 0) std::this_thread::yield();
      }
      pair.from_b.end_recv(0);
      for (size_t i = 0; i < length; ++i)
        ASSERT_EQ(data[i], static_cast<unsigned char>(round + int(i)))
            << "byte " << i << " of " << length;
    }
  sender.join();
}

TEST(PipeChannel, FullMeansZeroAndPeekedElementsAreNeverCut) {
  Pair pair;
  std::vector<char> block(kPipeBytes);
  const iovec odd = piece(block.data(), 3);
  ASSERT_EQ(pair.from_a.send(0, {&odd, 1}), 3);
  pair.from_a.end_send(0);
  const iovec all = piece(block.data(), block.size());
  const ssize_t sent = pair.from_a.send(0, {&all, 1});
  EXPECT_EQ(static_cast<size_t>(sent), kPipeBytes - 64);
  EXPECT_EQ(pair.from_a.send(0, {&all, 1}), 0);
  char three[3];
  const iovec into = piece(three, 3);
  EXPECT_EQ(pair.from_b.recv(0, {&into, 1}), 3);
  pair.from_b.end_recv(0);
  const auto here = pair.from_b.peek(0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(here.data()) % 64, 0u);
  EXPECT_EQ(here.size() % 64, 0u);
}

TEST(Doorbell, NoRingIsLost) {
  BoardView board = BoardView::create(1).value();
  std::atomic<int> published{0};
  constexpr int kRounds = 2000;
  std::thread waker([&] {
    for (int i = 1; i <= kRounds; ++i) {
      published.store(i, std::memory_order_seq_cst);
      board->doorbell.ring();
      while (published.load(std::memory_order_seq_cst) == i)
        std::this_thread::yield();
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    while (published.load(std::memory_order_seq_cst) != i) {
      const uint32_t ticket = board->doorbell.prepare();
      if (published.load(std::memory_order_seq_cst) == i) {
        board->doorbell.dismiss();
        break;
      }
      // A lost ring would cost these ten minutes, and the test's deadline.
      board->doorbell.sleep(ticket, seconds(600));
    }
    published.store(-i, std::memory_order_seq_cst);
  }
  waker.join();
}

}  // namespace
}  // namespace rondo
