#include "rondo/plan/closed_forms.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

// Document 000: VGG-16 on four hosts with 1 Gbit/s, 0.55 s a step alone.
constexpr double kBytes = 553.36e6;
constexpr double kRate = 125e6;
constexpr double kStep = 0.55;

TEST(ClosedForms, GiveTheDocumentsNumbers) {
  const double transfer = ring_seconds(kBytes, 4, kRate);
  const double efficiency = efficiency_of(transfer, kStep);
  EXPECT_NEAR(efficiency, 0.0765, 0.00005);
  EXPECT_NEAR(kStep / efficiency, 7.19, 0.005);
  EXPECT_NEAR(ring_rate_for(0.9, kBytes, 4, kStep), 13582e6, 1e6);
}

// Its printed formula, P = 1 / (2D(n-1) / (n S Ts)), lacks the "1 +": it gives
// 0.083, which is not what the document computes with.
TEST(ClosedForms, ThePrintedFormulaIsAnother) {
  const double printed = 1 / (ring_seconds(kBytes, 4, kRate) / kStep);
  EXPECT_NEAR(printed, 0.0828, 0.0001);
  EXPECT_LT(efficiency_of(ring_seconds(kBytes, 4, kRate), kStep), printed);
}

TEST(ClosedForms, TheRateForAnEfficiencyGivesIt) {
  for (const double efficiency : {0.5, 0.75, 0.9, 0.95}) {
    const double rate = ring_rate_for(efficiency, 1e8, 16, 0.2);
    EXPECT_NEAR(efficiency_of(ring_seconds(1e8, 16, rate), 0.2), efficiency,
                1e-12);
  }
}

TEST(ClosedForms, OneWorkerSendsNothing) {
  EXPECT_EQ(ring_seconds(1e9, 1, kRate), 0);
  EXPECT_EQ(efficiency_of(0, kStep), 1);
}

}  // namespace
}  // namespace rondo
