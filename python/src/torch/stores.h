// Two stores for one another: PyTorch's as Rondo's, and Rondo's as PyTorch's.
#pragma once

#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "rondo/rendezvous/job_env.h"
#include "rondo/rendezvous/store.h"

namespace rondo::torch {

// What the ranks of a process group meet through: the group's own store.
std::shared_ptr<Store> from_c10d(c10::intrusive_ptr<c10d::Store> store);

// The store of the job that this process belongs to, for init_process_group
// under launchers that set no MASTER_ADDR: `rondo run`, mpirun, srun.
class JobStore final : public c10d::Store {
 public:
  // Throws when there is no job or its store cannot be reached.
  explicit JobStore(std::chrono::milliseconds timeout);

  int rank() const { return job_.rank; }
  int size() const { return job_.size; }

  using c10d::Store::compareSet;
  using c10d::Store::set;
  c10::intrusive_ptr<c10d::Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

 private:
  std::string get_by(const std::string& key, Deadline deadline);

  JobEnv job_;
  std::shared_ptr<rondo::Store> store_;
};

}  // namespace rondo::torch
