#include "rondo/torch/same_module.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "rondo/torch/elements.h"
#include "rondo/torch/packed.h"

namespace rondo::torch {
namespace {

constexpr int64_t kNone = -1;

// Root's text, on every rank.
Result<std::string> broadcast_text(Communicator& comm, std::string text,
                                   int root) {
  auto length = static_cast<int64_t>(text.size());
  RONDO_RETURN_IF_ERROR(
      comm.broadcast(View(&length, 1, DType::kI64), {.root = root}));
  text.resize(static_cast<size_t>(length));
  RONDO_RETURN_IF_ERROR(
      comm.broadcast(View(text.data(), length, DType::kU8), {.root = root}));
  return text;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

int64_t first_difference(const std::vector<std::string>& a,
                         const std::vector<std::string>& b) {
  const auto [at, other] = std::ranges::mismatch(a, b);
  return at == a.end() && other == b.end() ? kNone
                                           : std::distance(a.begin(), at);
}

std::string line_of(const std::vector<std::string>& lines, int64_t i) {
  return i < std::ssize(lines) ? lines[static_cast<size_t>(i)] : "nothing more";
}

}  // namespace

Status check_same_lines(Communicator& comm,
                        const std::vector<std::string>& lines) {
  RONDO_ASSIGN_OR_RETURN(const std::string text,
                         broadcast_text(comm, joined(lines), 0));
  const std::vector<std::string> firsts = split(text);
  int64_t mine = first_difference(firsts, lines);
  std::vector<int64_t> all(static_cast<size_t>(comm.size()));
  RONDO_RETURN_IF_ERROR(comm.allgather(View(&mine, 1, DType::kI64), all));
  const auto other =
      std::ranges::find_if(all, [](auto i) { return i != kNone; });
  if (other == all.end()) return {};
  const auto rank = static_cast<int>(other - all.begin());
  RONDO_ASSIGN_OR_RETURN(
      const std::string theirs,
      broadcast_text(comm, rank == comm.rank() ? line_of(lines, *other) : "",
                     rank));
  return error(Code::kMismatch,
               "rank 0 has {} where rank {} has {}; every rank has to make the "
               "same module",
               line_of(firsts, *other), rank, theirs);
}

Status broadcast_tensors(Communicator& comm,
                         const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard guard;
  std::map<at::ScalarType, std::vector<at::Tensor>> by_dtype;
  for (const at::Tensor& tensor : tensors)
    by_dtype[tensor.scalar_type()].push_back(tensor);
  for (const auto& [dtype, members] : by_dtype) {
    const Flat flat(members, comm.rank() == 0);
    RONDO_RETURN_IF_ERROR(comm.broadcast(view_of(flat.vector())));
    flat.spread();
  }
  return {};
}

}  // namespace rondo::torch
