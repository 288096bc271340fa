#include "rondo/runtime/session.h"

#include "rondo/runtime/session_impl.h"

namespace rondo {
namespace {

bool fits(const PartialShape& known, const Shape& shape) {
  if (!known.has_rank()) return true;
  if (known.rank() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (known[i] != kAny && known[i] != shape[i]) return false;
  return true;
}

Status check_feed(const Feed& feed) {
  const Value& value = feed.value;
  if (feed.tensor.dtype() != value.dtype())
    return error(Code::kInvalidArgument,
                 "{} takes elements of {}, but was fed {}",
                 value.node->describe(), name_of(value.dtype()),
                 name_of(feed.tensor.dtype()));
  if (!fits(value.shape(), feed.tensor.shape()))
    return error(Code::kInvalidArgument,
                 "{} has shape {}, but was fed a tensor of shape {}",
                 value.node->describe(), value.shape().to_string(),
                 feed.tensor.shape().to_string());
  if (!feed.tensor.has_buffer() && feed.tensor.count() > 0)
    return error(Code::kInvalidArgument,
                 "{} was fed a tensor that has no memory: it was moved from, "
                 "or never made",
                 value.node->describe());
  return {};
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Session::~Session() = default;

void Session::close() { impl_->close(); }

Graph& Session::graph() const { return impl_->graph; }
Resources& Session::resources() { return impl_->resources(); }
std::vector<std::string> Session::devices() const { return impl_->devices; }

Result<std::vector<Tensor>> Session::run(const std::vector<Value>& fetches,
                                         const std::vector<Feed>& feeds,
                                         const std::vector<Node*>& targets,
                                         const RunOptions& options) {
  auto of_this_graph = [&](const Node* node) {
    return node && &node->graph() == &impl_->graph;
  };
  for (const Value& fetch : fetches)
    if (!of_this_graph(fetch.node))
      return error(Code::kInvalidArgument,
                   "a fetch is no value of the session's graph");
  for (const Node* target : targets)
    if (!of_this_graph(target))
      return error(Code::kInvalidArgument,
                   "a target is no node of the session's graph");
  if (!feeds.empty()) {
    const auto still = impl_->graph.still();
    for (const Feed& feed : feeds) {
      if (!of_this_graph(feed.value.node))
        return error(Code::kInvalidArgument,
                     "a feed is for no value of the session's graph");
      RONDO_RETURN_IF_ERROR(check_feed(feed));
    }
  }
  return impl_->run(fetches, feeds, targets, options);
}

Result<std::string> Session::explain_placement(
    const std::vector<Value>& fetches, const std::vector<Value>& feeds,
    const std::vector<Node*>& targets) {
  std::vector<const Node*> all(targets.begin(), targets.end());
  for (const Value& value : fetches) all.push_back(value.node);
  for (const Value& value : feeds) all.push_back(value.node);
  for (const Node* node : all)
    if (!node || &node->graph() != &impl_->graph)
      return error(Code::kInvalidArgument,
                   "explain_placement: a fetch, feed or target is not of the "
                   "session's graph");
  try {
    return impl_->explain_placement(fetches, feeds, targets);
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
}

Result<Tensor> Session::run(Value fetch, const std::vector<Feed>& feeds) {
  auto result = run(std::vector<Value>{fetch}, feeds);
  if (!result.ok()) return result.status();
  return std::move((*result)[0]);
}

Status Session::run(Node& target, const std::vector<Feed>& feeds) {
  return run({}, feeds, {&target}).status();
}

}  // namespace rondo
