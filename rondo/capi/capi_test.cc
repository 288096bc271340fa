// What the C program beside this file cannot see: numbers that must equal those
// of C++, refused arguments, other versions' structs, ranks as threads.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "rondo/capi/rondo_c.h"
#include "rondo/collectives/communicator.h"

namespace rondo {
namespace {

TEST(Capi, NumbersAreThoseOfCpp) {
  const std::pair<int, Code> codes[] = {
      {RONDO_OK, Code::kOk},
      {RONDO_INVALID_ARGUMENT, Code::kInvalidArgument},
      {RONDO_MISMATCH, Code::kMismatch},
      {RONDO_PEER_LOST, Code::kPeerLost},
      {RONDO_TIMEOUT, Code::kTimeout},
      {RONDO_CANCELLED, Code::kCancelled},
      {RONDO_UNAVAILABLE, Code::kUnavailable},
      {RONDO_PERMISSION, Code::kPermission},
      {RONDO_RESOURCE, Code::kResource},
      {RONDO_INTERNAL, Code::kInternal},
      {RONDO_OUT_OF_RANGE, Code::kOutOfRange}};
  for (auto [number, code] : codes) {
    EXPECT_EQ(number, static_cast<int>(code));
    EXPECT_EQ(rondo_status_name(number), code_name(code));
  }
  const char* dtypes[] = {"f64", "f32", "f16", "bf16", "i64",
                          "i32", "i16", "i8",  "u8",   "bool"};
  const int dtype_numbers[] = {RONDO_F64, RONDO_F32, RONDO_F16, RONDO_BF16,
                               RONDO_I64, RONDO_I32, RONDO_I16, RONDO_I8,
                               RONDO_U8,  RONDO_BOOL};
  for (int i = 0; i < kDTypeCount; ++i)
    EXPECT_EQ(static_cast<int>(*dtype_from_name(dtypes[i])), dtype_numbers[i]);
  const char* ops[] = {"sum",  "avg", "prod", "min", "max",
                       "band", "bor", "bxor", "user"};
  const int op_numbers[] = {RONDO_SUM, RONDO_AVG,  RONDO_PROD,
                            RONDO_MIN, RONDO_MAX,  RONDO_BAND,
                            RONDO_BOR, RONDO_BXOR, RONDO_USER};
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(static_cast<int>(*reduce_op_from_name(ops[i])), op_numbers[i]);
  EXPECT_STREQ(rondo_status_name(77), "unknown");
}

class Alone : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(rondo_store_open("memory", 0, 1, nullptr, 1, &store_), RONDO_OK);
    ASSERT_EQ(rondo_connect(store_, 0, 1, nullptr, &comm_), RONDO_OK);
  }
  void TearDown() override {
    rondo_comm_free(comm_);
    rondo_store_free(store_);
  }
  void refuses(rondo_status_t got, const std::string& text) {
    EXPECT_EQ(got, RONDO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(rondo_last_error()).find(text), std::string::npos)
        << rondo_last_error();
  }

  rondo_store_t* store_ = nullptr;
  rondo_comm_t* comm_ = nullptr;
  float x_[2] = {1, 2};
};

TEST_F(Alone, RefusesWhatIsNull) {
  refuses(rondo_allreduce(nullptr, x_, x_, 2, RONDO_F32, nullptr),
          "rondo_allreduce: comm is NULL");
  refuses(rondo_allreduce(comm_, nullptr, x_, 2, RONDO_F32, nullptr),
          "no memory");
  refuses(rondo_allgatherv(comm_, x_, x_, nullptr, RONDO_F32, nullptr),
          "rondo_allgatherv: counts is NULL");
  refuses(rondo_barrier_async(comm_, nullptr, nullptr), "work is NULL");
  refuses(rondo_work_wait(nullptr, 0), "work is NULL");
  refuses(rondo_world(nullptr, nullptr), "comm is NULL");
  EXPECT_EQ(rondo_rank(nullptr), -1);
  rondo_comm_free(nullptr);
  rondo_work_free(nullptr);
  rondo_store_free(nullptr);
  rondo_free(nullptr);
}

TEST_F(Alone, RefusesNumbersThatMeanNothing) {
  refuses(rondo_allreduce(comm_, x_, x_, 2, 10, nullptr), "no dtype 10");
  refuses(rondo_allreduce(comm_, x_, x_, 2, -1, nullptr), "no dtype -1");
  refuses(rondo_allgather(comm_, x_, x_, INT64_MIN, RONDO_F32, nullptr),
          "negative");
  rondo_call_options_t options = RONDO_CALL_OPTIONS_INIT;
  options.op = 9;
  refuses(rondo_allreduce(comm_, x_, x_, 2, RONDO_F32, &options),
          "no operator 9");
  options = RONDO_CALL_OPTIONS_INIT;
  options.timeout = -1;
  refuses(rondo_barrier(comm_, &options), "timeout is -1");
  options = RONDO_CALL_OPTIONS_INIT;
  options.op = RONDO_USER;
  refuses(rondo_allreduce(comm_, x_, x_, 2, RONDO_F32, &options), "user");
}

// A program that was built against an older or a newer header.
TEST_F(Alone, TakesStructsOfOtherVersions) {
  rondo_call_options_t options = RONDO_CALL_OPTIONS_INIT;
  options.root = 7;  // not a rank: refused where it is read
  options.struct_size = offsetof(rondo_call_options_t, root);
  EXPECT_EQ(rondo_barrier(comm_, &options), RONDO_OK);
  options.struct_size = 3;
  refuses(rondo_barrier(comm_, &options), "struct_size is 3");

  struct Newer {
    rondo_call_options_t known = RONDO_CALL_OPTIONS_INIT;
    int64_t later = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(rondo_barrier(comm_, &newer.known), RONDO_OK);
  newer.later = 1;
  refuses(rondo_barrier(comm_, &newer.known), "does not have");
}

TEST_F(Alone, TheLastErrorIsTheThreads) {
  refuses(rondo_work_wait(nullptr, 0), "work is NULL");
  std::thread([] { EXPECT_STREQ(rondo_last_error(), ""); }).join();
  refuses(rondo_barrier(nullptr, nullptr), "comm is NULL");
}

TEST(Capi, AStoreThatIsNoStore) {
  rondo_store_t* store = nullptr;
  EXPECT_EQ(rondo_store_open("smoke://signal", 0, 1, nullptr, 1, &store),
            RONDO_INVALID_ARGUMENT);
  EXPECT_EQ(store, nullptr);
}

TEST(Capi, WaitingEndsAndCancelReachesEveryRank) {
  rondo_store_t* store = nullptr;
  ASSERT_EQ(rondo_store_open("memory", 0, 2, nullptr, 1, &store), RONDO_OK);
  auto body = [store](int rank) {
    rondo_comm_t* comm = nullptr;
    ASSERT_EQ(rondo_connect(store, rank, 2, nullptr, &comm), RONDO_OK);
    if (rank == 0) {
      int32_t x = 0, done = 1;
      rondo_work_t* work = nullptr;
      ASSERT_EQ(
          rondo_allreduce_async(comm, &x, &x, 1, RONDO_I32, nullptr, &work),
          RONDO_OK);
      EXPECT_EQ(rondo_work_wait(work, 0.01), RONDO_TIMEOUT);
      EXPECT_EQ(rondo_work_test(work, &done), RONDO_OK);
      EXPECT_EQ(done, 0);
      EXPECT_EQ(rondo_work_cancel(work), RONDO_OK);
      EXPECT_EQ(rondo_work_wait(work, -1), RONDO_CANCELLED);
      rondo_work_free(work);
    } else {
      // Never in that allreduce, and told all the same.
      int32_t x = 0;
      EXPECT_EQ(rondo_recv(comm, &x, 1, RONDO_I32, 0, nullptr),
                RONDO_CANCELLED);
      EXPECT_NE(std::string(rondo_last_error()).find("cancelled by rank 0"),
                std::string::npos)
          << rondo_last_error();
    }
    rondo_comm_free(comm);
  };
  std::thread other(body, 1);
  body(0);
  other.join();
  rondo_store_free(store);
}

TEST(Capi, AnOperatorThatFails) {
  rondo_store_t* store = nullptr;
  ASSERT_EQ(rondo_store_open("memory", 0, 2, nullptr, 1, &store), RONDO_OK);
  auto body = [store](int rank) {
    rondo_comm_t* comm = nullptr;
    ASSERT_EQ(rondo_connect(store, rank, 2, nullptr, &comm), RONDO_OK);
    rondo_call_options_t options = RONDO_CALL_OPTIONS_INIT;
    options.op = RONDO_USER;
    options.reduce_context = &rank;
    options.reduce = [](void* inout, const void* in, int64_t, rondo_dtype_t,
                        void* context) {
      *static_cast<int32_t*>(inout) += *static_cast<const int32_t*>(in);
      return *static_cast<int*>(context) == 1 ? 42 : 0;
    };
    int32_t x = 1;
    const auto status = rondo_allreduce(comm, &x, &x, 1, RONDO_I32, &options);
    EXPECT_EQ(status,
              rank == 1 || status != RONDO_OK ? RONDO_CANCELLED : RONDO_OK);
    EXPECT_TRUE(status != RONDO_OK || x == 2) << x;
    EXPECT_EQ(rondo_barrier(comm, nullptr), RONDO_CANCELLED);
    const std::string error = rondo_last_error();
    EXPECT_NE(error.find("failed on rank 1"), std::string::npos) << error;
    EXPECT_NE(error.find("it returned 42"), std::string::npos) << error;
    rondo_comm_free(comm);
  };
  std::thread other(body, 1);
  body(0);
  other.join();
  rondo_store_free(store);
}

TEST(Capi, AllocatedMemoryIsAligned) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{100000}}) {
    void* memory = rondo_alloc(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, bytes);
    rondo_free(memory);
  }
}

}  // namespace
}  // namespace rondo
