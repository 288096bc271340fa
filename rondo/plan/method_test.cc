#include "rondo/plan/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(Method, ComesBackFromItsName) {
  std::vector<Method> methods = methods_for({.workers = 8, .hosts = 4});
  methods.push_back({.kind = MethodKind::kRing, .factors = true});
  methods.push_back({.kind = MethodKind::kRing, .factors = true, .bf16 = true});
  for (const Method& method : methods)
    EXPECT_EQ(method_named(method.name()).value(), method) << method.name();
}

TEST(Method, OtherNamesAreRefused) {
  for (const char* name : {"", "rings", "ps", "ps 0", "ps -1", "ps x", "ring 2",
                           "ps 2 3", "hybrid 2 beside workers"})
    EXPECT_THAT(method_named(name).status().message(),
                ::testing::HasSubstr(fmt::format("no method \"{}\"", name)));
}

}  // namespace
}  // namespace rondo
