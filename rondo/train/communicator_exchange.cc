#include "rondo/train/communicator_exchange.h"

#include <array>
#include <cstring>
#include <numeric>

#include "rondo/base/crc32c.h"
#include "rondo/kernels/cpu/elementwise_loops.h"

namespace rondo {
namespace {

int64_t count_of(std::span<const Tensor> tensors) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.count();
  return count;
}

// One behind the other, and back.
Tensor joined(std::span<const Tensor> tensors) {
  Tensor all = Tensor::empty({count_of(tensors)}, tensors[0].dtype());
  auto* to = static_cast<char*>(all.data());
  for (const Tensor& tensor : tensors) {
    if (tensor.bytes() > 0) std::memcpy(to, tensor.data(), tensor.bytes());
    to += tensor.bytes();
  }
  return all;
}

void divide(const Tensor& all, std::span<Tensor> tensors) {
  const auto* from = static_cast<const char*>(all.data());
  for (Tensor& tensor : tensors) {
    if (tensor.bytes() > 0) std::memcpy(tensor.data(), from, tensor.bytes());
    from += tensor.bytes();
  }
}

// f32 as bf16, one behind the other, and back.
Tensor narrowed(std::span<const Tensor> tensors) {
  Tensor all = Tensor::empty({count_of(tensors)}, DType::kBF16);
  auto* to = all.span<BFloat16>().data();
  for (const Tensor& tensor : tensors) {
    narrow(DType::kBF16, tensor.span<float>().data(), to, tensor.count());
    to += tensor.count();
  }
  return all;
}

void widen(const Tensor& all, std::span<Tensor> tensors) {
  const auto* from = all.span<BFloat16>().data();
  for (Tensor& tensor : tensors) {
    widen(DType::kBF16, from, tensor.span<float>().data(), tensor.count());
    from += tensor.count();
  }
}

Shape with_rows(const Shape& shape, int64_t rows) {
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[0] = rows;
  return Shape(extents);
}

// Two checksums that have nothing to do with each other: tensors that have both
// in common are the same.
std::array<int64_t, 2> fingerprint(const Tensor& tensor) {
  const auto* data = static_cast<const char*>(tensor.data());
  uint64_t hash = tensor.bytes();
  for (size_t at = 0; at < tensor.bytes(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(sizeof(word), tensor.bytes() - at));
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return {crc32c(data, tensor.bytes()), static_cast<int64_t>(hash)};
}

// Which tensors are not on all ranks what they are on `root`: the same answer
// on every rank.
Result<std::vector<bool>> differing(Communicator& comm,
                                    std::span<const Tensor> tensors, int root) {
  std::vector<int64_t> mine;
  for (const Tensor& tensor : tensors)
    for (const int64_t part : fingerprint(tensor)) mine.push_back(part);
  const size_t width = mine.size();
  std::vector<int64_t> all(width * static_cast<size_t>(comm.size()));
  RONDO_RETURN_IF_ERROR(comm.allgather(mine, all));
  std::vector<bool> found(tensors.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] != all[static_cast<size_t>(root) * width + i % width])
      found[i % width / 2] = true;
  return found;
}

bool reaches_by_tcp(const Communicator& comm) {
  for (int peer = 0; peer < comm.size(); ++peer)
    if (comm.transport_to(peer) == "tcp") return true;
  return false;
}

}  // namespace

CommunicatorExchange::CommunicatorExchange(Communicator comm, bool chooses)
    : comm_(std::move(comm)),
      chooses_(chooses),
      between_hosts_(reaches_by_tcp(comm_)) {}

Status CommunicatorExchange::checked(Status status) const {
  if (!chooses_ || status.code() != Code::kMismatch) return status;
  return status.with_context(
      "if the graphs of the ranks know batches of different sizes, only some "
      "of them may have chosen factors: give all the same batch, or "
      "factors=False");
}

Status CommunicatorExchange::all_reduce(std::span<Tensor> tensors,
                                        const ReduceTerms& terms) {
  Packed packed = pack(tensors, terms);
  const std::vector<View> views(packed.tensors.begin(), packed.tensors.end());
  RONDO_RETURN_IF_ERROR(reduce_among_ranks(views, op_of(terms)));
  unpack(packed, tensors);
  return {};
}

CommunicatorExchange::Packed CommunicatorExchange::pack(
    std::span<const Tensor> tensors, const ReduceTerms& terms) const {
  if (terms.wire != tensors[0].dtype()) return {{narrowed(tensors)}, true};
  // In the memory of one host large tensors are reduced where they are; between
  // hosts a bucket is one vector, since each costs its latency.
  if (between_hosts_ && tensors.size() > 1) return {{joined(tensors)}, true};
  return {{tensors.begin(), tensors.end()}, false};
}

void CommunicatorExchange::unpack(const Packed& packed,
                                  std::span<Tensor> tensors) {
  if (!packed.copied) return;
  const Tensor& all = packed.tensors[0];
  if (all.dtype() != tensors[0].dtype())
    widen(all, tensors);
  else
    divide(all, tensors);
}

Status CommunicatorExchange::reduce_among_ranks(std::span<const View> views,
                                                ReduceOp op) {
  return checked(comm_.allreduce(views, {.op = op}));
}

Status CommunicatorExchange::all_gather(Tensor& rows, DType wire,
                                        Allocator& allocator) {
  if (rows.shape().rank() == 0)
    return error(Code::kInvalidArgument, "a scalar has no rows");
  Tensor all = allocator.allocate(
      rows.dtype(), with_rows(rows.shape(), rows.shape()[0] * comm_.size()));
  Status status;
  if (wire == rows.dtype()) {
    status = comm_.allgather(rows, all);
  } else {
    const Tensor mine = narrowed({&rows, 1});
    Tensor theirs = allocator.allocate(wire, all.shape());
    status = comm_.allgather(mine, theirs);
    if (status.ok()) widen(theirs, {&all, 1});
  }
  // The communicator compares what the ranks call, so a difference costs
  // nothing to find; it knows elements, and here are the shapes.
  if (status.code() == Code::kMismatch)
    return checked(std::move(status))
        .with_context(fmt::format(
            "rank {} has rows of shape {}, and every rank needs equally many",
            comm_.rank(), rows.shape().to_string()));
  RONDO_RETURN_IF_ERROR(status);
  rows = std::move(all);
  return {};
}

Status CommunicatorExchange::all_gather_rows(Tensor& values, Tensor& indices,
                                             Allocator& allocator) {
  const int64_t mine = indices.count();
  if (values.shape().rank() == 0 || values.shape()[0] != mine)
    return error(Code::kInvalidArgument,
                 "the rows have shape {}, and there are {} indices",
                 values.shape().to_string(), mine);
  std::vector<int64_t> rows(static_cast<size_t>(comm_.size()));
  RONDO_RETURN_IF_ERROR(
      comm_.allgather(std::span<const int64_t>(&mine, 1), rows));
  const int64_t total = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  Tensor all_indices = allocator.allocate(indices.dtype(), {total});
  RONDO_RETURN_IF_ERROR(comm_.allgatherv(indices, all_indices, rows));
  Tensor all_values =
      allocator.allocate(values.dtype(), with_rows(values.shape(), total));
  const int64_t width = with_rows(values.shape(), 1).count();
  for (int64_t& count : rows) count *= width;
  RONDO_RETURN_IF_ERROR(comm_.allgatherv(values, all_values, rows));
  values = std::move(all_values);
  indices = std::move(all_indices);
  return {};
}

Status CommunicatorExchange::broadcast(std::span<Tensor> tensors, int root) {
  // Ranks that draw their first values from one seed have the same already.
  RONDO_ASSIGN_OR_RETURN(const std::vector<bool> needed,
                         differing(comm_, tensors, root));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!needed[i]) continue;
    Tensor& tensor = tensors[i];
    // As bytes: some types have no arithmetic.
    const View bytes(tensor.data(), static_cast<int64_t>(tensor.bytes()),
                     DType::kU8);
    RONDO_RETURN_IF_ERROR(comm_.broadcast(bytes, {.root = root}));
  }
  return {};
}

}  // namespace rondo
