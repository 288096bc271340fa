#include "rondo/rendezvous/job_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rondo/rendezvous/slurm_nodes.h"
#include "rondo/rendezvous/store_url.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

JobEnv read(const Variables& variables) {
  return JobEnv::from(Env(variables)).value();
}

std::string failure(const Variables& variables) {
  const auto job = JobEnv::from(Env(variables));
  EXPECT_EQ(job.status().code(), Code::kInvalidArgument);
  return job.status().message();
}

TEST(JobEnv, NothingSetIsAJobOfOne) {
  const JobEnv job = read({});
  EXPECT_EQ(job.rank, 0);
  EXPECT_EQ(job.size, 1);
  EXPECT_EQ(job.launcher, "none");
  EXPECT_EQ(job.store, "memory");
}

TEST(JobEnv, RondosOwnVariablesComeFirst) {
  const JobEnv job = read({{"RONDO_RANK", "2"},
                           {"RONDO_WORLD_SIZE", "4"},
                           {"RONDO_LOCAL_RANK", "1"},
                           {"RONDO_STORE", "tcp://h:4000"},
                           {"RONDO_TOKEN", "t"},
                           {"OMPI_COMM_WORLD_RANK", "0"},
                           {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_EQ(job.rank, 2);
  EXPECT_EQ(job.size, 4);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.local_size, 0);
  EXPECT_EQ(job.launcher, "rondo");
  EXPECT_EQ(job.store, "tcp://h:4000");
  EXPECT_EQ(job.token, "t");
}

TEST(JobEnv, NumbersOutOfRangeNameTheVariable) {
  const auto with = [](const char* rank, const char* size) {
    return failure({{"RONDO_RANK", rank},
                    {"RONDO_WORLD_SIZE", size},
                    {"RONDO_STORE", "file:///x"}});
  };
  EXPECT_THAT(with("5", "4"),
              AllOf(HasSubstr("RONDO_RANK=5"), HasSubstr("0 to 3"),
                    HasSubstr("RONDO_WORLD_SIZE=4")));
  EXPECT_THAT(with("4", "4"), HasSubstr("RONDO_RANK=4"));
  EXPECT_THAT(with("-1", "4"), HasSubstr("RONDO_RANK=-1"));
  EXPECT_THAT(with("one", "4"), HasSubstr("RONDO_RANK=one"));
  EXPECT_THAT(with("0", "0"), HasSubstr("RONDO_WORLD_SIZE=0"));
  EXPECT_THAT(with("0", "-4"), HasSubstr("RONDO_WORLD_SIZE=-4"));
  EXPECT_THAT(with("0", "99999999999"), HasSubstr("RONDO_WORLD_SIZE=999"));
  EXPECT_THAT(failure({{"RONDO_RANK", "1"}}),
              HasSubstr("RONDO_WORLD_SIZE is not set"));
  EXPECT_THAT(failure({{"RONDO_WORLD_SIZE", "2"}}),
              HasSubstr("RONDO_RANK is not set"));
  EXPECT_THAT(failure({{"RONDO_RANK", "1"},
                       {"RONDO_WORLD_SIZE", "4"},
                       {"RONDO_LOCAL_RANK", "2"},
                       {"RONDO_LOCAL_SIZE", "2"}}),
              HasSubstr("RONDO_LOCAL_RANK=2"));
}

TEST(JobEnv, StoresAreChecked) {
  const Variables two = {{"RONDO_RANK", "0"}, {"RONDO_WORLD_SIZE", "2"}};
  EXPECT_THAT(failure(two), HasSubstr("RONDO_STORE is not"));
  for (const char* store : {"tcp://h", "tcp://h:0", "tcp://:4", "http://h:4",
                            "file://x", "tcp://fd00::1:4", "memory"}) {
    Variables v = two;
    v["RONDO_STORE"] = store;
    EXPECT_THAT(failure(v), HasSubstr("RONDO_STORE")) << store;
  }
  EXPECT_EQ(StoreUrl::parse("tcp://[fd00::1]:4").value().host, "fd00::1");
  EXPECT_EQ(make_tcp_url("fd00::1", 4), "tcp://[fd00::1]:4");
}

TEST(JobEnv, Torchrun) {
  Variables v = {{"RANK", "3"},        {"WORLD_SIZE", "4"},
                 {"LOCAL_RANK", "1"},  {"LOCAL_WORLD_SIZE", "2"},
                 {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"}};
  const JobEnv job = read(v);
  EXPECT_EQ(job.launcher, "torchrun");
  EXPECT_EQ(job.rank, 3);
  EXPECT_EQ(job.local_size, 2);
  EXPECT_EQ(job.store, "tcp://h:29501");
  v["LOCAL_WORLD_SIZE"] = "4";
  EXPECT_EQ(read(v).store, "tcp://127.0.0.1:29501");
  v["MASTER_PORT"] = "65535";
  EXPECT_EQ(read(v).store, "tcp://127.0.0.1:65534");
  v["RONDO_STORE"] = "file:///shared/x";
  EXPECT_EQ(read(v).store, "file:///shared/x");
  EXPECT_EQ(read({{"RANK", "3"}}).launcher, "none");
  EXPECT_THAT(failure({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("MASTER_ADDR"));
}

TEST(JobEnv, OpenMpi) {
  Variables v = {{"OMPI_COMM_WORLD_RANK", "1"},
                 {"OMPI_COMM_WORLD_SIZE", "3"},
                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                 {"PMIX_NAMESPACE", "77"},
                 {"PMIX_SERVER_URI2", "76.0;tcp4://127.0.0.1:4211"}};
  const JobEnv job = read(v);
  EXPECT_EQ(job.launcher, "openmpi");
  EXPECT_EQ(job.rank, 1);
  EXPECT_EQ(job.store, fmt::format("file:///tmp/rondo-{}-77-4211", ::getuid()));
  v["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_THAT(failure(v), HasSubstr("set RONDO_STORE"));
}

TEST(JobEnv, Pmi) {
  const JobEnv job = read({{"PMI_RANK", "2"},
                           {"PMI_SIZE", "3"},
                           {"PMI_FD", "8"},
                           {"MPI_LOCALRANKID", "2"},
                           {"MPI_LOCALNRANKS", "3"}});
  EXPECT_EQ(job.launcher, "pmi");
  EXPECT_EQ(job.rank, 2);
  EXPECT_EQ(job.local_size, 3);
  EXPECT_EQ(job.store, "pmi:8");
  EXPECT_THAT(failure({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}),
              HasSubstr("PMI_FD"));
}

TEST(JobEnv, Slurm) {
  Variables v = {{"SLURM_PROCID", "5"},
                 {"SLURM_STEP_NUM_TASKS", "8"},
                 {"SLURM_NTASKS", "16"},
                 {"SLURM_LOCALID", "1"},
                 {"SLURM_STEP_NODELIST", "node[3-5,8]"},
                 {"SLURM_JOB_ID", "100"},
                 {"SLURM_STEP_ID", "2"}};
  const JobEnv job = read(v);
  EXPECT_EQ(job.launcher, "slurm");
  EXPECT_EQ(job.rank, 5);
  EXPECT_EQ(job.size, 8);
  EXPECT_EQ(job.local_rank, 1);
  EXPECT_EQ(job.store, "tcp://node3:20702");
  v.erase("SLURM_STEP_NUM_TASKS");
  EXPECT_EQ(read(v).size, 16);
  v["SLURM_STEP_NODELIST"] = "node3";
  EXPECT_EQ(read(v).store, "tcp://127.0.0.1:20702");
  // A batch script is not a task, though it has SLURM_PROCID=0.
  v.erase("SLURM_STEP_ID");
  EXPECT_EQ(read(v).launcher, "none");
}

TEST(SlurmNodes, FirstHost) {
  EXPECT_EQ(first_slurm_node("node[3-5,8]"), "node3");
  EXPECT_EQ(first_slurm_node("node[003-005],x"), "node003");
  EXPECT_EQ(first_slurm_node("a,b[1-2]"), "a");
  EXPECT_EQ(first_slurm_node("r[1-2]n[4,7]"), "r1n4");
  EXPECT_EQ(first_slurm_node("gpu-1"), "gpu-1");
}

}  // namespace
}  // namespace rondo
