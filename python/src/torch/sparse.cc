#include "sparse.h"

#include "operators.h"
#include "rondo/torch/mapped.h"

namespace rondo::torch {
namespace {

// What a rank says about its tensor before the entries travel.
constexpr int64_t kMostExtents = 16;
struct Outline {
  int64_t entries = 0;
  int64_t sparse_dim = 0;
  int64_t dtype = 0;
  int64_t dim = 0;
  int64_t extents[kMostExtents] = {};

  bool same_kind(const Outline& other) const {
    return sparse_dim == other.sparse_dim && dtype == other.dtype &&
           dim == other.dim &&
           std::equal(extents, extents + dim, other.extents);
  }
  std::string to_string() const {
    std::string text =
        fmt::format("{} [", c10::toString(static_cast<at::ScalarType>(dtype)));
    for (int64_t i = 0; i < dim; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", extents[i]);
    return fmt::format("{}] with {} sparse dimensions", text, sparse_dim);
  }
};
constexpr int64_t kOutlineWords = sizeof(Outline) / sizeof(int64_t);

Result<std::vector<Outline>> exchange(Communicator& comm,
                                      const CallOptions& call, Outline mine) {
  std::vector<Outline> all(static_cast<size_t>(comm.size()));
  RONDO_RETURN_IF_ERROR(comm.allgather(
      ConstView(&mine, kOutlineWords, DType::kI64),
      View(all.data(), kOutlineWords * comm.size(), DType::kI64), call));
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Outline& theirs = all[static_cast<size_t>(rank)];
    if (!theirs.same_kind(all[0]))
      return error(Code::kMismatch,
                   "all_reduce of sparse tensors: rank 0 has {}, and rank {} "
                   "has {}",
                   all[0].to_string(), rank, theirs.to_string());
  }
  return all;
}

// The rows of all ranks, one behind the other.
Result<at::Tensor> gather_rows(Communicator& comm, const CallOptions& call,
                               const at::Tensor& rows,
                               const std::vector<Outline>& all) {
  const int64_t row =
      per_element(rows.scalar_type()) *
      c10::multiply_integers(rows.sizes().begin() + 1, rows.sizes().end());
  std::vector<int64_t> counts;
  auto sizes = rows.sizes().vec();
  sizes[0] = 0;
  for (const Outline& one : all) {
    counts.push_back(one.entries * row);
    sizes[0] += one.entries;
  }
  at::Tensor gathered = mapped_empty(sizes, rows.scalar_type());
  RONDO_RETURN_IF_ERROR(
      comm.allgatherv(view_of(rows), view_of(gathered), counts, call));
  return gathered;
}

}  // namespace

void check_sparse(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  TORCH_CHECK_VALUE(tensor.layout() == at::kSparse && tensor.device().is_cpu(),
                    "rondo: all_reduce takes dense tensors and sparse COO "
                    "tensors on the CPU, not layout ",
                    tensor.layout(), " on ", tensor.device().str());
  TORCH_CHECK_VALUE(
      op.op_ == c10d::ReduceOp::SUM || op.op_ == c10d::ReduceOp::AVG,
      "rondo: all_reduce of sparse tensors: only SUM and AVG are defined");
  reduce_op(op, tensor.scalar_type());
  TORCH_CHECK_VALUE(tensor.dim() <= kMostExtents,
                    "rondo: all_reduce of sparse tensors: at most ",
                    kMostExtents, " dimensions, not ", tensor.dim());
}

Status sum_sparse(Communicator& comm, const CallOptions& call,
                  const c10d::ReduceOp& op, const at::Tensor& tensor) {
  const at::Tensor own = tensor.coalesce();
  // Entries first, so that those of several ranks lie behind each other.
  const at::Tensor indices = own._indices().t().contiguous();
  const at::Tensor values = own._values().contiguous();
  Outline mine;
  mine.entries = values.size(0);
  mine.sparse_dim = own.sparse_dim();
  mine.dtype = static_cast<int64_t>(own.scalar_type());
  mine.dim = own.dim();
  std::copy(own.sizes().begin(), own.sizes().end(), mine.extents);
  RONDO_ASSIGN_OR_RETURN(const auto all, exchange(comm, call, mine));
  RONDO_ASSIGN_OR_RETURN(const at::Tensor all_indices,
                         gather_rows(comm, call, indices, all));
  RONDO_ASSIGN_OR_RETURN(const at::Tensor all_values,
                         gather_rows(comm, call, values, all));
  at::Tensor sum =
      at::_sparse_coo_tensor_unsafe(all_indices.t(), all_values, own.sizes())
          .coalesce();
  if (op.op_ == c10d::ReduceOp::AVG) {
    // Whole numbers as in dense tensors: towards zero.
    if (c10::isIntegralType(own.scalar_type(), false))
      sum._values().div_(comm.size(), "trunc");
    else
      sum._values().div_(comm.size());
  }
  tensor.copy_(sum);
  return {};
}

}  // namespace rondo::torch
