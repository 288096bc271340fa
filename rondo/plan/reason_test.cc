#include "rondo/plan/reason.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Method kTree{.kind = MethodKind::kTree};
constexpr Method kButterfly{.kind = MethodKind::kButterfly};

Network hosts(int count) { return {.workers = count, .hosts = count}; }

// One edge of the tree crosses the uplink, and the ring sends 2D(n-1)/n there.
TEST(Reason, ATreeSparesTheUplinksOfRacks) {
  Network racks = hosts(8);
  racks.racks = 2;
  racks.uplink = 25e6;
  EXPECT_THAT(reason_for(kTree, racks, uniform_workload(250e3)),
              HasSubstr("a rack's uplink carries 1 MB and not 1.75 MB"));
}

TEST(Reason, ATreeForSmallVectorsHasFewRounds) {
  EXPECT_THAT(reason_for(kTree, hosts(8), uniform_workload(100)),
              AllOf(HasSubstr("latencies are 100 %"),
                    HasSubstr("6 rounds of messages and not 14")));
}

// Others than powers of two send whole vectors before and after.
TEST(Reason, OnlyAButterflyOfAPowerOfTwoSendsAsLittleAsTheRing) {
  const Workload workload = uniform_workload(100e3);
  EXPECT_THAT(reason_for(kButterfly, hosts(8), workload),
              HasSubstr("carries as much as in the ring, in 6 rounds"));
  EXPECT_THAT(reason_for(kButterfly, hosts(7), workload),
              AllOf(Not(HasSubstr("as much")), HasSubstr("6 rounds")));
}

// Latencies are nothing there, and the busiest link carries more.
TEST(Reason, NoneIsMadeUp) {
  EXPECT_THAT(reason_for(kTree, hosts(8), uniform_workload(100e6)),
              HasSubstr("no other one is quicker"));
}

// Of rows, servers get fewer bytes than the others around a ring.
TEST(Reason, ARingDoesNotSendTheLeastOfRows) {
  Workload workload;
  workload.buckets.push_back({.bytes = 1e6,
                              .ready = 1,
                              .gather = true,
                              .rows = 1000,
                              .table_rows = 1e6,
                              .index_bytes = 8});
  const Method ring{.kind = MethodKind::kRing};
  EXPECT_THAT(reason_for(ring, hosts(4), uniform_workload(1e6)),
              HasSubstr("the least bytes"));
  EXPECT_THAT(
      reason_for(ring, hosts(4), workload),
      AllOf(HasSubstr("no other one is quicker"), Not(HasSubstr("least"))));
}

TEST(Reason, OfServersBesideWorkers) {
  const Method servers{
      .kind = MethodKind::kServers, .spare = 8, .beside = true};
  EXPECT_THAT(reason_for(servers, hosts(8), uniform_workload(1e6)),
              AllOf(HasSubstr("by itself"), HasSubstr("as much as in the ring"),
                    HasSubstr("2 rounds of messages and not 14")));
}

TEST(Reason, RingsBetweenHostsAreShorter) {
  const Network network{.workers = 8, .hosts = 2};
  EXPECT_THAT(reason_for({.kind = MethodKind::kHierarchical}, network,
                         uniform_workload(1e6)),
              HasSubstr("2 members and not 8"));
}

}  // namespace
}  // namespace rondo
