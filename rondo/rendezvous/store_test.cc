// What every store has to do, run over each kind.
#include "rondo/rendezvous/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "rondo/rendezvous/store_rules.h"
#include "rondo/rendezvous/tcp_store.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Deadline soon() { return Deadline(seconds(20)); }

// Makes stores that see the same keys, as the ranks of a job would.
class Family {
 public:
  virtual ~Family() = default;
  virtual std::shared_ptr<Store> open() = 0;
};

class MemoryFamily : public Family {
 public:
  std::shared_ptr<Store> open() override { return store_; }

 private:
  std::shared_ptr<Store> store_ = make_memory_store();
};

class PrefixFamily : public Family {
 public:
  PrefixFamily() { store_->set("a", "outside the prefix").value(); }
  std::shared_ptr<Store> open() override { return prefix_store(store_, "p"); }

 private:
  std::shared_ptr<Store> store_ = make_memory_store();
};

class FileFamily : public Family {
 public:
  FileFamily() {
    char folder[] = "/tmp/rondo-store-test-XXXXXX";
    folder_ = ::mkdtemp(folder);
  }
  ~FileFamily() override { std::filesystem::remove_all(folder_); }
  std::shared_ptr<Store> open() override {
    return open_file_store(folder_).value();
  }

 private:
  std::string folder_;
};

class TcpFamily : public Family {
 public:
  std::shared_ptr<Store> open() override {
    return connect_tcp_store("127.0.0.1", server_->address().port(), "secret",
                             soon())
        .value();
  }

 private:
  std::unique_ptr<TcpStoreServer> server_ =
      TcpStoreServer::start(SocketAddress::parse("127.0.0.1:0").value(), {},
                            "secret")
          .value();
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Family>()> make;
};

class AnyStore : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Family> family_ = GetParam().make();
  std::shared_ptr<Store> store_ = family_->open();
};

TEST_P(AnyStore, WhatOneSetsAnotherGets) {
  auto other = family_->open();
  store_->set("a", "1").value();
  EXPECT_EQ(other->get("a", soon()).value(), "1");
  store_->set("a", "2").value();
  EXPECT_EQ(other->get("a", soon()).value(), "2");
}

TEST_P(AnyStore, KeysAndValuesAreAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (const std::string& key : {std::string("a/b/../c"), std::string("."),
                                 bytes, std::string(kMaxKeySize - 2, 'k'),
                                 std::string("%41"), std::string("\0x", 2)}) {
    store_->set(key, bytes + key).value();
    EXPECT_EQ(store_->get(key, soon()).value(), bytes + key);
  }
  store_->set("empty", "").value();
  EXPECT_EQ(store_->get("empty", soon()).value(), "");
}

TEST_P(AnyStore, LimitsAreErrorsNotTruncation) {
  EXPECT_EQ(store_->set(std::string(kMaxKeySize + 1, 'k'), "").code(),
            Code::kInvalidArgument);
  const std::string large(kMaxValueSize, 'v');
  store_->set("large", large).value();
  EXPECT_TRUE(store_->get("large", soon()).value() == large);
  EXPECT_EQ(store_->set("larger", large + "v").code(), Code::kInvalidArgument);
  EXPECT_EQ(store_->get("larger", Deadline(milliseconds(0))).status().code(),
            Code::kTimeout);
}

TEST_P(AnyStore, GetWaitsForTheSet) {
  auto other = family_->open();
  std::thread setter([&] { other->set("later", "x").value(); });
  EXPECT_EQ(store_->get("later", soon()).value(), "x");
  setter.join();
}

TEST_P(AnyStore, AWaitingGetDoesNotKeepOtherThreads) {
  std::thread getter(
      [&] { EXPECT_EQ(store_->get("b", soon()).value(), "from a"); });
  std::thread chained(
      [&] { store_->set("b", store_->get("a", soon()).value()).value(); });
  store_->set("a", "from a").value();
  getter.join();
  chained.join();
}

TEST_P(AnyStore, GetEndsAtItsDeadlineAndNamesTheKey) {
  const auto start = Clock::now();
  const auto result = store_->get("absent", Deadline(milliseconds(60)));
  EXPECT_EQ(result.status().code(), Code::kTimeout);
  EXPECT_THAT(result.status().message(), HasSubstr("absent"));
  EXPECT_THAT(result.status().message(), HasSubstr(store_->name()));
  EXPECT_GE(Clock::now() - start, milliseconds(60));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  store_->set("a", "goes on").value();
  EXPECT_EQ(store_->get("a", soon()).value(), "goes on");
}

TEST_P(AnyStore, CountersAddUpFromManyThreads) {
  constexpr int kThreads = 4, kAdds = 25;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([store = family_->open()] {
      for (int i = 0; i < kAdds; ++i) store->add("n", 2).value();
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(store_->add("n", -1).value(), 2 * kThreads * kAdds - 1);
  EXPECT_EQ(store_->get("n", soon()).value(), "199");
  EXPECT_EQ(store_->add("n", INT64_MAX).status().code(),
            Code::kInvalidArgument);
  store_->set("text", "4x").value();
  EXPECT_EQ(store_->add("text", 1).status().code(), Code::kInvalidArgument);
}

TEST_P(AnyStore, RemoveForgets) {
  store_->set("a", "1").value();
  store_->remove("a").value();
  store_->remove("a").value();
  EXPECT_EQ(store_->get("a", Deadline(milliseconds(0))).status().code(),
            Code::kTimeout);
}

INSTANTIATE_TEST_SUITE_P(
    Stores, AnyStore,
    testing::Values(
        Kind{"memory", [] { return std::make_unique<MemoryFamily>(); }},
        Kind{"prefix", [] { return std::make_unique<PrefixFamily>(); }},
        Kind{"file", [] { return std::make_unique<FileFamily>(); }},
        Kind{"tcp", [] { return std::make_unique<TcpFamily>(); }}),
    [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace rondo
