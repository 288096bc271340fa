// The collectives that move elements and leave them as they are.
#include "backend.h"
#include "checks.h"
#include "operators.h"
#include "rondo/torch/packed.h"

namespace rondo::torch {
namespace {

constexpr const char* kAllgather = "all_gather";
constexpr const char* kAllToAll = "all_to_all";

Status allgather_one(Communicator& comm, const CallOptions& call,
                     const std::vector<at::Tensor>& outputs,
                     const at::Tensor& input) {
  const at::Tensor in = packed(input);
  const Flat flat(outputs, false);
  const View out = view_of(flat.vector());
  if (flat.even()) {
    RONDO_RETURN_IF_ERROR(comm.allgather(view_of(in), out, call));
  } else {
    auto counts = flat.counts();
    for (int64_t& count : counts) count *= per_element(in.scalar_type());
    RONDO_RETURN_IF_ERROR(comm.allgatherv(view_of(in), out, counts, call));
  }
  flat.spread();
  return {};
}

// Elements that go to, or come from, each rank: by rows where splits are given.
std::vector<int64_t> counts_of(const std::vector<int64_t>& splits,
                               const at::Tensor& tensor, int ranks) {
  const int64_t all = tensor.numel() * per_element(tensor.scalar_type());
  if (splits.empty())
    return std::vector<int64_t>(static_cast<size_t>(ranks), all / ranks);
  const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const int64_t row = rows == 0 ? 0 : all / rows;
  std::vector<int64_t> counts;
  for (const int64_t split : splits) counts.push_back(split * row);
  return counts;
}

void check_splits(const std::vector<int64_t>& splits, const at::Tensor& tensor,
                  int ranks) {
  check_dense(kAllToAll, tensor);
  const int64_t rows = tensor.dim() == 0 ? 0 : tensor.size(0);
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % ranks == 0, "rondo: all_to_all: ", rows,
                      " rows cannot be split evenly over ", ranks,
                      " ranks; give split sizes");
    return;
  }
  int64_t sum = 0;
  for (const int64_t split : splits) {
    TORCH_CHECK_VALUE(split >= 0, "rondo: all_to_all: a split size is ", split);
    sum += split;
  }
  TORCH_CHECK_VALUE(static_cast<int>(splits.size()) == ranks && sum == rows,
                    "rondo: all_to_all: ", splits.size(),
                    " split sizes with sum ", sum, " for ", ranks,
                    " ranks and a tensor of ", rows, " rows");
}

}  // namespace

Backend::WorkPtr Backend::broadcast(Tensors& tensors,
                                    const c10d::BroadcastOptions& opts) {
  check_usable("broadcast");
  check_rank("broadcast", opts.rootRank);
  const at::Tensor tensor = only("broadcast", tensors);
  return launch({c10d::OpType::BROADCAST, "rondo:broadcast", tensors, tensors,
                 opts.timeout, opts.asyncOp},
                [tensor, root = static_cast<int>(opts.rootRank)](
                    Communicator& comm, CallOptions call) {
                  const at::Tensor x = packed(tensor);
                  call.root = root;
                  RONDO_RETURN_IF_ERROR(comm.broadcast(view_of(x), call));
                  if (comm.rank() != root) unpack(x, tensor);
                  return Status();
                });
}

Backend::WorkPtr Backend::allgather(Lists& outputs, Tensors& inputs,
                                    const c10d::AllgatherOptions& opts) {
  check_usable(kAllgather);
  const at::Tensor input = only(kAllgather, inputs);
  const Tensors list = only_list(kAllgather, outputs);
  check_list(kAllgather, list, getSize(), input.scalar_type());
  check_numel(kAllgather, input, list[static_cast<size_t>(getRank())].numel());
  return launch({c10d::OpType::ALLGATHER, "rondo:all_gather", inputs, list,
                 opts.timeout, opts.asyncOp},
                [list, input](Communicator& comm, const CallOptions& call) {
                  return allgather_one(comm, call, list, input);
                });
}

Backend::WorkPtr Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::AllgatherOptions& opts) {
  Tensors outputs{output};
  Tensors inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, opts);
}

Backend::WorkPtr Backend::allgather_coalesced(
    Lists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  check_usable(kAllgather);
  TORCH_CHECK_VALUE(static_cast<int>(outputs.size()) == getSize(),
                    "rondo: all_gather_coalesced: ", outputs.size(),
                    " lists for ", getSize(), " ranks");
  Lists by_input;
  Tensors all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensors list;
    for (const Tensors& of_rank : outputs) {
      TORCH_CHECK_VALUE(of_rank.size() == inputs.size(),
                        "rondo: all_gather_coalesced: ", inputs.size(),
                        " input tensors and ", of_rank.size(),
                        " output tensors for a rank");
      list.push_back(of_rank[i]);
      all.push_back(of_rank[i]);
    }
    check_dense(kAllgather, inputs[i]);
    check_list(kAllgather, list, getSize(), inputs[i].scalar_type());
    check_numel(kAllgather, inputs[i],
                list[static_cast<size_t>(getRank())].numel());
    by_input.push_back(std::move(list));
  }
  return launch(
      {c10d::OpType::ALLGATHER_COALESCED, "rondo:all_gather", inputs, all,
       opts.timeout, opts.asyncOp},
      [by_input, inputs](Communicator& comm, const CallOptions& call) {
        for (size_t i = 0; i < inputs.size(); ++i)
          RONDO_RETURN_IF_ERROR(
              allgather_one(comm, call, by_input[i], inputs[i]));
        return Status();
      });
}

Backend::WorkPtr Backend::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  check_usable(kAllgather);
  TORCH_CHECK_VALUE(inputs.size() == outputs.size() && !inputs.empty(),
                    "rondo: all_gather: ", inputs.size(), " input tensors and ",
                    outputs.size(), " output tensors");
  for (size_t i = 0; i < inputs.size(); ++i)
    check_whole(kAllgather, outputs[i], inputs[i], getSize());
  return launch({c10d::OpType::_ALLGATHER_BASE, "rondo:all_gather", inputs,
                 outputs, opts.timeout, opts.asyncOp},
                [inputs, outputs](Communicator& comm, const CallOptions& call) {
                  for (size_t i = 0; i < inputs.size(); ++i) {
                    const at::Tensor in = packed(inputs[i]);
                    const at::Tensor out = packed_for_output(outputs[i]);
                    RONDO_RETURN_IF_ERROR(
                        comm.allgather(view_of(in), view_of(out), call));
                    unpack(out, outputs[i]);
                  }
                  return Status();
                });
}

Backend::WorkPtr Backend::gather(Lists& outputs, Tensors& inputs,
                                 const c10d::GatherOptions& opts) {
  check_usable("gather");
  check_rank("gather", opts.rootRank);
  const at::Tensor input = only("gather", inputs);
  const int root = static_cast<int>(opts.rootRank);
  Tensors list;
  if (getRank() == root) {
    list = only_list("gather", outputs);
    check_list("gather", list, getSize(), input.scalar_type());
    for (const at::Tensor& output : list)
      check_numel("gather", input, output.numel());
  } else {
    TORCH_CHECK_VALUE(outputs.empty() || outputs[0].empty(),
                      "rondo: gather: only rank ", root,
                      ", the root, has a list of output tensors");
  }
  return launch({c10d::OpType::GATHER, "rondo:gather", inputs, list,
                 opts.timeout, opts.asyncOp},
                [list, input, root](Communicator& comm, CallOptions call) {
                  call.root = root;
                  const at::Tensor in = packed(input);
                  if (comm.rank() != root)
                    return comm.gather(view_of(in), View(), call);
                  const Flat flat(list, false);
                  RONDO_RETURN_IF_ERROR(
                      comm.gather(view_of(in), view_of(flat.vector()), call));
                  flat.spread();
                  return Status();
                });
}

Backend::WorkPtr Backend::scatter(Tensors& outputs, Lists& inputs,
                                  const c10d::ScatterOptions& opts) {
  check_usable("scatter");
  check_rank("scatter", opts.rootRank);
  const at::Tensor output = only("scatter", outputs);
  const int root = static_cast<int>(opts.rootRank);
  Tensors list;
  if (getRank() == root) {
    list = only_list("scatter", inputs);
    check_list("scatter", list, getSize(), output.scalar_type());
    for (const at::Tensor& input : list)
      check_numel("scatter", output, input.numel());
  } else {
    TORCH_CHECK_VALUE(inputs.empty() || inputs[0].empty(),
                      "rondo: scatter: only rank ", root,
                      ", the root, has a list of input tensors");
  }
  return launch(
      {c10d::OpType::SCATTER, "rondo:scatter", list, outputs, opts.timeout,
       opts.asyncOp},
      [list, output, root](Communicator& comm, CallOptions call) {
        call.root = root;
        const at::Tensor out = packed_for_output(output);
        if (comm.rank() == root) {
          const Flat flat(list, true);
          RONDO_RETURN_IF_ERROR(
              comm.scatter(view_of(flat.vector()), view_of(out), call));
        } else {
          RONDO_RETURN_IF_ERROR(comm.scatter(ConstView(), view_of(out), call));
        }
        unpack(out, output);
        return Status();
      });
}

Backend::WorkPtr Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                        std::vector<int64_t>& output_splits,
                                        std::vector<int64_t>& input_splits,
                                        const c10d::AllToAllOptions& opts) {
  check_usable(kAllToAll);
  check_splits(output_splits, output, getSize());
  check_splits(input_splits, input, getSize());
  TORCH_CHECK_VALUE(output.scalar_type() == input.scalar_type(),
                    "rondo: all_to_all: input and output are ",
                    c10::toString(input.scalar_type()), " and ",
                    c10::toString(output.scalar_type()));
  const bool even = output_splits.empty() && input_splits.empty();
  return launch(
      {c10d::OpType::ALLTOALL_BASE,
       "rondo:all_to_all",
       {input},
       {output},
       opts.timeout,
       opts.asyncOp},
      [input, output, even, send = counts_of(input_splits, input, getSize()),
       receive = counts_of(output_splits, output, getSize())](
          Communicator& comm, const CallOptions& call) {
        const at::Tensor in = packed(input);
        const at::Tensor out = packed_for_output(output);
        RONDO_RETURN_IF_ERROR(
            even ? comm.all_to_all(view_of(in), view_of(out), call)
                 : comm.all_to_allv(view_of(in), send, view_of(out), receive,
                                    call));
        unpack(out, output);
        return Status();
      });
}

Backend::WorkPtr Backend::alltoall(Tensors& outputs, Tensors& inputs,
                                   const c10d::AllToAllOptions& opts) {
  check_usable(kAllToAll);
  TORCH_CHECK_VALUE(!inputs.empty(), "rondo: all_to_all: the list is empty");
  const at::ScalarType dtype = inputs[0].scalar_type();
  check_list(kAllToAll, inputs, getSize(), dtype);
  check_list(kAllToAll, outputs, getSize(), dtype);
  return launch(
      {c10d::OpType::ALLTOALL, "rondo:all_to_all", inputs, outputs,
       opts.timeout, opts.asyncOp},
      [inputs, outputs, dtype](Communicator& comm, const CallOptions& call) {
        const Flat in(inputs, true);
        const Flat out(outputs, false);
        auto send = in.counts();
        auto receive = out.counts();
        for (int64_t& count : send) count *= per_element(dtype);
        for (int64_t& count : receive) count *= per_element(dtype);
        RONDO_RETURN_IF_ERROR(comm.all_to_allv(
            view_of(in.vector()), send, view_of(out.vector()), receive, call));
        out.spread();
        return Status();
      });
}

Backend::WorkPtr Backend::barrier(const c10d::BarrierOptions& opts) {
  check_usable("barrier");
  return launch({c10d::OpType::BARRIER,
                 "rondo:barrier",
                 {},
                 {},
                 opts.timeout,
                 opts.asyncOp},
                [](Communicator& comm, const CallOptions& call) {
                  return comm.barrier(call);
                });
}

}  // namespace rondo::torch
