#include "rondo/trainer/checkpoints.h"

#include <filesystem>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

constexpr int64_t kFields = 3;
constexpr int kKept = 3;

}  // namespace

Checkpoints::Checkpoints(Graph& graph, std::string folder)
    : folder_(std::move(folder)) {
  position_ = variable(graph, zeros(graph, {kFields}, DType::kI64),
                       {.name = "trainer/position", .trainable = false});
  fed_ = placeholder(graph, {.dtype = DType::kI64, .shape = {kFields}});
  set_ = assign(position_, fed_).node;
  saver_.emplace(graph, SaverOptions{.max_to_keep = kKept});
}

Result<std::optional<std::string>> Checkpoints::latest() const {
  return latest_checkpoint(folder_);
}

Status Checkpoints::restore(Session& session, const std::string& checkpoint) {
  RONDO_RETURN_IF_ERROR(saver_->restore(session, checkpoint));
  RONDO_ASSIGN_OR_RETURN(const auto state, get_checkpoint_state(folder_));
  // So that the oldest of an earlier process go in their turn.
  if (state)
    saver_->recover_last_checkpoints(state->all_model_checkpoint_paths);
  return {};
}

Result<Position> Checkpoints::position(Session& session) const {
  RONDO_ASSIGN_OR_RETURN(const Tensor now, session.run(position_));
  const auto fields = now.span<int64_t>();
  return Position{fields[0], fields[1], fields[2]};
}

Result<std::string> Checkpoints::save(Session& session,
                                      const Position& position) {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed)
    return error(Code::kInvalidArgument, "cannot make the folder {}: {}",
                 folder_, failed.message());
  const std::array<int64_t, kFields> fields = {position.step, position.batch,
                                               position.seed};
  const Tensor tensor = Tensor::of({kFields}, std::span<const int64_t>(fields));
  RONDO_RETURN_IF_ERROR(session.run(*set_, {{fed_, tensor}}));
  return saver_->save(session, folder_ + "/model", position.step);
}

}  // namespace rondo
