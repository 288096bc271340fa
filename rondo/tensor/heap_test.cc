#include "rondo/tensor/heap.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rondo/tensor/heap_file.h"

namespace rondo {
namespace {

SharedHeap& heap() { return SharedHeap::process(); }

// Bytes of memory that the heap's file takes.
size_t resident() {
  struct stat info {};
  EXPECT_EQ(fstat(heap().fd(), &info), 0);
  return static_cast<size_t>(info.st_blocks) * 512;
}

// Runs `body` in a forked process and says whether it returned true.
template <class Body>
bool in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SharedHeap, AlignsBlocks) {
  for (size_t bytes : {0, 1, 63, 64, 65, 4096, 65535, 65536, 65537, 1 << 20}) {
    void* p = heap().allocate(bytes);
    ASSERT_NE(p, nullptr);
    const auto at = reinterpret_cast<uintptr_t>(p);
    EXPECT_EQ(at % (bytes >= 65536 ? 4096 : 64), 0u) << bytes;
    std::memset(p, 1, bytes);
    heap().free(p);
  }
}

TEST(SharedHeap, EmptyBlocksAreUnique) {
  std::set<void*> seen;
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(seen.insert(heap().allocate(0)).second);
  for (void* p : seen) heap().free(p);
  heap().free(nullptr);
}

TEST(SharedHeap, UsesFreedMemoryAgain) {
  void* a = heap().allocate(3 << 20);
  heap().free(a);
  void* b = heap().allocate(3 << 20);
  EXPECT_EQ(a, b);
  heap().free(b);
}

TEST(SharedHeap, HasNoMoreThanItHas) {
  EXPECT_EQ(heap().allocate(heap().bytes()), nullptr);
  EXPECT_EQ(heap().allocate(SIZE_MAX), nullptr);
}

TEST(SharedHeap, OffsetsAreOfTheFile) {
  ASSERT_TRUE(heap().shareable());
  auto* p = static_cast<char*>(heap().allocate(1000));
  const auto offset = heap().offset_of(p, 1000);
  ASSERT_TRUE(offset);
  EXPECT_GE(*offset, 4096u);
  EXPECT_EQ(heap().base() + *offset, p);
  std::memcpy(p, "written", 8);
  char read[8];
  ASSERT_EQ(pread(heap().fd(), read, 8, static_cast<off_t>(*offset)), 8);
  EXPECT_STREQ(read, "written");
  int local = 0;
  EXPECT_FALSE(heap().offset_of(&local, sizeof(local)));
  EXPECT_FALSE(heap().offset_of(p, heap().bytes()));
  heap().free(p);
}

TEST(SharedHeap, PeersMapItAndWriteInPlace) {
  ASSERT_TRUE(heap().shareable());
  auto* p = static_cast<char*>(heap().allocate(100000));
  std::strcpy(p, "from the parent");
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" +
                           std::to_string(heap().fd());
  const uint64_t nonce = heap().nonce();
  const size_t bytes = heap().bytes();
  const uint64_t offset = *heap().offset_of(p, 100000);
  EXPECT_TRUE(in_child([&] {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return false;
    auto* base = static_cast<char*>(map);
    if (std::memcmp(base, &nonce, sizeof(nonce)) != 0) return false;
    if (std::strcmp(base + offset, "from the parent") != 0) return false;
    std::strcpy(base + offset, "from the child");
    return true;
  }));
  EXPECT_STREQ(p, "from the child");
  heap().free(p);
}

TEST(SharedHeap, AForkedProcessHasAHeapOfItsOwn) {
  ASSERT_TRUE(heap().shareable());
  auto* p = static_cast<char*>(heap().allocate(100));
  std::strcpy(p, "parent");
  const uint64_t nonce = heap().nonce();
  EXPECT_TRUE(in_child([&] {
    if (std::strcmp(p, "parent") != 0) return false;
    std::strcpy(p, "child");
    // The child's blocks do not lie in the parent's file.
    if (!heap().shareable() || heap().nonce() == nonce) return false;
    heap().free(p);
    void* q = heap().allocate(100);
    if (!heap().offset_of(q, 100)) return false;
    std::memset(q, 0, 100);
    heap().free(q);
    return std::strcmp(p, "child") == 0;
  }));
  EXPECT_STREQ(p, "parent");
  heap().free(p);
}

TEST(SharedHeap, KeepsAGibibyteOfFreedMemoryAtMost) {
  ASSERT_TRUE(heap().shareable());
  // Sparse: one byte of each is touched.
  constexpr size_t kBytes = size_t{640} << 20;
  const size_t before = resident();
  auto* a = static_cast<char*>(heap().allocate(kBytes));
  auto* b = static_cast<char*>(heap().allocate(kBytes));
  ASSERT_TRUE(a != nullptr && b != nullptr);
  a[kBytes / 2] = b[kBytes / 2] = 1;
  EXPECT_GE(resident(), before + 8192);
  heap().free(a);
  EXPECT_GE(resident(), before + 8192);
  heap().free(b);
  EXPECT_LT(resident(), before + 8192);
}

TEST(SharedHeap, ServesManyThreads) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::mt19937 random(t);
      std::vector<std::pair<unsigned char*, size_t>> mine;
      for (int turn = 0; turn < 2000; ++turn) {
        if (mine.size() > 20) {
          const auto [p, bytes] = mine[random() % 20];
          EXPECT_TRUE(p[0] == t && p[bytes - 1] == t);
          std::erase(mine, std::pair{p, bytes});
          heap().free(p);
        }
        const size_t bytes = 1 + random() % (turn % 10 == 0 ? 200000 : 2000);
        auto* p = static_cast<unsigned char*>(heap().allocate(bytes));
        p[0] = p[bytes - 1] = static_cast<unsigned char>(t);
        mine.emplace_back(p, bytes);
      }
      for (const auto& [p, bytes] : mine) heap().free(p);
    });
  for (auto& thread : threads) thread.join();
}

// In processes that start afresh, since the heap is made once.
class SharedHeapDeathTest : public testing::Test {
 protected:
  SharedHeapDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// 0 when all is well.
int use_private_heap() {
  // Some bytes, for the log line: standard error is a file here.
  const rlimit limit{4096, 4096};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 7;
  if (heap().shareable()) return 1;
  auto* small = static_cast<char*>(heap().allocate(100));
  auto* large = static_cast<char*>(heap().allocate(1 << 20));
  auto* none = static_cast<char*>(heap().allocate(0));
  if (!small || !large || !none) return 2;
  if (reinterpret_cast<uintptr_t>(small) % 64 != 0) return 3;
  if (reinterpret_cast<uintptr_t>(large) % 4096 != 0) return 4;
  if (heap().allocate(SIZE_MAX) != nullptr) return 5;
  if (heap().offset_of(small, 100)) return 6;
  std::memset(small, 1, 100);
  std::memset(large, 1, 1 << 20);
  for (char* p : {small, large, none}) heap().free(p);
  return 0;
}

TEST_F(SharedHeapDeathTest, IsPrivateWhereFilesMayNotGrow) {
  EXPECT_EXIT(_exit(use_private_heap()), testing::ExitedWithCode(0),
              "no shared heap.*ulimit -f");
}

TEST_F(SharedHeapDeathTest, EndsTheProcessWhenABlockIsFreedTwice) {
  EXPECT_DEATH(
      {
        void* p = heap().allocate(100);
        heap().free(p);
        heap().free(p);
      },
      "freed twice");
}

TEST(HeapFile, ShrinksToTheLimitOnFileSizes) {
  EXPECT_TRUE(in_child([] {
    const rlimit limit{size_t{3} << 30, size_t{3} << 30};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const auto file = make_heap_file(size_t{8} << 30);
    return file.ok() && file->bytes == size_t{2} << 30;
  }));
}

TEST(HeapFile, IsAtLeastAGibibyte) {
  EXPECT_GE(wanted_heap_bytes(), kLeastHeapBytes);
  EXPECT_EQ(wanted_heap_bytes() % kLeastHeapBytes, 0u);
}

}  // namespace
}  // namespace rondo
