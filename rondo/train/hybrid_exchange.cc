#include "rondo/train/hybrid_exchange.h"

#include "rondo/train/hybrid_split.h"

namespace rondo {

void HybridExchange::abort(const std::string& reason) {
  CommunicatorExchange::abort(reason);
  servers_->abort(reason);
}

Result<std::string> HybridExchange::key_for(const Tensor& piece, ReduceOp op) {
  std::string name = fmt::format("{} of {} {}", name_of(op), piece.count(),
                                 name_of(piece.dtype()));
  if (keys_.contains(name)) return name;
  RONDO_RETURN_IF_ERROR(servers_->add({{.name = name,
                                        .dtype = piece.dtype(),
                                        .shape = piece.shape(),
                                        .reduces = op}}));
  keys_.insert(name);
  return name;
}

Status HybridExchange::reduce(std::span<Tensor> tensors, ReduceOp op) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.count();
  const int64_t served =
      served_elements(count, tensors[0].dtype(), server_share_);
  if (served == 0) return CommunicatorExchange::reduce(tensors, op);
  const HybridSplit split = split_bucket(tensors, served);
  RONDO_ASSIGN_OR_RETURN(const std::string key, key_for(split.servers, op));
  const KvWork work = servers_->push_pull(key, split.servers, split.servers);
  const Status among = reduce_among_ranks(split.ranks, op);
  // Servers write into memory of the step's, so their part has to be over.
  if (!among.ok()) servers_->abort(among.message());
  const Status by_servers = work.wait(Deadline::never());
  RONDO_RETURN_IF_ERROR(among);
  RONDO_RETURN_IF_ERROR(by_servers);
  put_back(split, tensors);
  return {};
}

}  // namespace rondo
