#include "rondo/runtime/gradient_coverage.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>

#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"

namespace rondo {
namespace {

class Coverage final : public testing::Environment {
 public:
  void add(const std::set<std::string_view>& operations) {
    const std::lock_guard lock(mutex_);
    checked_.insert(operations.begin(), operations.end());
  }

  void TearDown() override {
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    // Some tests alone check some gradients alone.
    if (all.test_to_run_count() != all.total_test_count()) return;
    const std::lock_guard lock(mutex_);
    for (const OpDef* op : OpRegistry::process().all())
      if (op->gradient && !checked_.contains(op->name))
        ADD_FAILURE() << op->name
                      << " has a gradient, but no test compares it with "
                         "finite differences: use check_and_record";
  }

 private:
  std::mutex mutex_;
  std::set<std::string_view> checked_;  // guarded by mutex_
};

// GoogleTest owns it.
Coverage& coverage() {
  static auto* const made =
      dynamic_cast<Coverage*>(testing::AddGlobalTestEnvironment(new Coverage));
  return *made;
}
// So that it is there even where no test checks anything.
[[maybe_unused]] const Coverage& registered = coverage();

TEST(GradientCheck, SaysWhatItChecked) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = {2}});
  Value unused = tanh(x);
  Value stopped = stop_gradient(exp(x));
  Value y = x * x + stopped + cast(cast(sin(x), DType::kI32), DType::kF64);
  const auto check = check_gradient(
      y, {{x, Tensor::of<double>({2}, std::vector<double>{.3, .7})}});
  const std::set<std::string_view> expected{"Add", "Mul"};
  EXPECT_EQ(check.operations, expected);
  EXPECT_TRUE(unused);
}

}  // namespace

GradientCheck check_and_record(Value y, const std::vector<Feed>& at,
                               Node* initializer) {
  GradientCheck check = check_gradient(y, at, initializer);
  coverage().add(check.operations);
  return check;
}

}  // namespace rondo
