// The collectives that reduce.
#include "backend.h"
#include "checks.h"
#include "operators.h"
#include "rondo/torch/packed.h"
#include "sparse.h"

namespace rondo::torch {
namespace {

constexpr const char* kReduceScatter = "reduce_scatter";

// A copy where PREMUL_SUM is to change it, since the caller keeps its input.
at::Tensor scaled(const c10d::ReduceOp& op, const at::Tensor& input) {
  at::Tensor in = packed(input);
  if (op.op_ != c10d::ReduceOp::PREMUL_SUM) return in;
  if (in.is_same(input)) in = input.clone();
  scale(op, in);
  return in;
}

Status reduce_scatter_one(Communicator& comm, const CallOptions& call,
                          const c10d::ReduceOp& op, const at::Tensor& input,
                          const at::Tensor& output) {
  const at::Tensor in = scaled(op, input);
  const at::Tensor out = packed_for_output(output);
  RONDO_RETURN_IF_ERROR(comm.reduce_scatter(view_of(in), view_of(out), call));
  unpack(out, output);
  return {};
}

// Parts of different lengths: each is reduced to its rank.
Status reduce_to_each(Communicator& comm, CallOptions call,
                      const c10d::ReduceOp& op,
                      const std::vector<at::Tensor>& inputs,
                      const at::Tensor& output) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    const at::Tensor in = scaled(op, inputs[static_cast<size_t>(rank)]);
    at::Tensor out = rank == comm.rank() ? packed_for_output(output) : in;
    call.root = rank;
    RONDO_RETURN_IF_ERROR(comm.reduce(view_of(in), view_of(out), call));
    if (rank == comm.rank()) unpack(out, output);
  }
  return {};
}

}  // namespace

Backend::WorkPtr Backend::allreduce(Tensors& tensors,
                                    const c10d::AllreduceOptions& opts) {
  check_usable("all_reduce");
  if (tensors.size() == 1 && tensors[0].layout() == at::kSparse)
    return allreduce_sparse(tensors, opts);
  const at::Tensor tensor = only("all_reduce", tensors);
  const ReduceOp op = reduce_op(opts.reduceOp, tensor.scalar_type());
  return launch({c10d::OpType::ALLREDUCE, "rondo:all_reduce", tensors, tensors,
                 opts.timeout, opts.asyncOp},
                [tensor, op, given = opts.reduceOp](Communicator& comm,
                                                    CallOptions call) {
                  at::Tensor x = packed(tensor);
                  scale(given, x);
                  call.op = op;
                  RONDO_RETURN_IF_ERROR(comm.allreduce(view_of(x), call));
                  unpack(x, tensor);
                  return Status();
                });
}

Backend::WorkPtr Backend::allreduce_sparse(Tensors& tensors,
                                           const c10d::AllreduceOptions& opts) {
  check_usable("all_reduce of a sparse tensor");
  TORCH_CHECK_VALUE(tensors.size() == 1,
                    "rondo: all_reduce takes one tensor, not ", tensors.size());
  const at::Tensor tensor = tensors[0];
  check_sparse(tensor, opts.reduceOp);
  return launch({c10d::OpType::_ALLREDUCE_SPARSE, "rondo:sparse_all_reduce",
                 tensors, tensors, opts.timeout, opts.asyncOp},
                [tensor, op = opts.reduceOp](Communicator& comm,
                                             const CallOptions& call) {
                  return sum_sparse(comm, call, op, tensor);
                });
}

Backend::WorkPtr Backend::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  check_usable("all_reduce_coalesced");
  TORCH_CHECK_VALUE(!tensors.empty(),
                    "rondo: all_reduce_coalesced: the list is empty");
  for (const at::Tensor& tensor : tensors) {
    check_dense("all_reduce_coalesced", tensor);
    TORCH_CHECK_VALUE(tensor.scalar_type() == tensors[0].scalar_type(),
                      "rondo: all_reduce_coalesced: tensors of ",
                      c10::toString(tensors[0].scalar_type()), " and of ",
                      c10::toString(tensor.scalar_type()),
                      " in one list; call it once for each dtype");
  }
  const ReduceOp op = reduce_op(opts.reduceOp, tensors[0].scalar_type());
  return launch({c10d::OpType::ALLREDUCE_COALESCED, "rondo:all_reduce", tensors,
                 tensors, opts.timeout, opts.asyncOp},
                [tensors, op, given = opts.reduceOp](Communicator& comm,
                                                     CallOptions call) {
                  Tensors xs;
                  std::vector<View> views;
                  for (const at::Tensor& tensor : tensors) {
                    xs.push_back(packed(tensor));
                    scale(given, xs.back());
                    views.push_back(view_of(xs.back()));
                  }
                  call.op = op;
                  RONDO_RETURN_IF_ERROR(comm.allreduce(views, call));
                  for (size_t i = 0; i < xs.size(); ++i)
                    unpack(xs[i], tensors[i]);
                  return Status();
                });
}

Backend::WorkPtr Backend::reduce(Tensors& tensors,
                                 const c10d::ReduceOptions& opts) {
  check_usable("reduce");
  check_rank("reduce", opts.rootRank);
  const at::Tensor tensor = only("reduce", tensors);
  const ReduceOp op = reduce_op(opts.reduceOp, tensor.scalar_type());
  return launch(
      {c10d::OpType::REDUCE, "rondo:reduce", tensors, tensors, opts.timeout,
       opts.asyncOp},
      [tensor, op, given = opts.reduceOp,
       root = static_cast<int>(opts.rootRank)](Communicator& comm,
                                               CallOptions call) {
        const at::Tensor x = scaled(given, tensor);
        call.op = op;
        call.root = root;
        RONDO_RETURN_IF_ERROR(comm.reduce(view_of(x), view_of(x), call));
        if (comm.rank() == root) unpack(x, tensor);
        return Status();
      });
}

Backend::WorkPtr Backend::reduce_scatter(
    Tensors& outputs, Lists& inputs, const c10d::ReduceScatterOptions& opts) {
  check_usable(kReduceScatter);
  const at::Tensor output = only(kReduceScatter, outputs);
  const Tensors list = only_list(kReduceScatter, inputs);
  check_list(kReduceScatter, list, getSize(), output.scalar_type());
  check_numel(kReduceScatter, output,
              list[static_cast<size_t>(getRank())].numel());
  const ReduceOp op = reduce_op(opts.reduceOp, output.scalar_type());
  return launch(
      {c10d::OpType::REDUCE_SCATTER, "rondo:reduce_scatter", list, outputs,
       opts.timeout, opts.asyncOp},
      [list, output, op, given = opts.reduceOp](Communicator& comm,
                                                CallOptions call) {
        call.op = op;
        const bool even = std::all_of(
            list.begin(), list.end(),
            [&](const at::Tensor& t) { return t.numel() == list[0].numel(); });
        if (!even) return reduce_to_each(comm, call, given, list, output);
        const Flat flat(list, true);
        return reduce_scatter_one(comm, call, given, flat.vector(), output);
      });
}

Backend::WorkPtr Backend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input,
    const c10d::ReduceScatterOptions& opts) {
  Tensors outputs{output};
  Tensors inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, opts);
}

Backend::WorkPtr Backend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  check_usable(kReduceScatter);
  TORCH_CHECK_VALUE(inputs.size() == outputs.size() && !inputs.empty(),
                    "rondo: reduce_scatter: ", inputs.size(),
                    " input tensors and ", outputs.size(), " output tensors");
  std::vector<ReduceOp> ops;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_whole(kReduceScatter, inputs[i], outputs[i], getSize());
    ops.push_back(reduce_op(opts.reduceOp, inputs[i].scalar_type()));
  }
  return launch({c10d::OpType::_REDUCE_SCATTER_BASE, "rondo:reduce_scatter",
                 inputs, outputs, opts.timeout, opts.asyncOp},
                [inputs, outputs, ops, given = opts.reduceOp](
                    Communicator& comm, CallOptions call) {
                  for (size_t i = 0; i < inputs.size(); ++i) {
                    call.op = ops[i];
                    RONDO_RETURN_IF_ERROR(reduce_scatter_one(
                        comm, call, given, inputs[i], outputs[i]));
                  }
                  return Status();
                });
}

}  // namespace rondo::torch
