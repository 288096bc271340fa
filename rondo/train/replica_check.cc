#include "rondo/train/replica_check.h"

#include "rondo/base/crc32c.h"

namespace rondo {

Status compare_replicas(Communicator& comm,
                        const std::vector<std::string>& names,
                        const std::vector<Tensor>& tensors) {
  if (names.size() != tensors.size())
    return error(Code::kInvalidArgument, "{} names for {} tensors",
                 names.size(), tensors.size());
  std::vector<int64_t> mine;
  for (const Tensor& tensor : tensors)
    mine.push_back(crc32c(tensor.data(), tensor.bytes()));
  std::vector<int64_t> all(mine.size() * static_cast<size_t>(comm.size()));
  RONDO_RETURN_IF_ERROR(comm.allgather(mine, all));
  std::string differences;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string ranks;
    for (size_t r = 1; r < static_cast<size_t>(comm.size()); ++r)
      if (all[r * names.size() + i] != all[i])
        ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
    if (!ranks.empty())
      differences += fmt::format("\n  \"{}\" on rank {}", names[i], ranks);
  }
  if (differences.empty()) return {};
  return error(Code::kMismatch,
               "the replicas are not the same; these differ from rank 0's:{}\n"
               "  do: begin with the strategy's initializer, and change "
               "variables by its optimizer only",
               differences);
}

}  // namespace rondo
