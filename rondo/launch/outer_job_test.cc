#include "rondo/launch/outer_job.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

using Names = std::vector<std::string>;
using Vars = std::map<std::string, std::string>;

TEST(OuterJob, NodeListsAreSpelledOut) {
  EXPECT_EQ(expand_nodelist("login").value(), Names{"login"});
  EXPECT_EQ(expand_nodelist("node[01-03,7],login").value(),
            (Names{"node01", "node02", "node03", "node7", "login"}));
  EXPECT_EQ(expand_nodelist("r[1-2]n[08-10].x").value(),
            (Names{"r1n08.x", "r1n09.x", "r1n10.x", "r2n08.x", "r2n09.x",
                   "r2n10.x"}));
}

TEST(OuterJob, BadNodeListsAreErrors) {
  for (const char* text : {"", "a,,b", "n[1", "n[3-1]", "n[x]", "n[]",
                           "n[0-99999999]", "n[1-60000]m[1-60000]"})
    EXPECT_FALSE(expand_nodelist(text).ok()) << text;
}

TEST(OuterJob, CountsRepeat) {
  EXPECT_EQ(expand_counts("4(x2),3").value(), (std::vector<int>{4, 4, 3}));
  for (const char* text : {"", "4(x2", "x", "0", "-1", "4(x)"})
    EXPECT_FALSE(expand_counts(text).ok()) << text;
}

TEST(OuterJob, SlurmHostsHaveTheirTasks) {
  const Env env(Vars{{"SLURM_JOB_NODELIST", "n[1-3]"},
                     {"SLURM_TASKS_PER_NODE", "4(x2),2"}});
  const auto hosts = slurm_hosts(env).value();
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[2].name, "n3");
  EXPECT_EQ(hosts[2].slots, 2);
}

TEST(OuterJob, RanksAllocationsAndNeither) {
  EXPECT_EQ(detect_outer_job(Env(Vars{})), OuterJob::kNone);
  EXPECT_EQ(detect_outer_job(Env(Vars{{"OMPI_COMM_WORLD_RANK", "0"}})),
            OuterJob::kRank);
  EXPECT_EQ(detect_outer_job(Env(Vars{{"PMI_RANK", "1"}})), OuterJob::kRank);
  const auto in_slurm = [](Vars more) {
    more.insert({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n1"}});
    return detect_outer_job(Env(more));
  };
  EXPECT_EQ(in_slurm({}), OuterJob::kSlurmAllocation);
  EXPECT_EQ(in_slurm({{"SLURM_PROCID", "0"}}), OuterJob::kSlurmAllocation);
  EXPECT_EQ(in_slurm({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "4294967290"}}),
            OuterJob::kSlurmAllocation);
  EXPECT_EQ(in_slurm({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}}),
            OuterJob::kRank);
}

}  // namespace
}  // namespace rondo
