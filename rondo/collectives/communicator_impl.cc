#include "rondo/collectives/communicator_impl.h"

#include <algorithm>
#include <cstring>

#include "rondo/collectives/direct_plans.h"

namespace rondo {
namespace {

// Messages are cut into blocks of this many bytes: small enough to stay in the
// second-level cache between arriving, being reduced and leaving again.
constexpr size_t kBlockBytes = 256 << 10;

Topology topology_of(const Group& group) {
  std::map<int, int> ranks_on;
  for (int host : group.host_of()) ++ranks_on[host];
  Topology topology{.n = group.size(), .hosts = group.hosts()};
  topology.crowding = group.crowding();
  topology.smallest_host = group.size();
  for (const auto& [host, ranks] : ranks_on) {
    topology.largest_host = std::max(topology.largest_host, ranks);
    topology.smallest_host = std::min(topology.smallest_host, ranks);
  }
  return topology;
}

// Tensors of a grouped call that together have at most so many bytes travel as
// one vector.
constexpr size_t kFuseBytes = 4 << 20;

// Stands for allgatherv's counts where calls are compared.
int32_t checksum_of(std::span<const int64_t> counts) {
  uint64_t sum = 0;
  for (int64_t count : counts) {
    sum = (sum ^ static_cast<uint64_t>(count)) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 29;
  }
  return static_cast<int32_t>(sum >> 32);
}

// [begin, end) of the views that each operation of a grouped call reduces; the
// same on all ranks.
std::vector<std::pair<size_t, size_t>> parts_of_group(const Call& call) {
  std::vector<std::pair<size_t, size_t>> parts;
  for (size_t begin = 0; begin < call.views.size();) {
    size_t end = begin;
    int64_t total = 0;
    while (end < call.views.size() &&
           (end == begin || static_cast<size_t>(total + call.views[end].count) *
                                    call.element() <=
                                kFuseBytes))
      total += call.views[end++].count;
    parts.emplace_back(begin, end);
    begin = end;
  }
  return parts;
}

// Copies the views' elements into one buffer, or back.
void copy_views(std::span<const View> views, char* fused, bool in) {
  for (const View& view : views) {
    const size_t bytes = static_cast<size_t>(view.count) * size_of(view.dtype);
    if (bytes > 0)
      std::memcpy(in ? fused : view.data, in ? view.data : fused, bytes);
    fused += bytes;
  }
}

}  // namespace

void OpState::finish(Status result) {
  std::lock_guard lock(mutex);
  status = std::move(result);
  done = true;
  over.notify_all();
}

void OpState::cancel() {
  auto communicator = owner.lock();
  if (communicator == nullptr) return;
  Group& group = communicator->group();
  (void)group
      .fail(error(Code::kCancelled,
                  "{} on communicator {} was cancelled by "
                  "rank {}",
                  short_name(call.tag), group.name(), group.rank()))
      .ok();
}

// The asynchronous calls that wait for their turn.
struct CommunicatorImpl::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<OpState>> ops;  // guarded by mutex
  bool stopped = false;                      // guarded by mutex
};

CommunicatorImpl::CommunicatorImpl(std::shared_ptr<Group> group,
                                   CommunicatorOptions options, Costs costs)
    : group_(std::move(group)),
      options_(std::move(options)),
      costs_(costs),
      topology_(topology_of(*group_)),
      local_(*group_),
      executor_(*group_, kBlockBytes),
      queue_(std::make_shared<Queue>()) {}

CommunicatorImpl::~CommunicatorImpl() {
  {
    std::lock_guard lock(queue_->mutex);
    queue_->stopped = true;
    queue_->changed.notify_all();
  }
  if (!thread_.joinable()) return;
  // The last reference may go with the last operation, on the queue's thread.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

// ---- Order ------------------------------------------------------------------

void CommunicatorImpl::stamp(Call& call, const CallOptions& options) {
  const Duration standard = seconds(options_.timeout);
  call.timeout =
      options.timeout > Duration::zero() ? options.timeout : standard;
  call.total_timeout = seconds(options_.total_timeout);
  call.tag.operation = static_cast<uint8_t>(call.operation);
  call.tag.dtype = static_cast<uint8_t>(call.dtype);
  call.tag.reduce_op = static_cast<uint8_t>(call.op);
  call.tag.root = call.operation == Operation::kAllgatherv
                      ? checksum_of(call.counts)
                      : call.root;
  if (call.operation == Operation::kAllreduce && call.tag.algorithm == 0 &&
      call.views.empty()) {
    const auto bytes = call.in_count * static_cast<int64_t>(call.element());
    call.tag.algorithm = static_cast<uint8_t>(algorithm_for(bytes).id);
  }
  if (call.operation == Operation::kMessage) return;
  const uint64_t numbers = call.views.empty() ? 1 : parts_of_group(call).size();
  call.tag.sequence =
      sequence_.fetch_add(numbers, std::memory_order_relaxed) + 1;
}

Status CommunicatorImpl::run(Call& call, const CallOptions& options) {
  if (pending_.load(std::memory_order_acquire) == 0 && run_mutex_.try_lock()) {
    std::lock_guard lock(run_mutex_, std::adopt_lock);
    stamp(call, options);
    return execute(call);
  }
  return start(std::move(call), options).wait();
}

Work CommunicatorImpl::start(Call call, const CallOptions& options) {
  auto op = std::make_shared<OpState>();
  op->call = std::move(call);
  op->impl = shared_from_this();
  op->owner = op->impl;
  std::call_once(thread_started_,
                 [this] { thread_ = std::thread(serve, queue_); });
  pending_.fetch_add(1, std::memory_order_acq_rel);
  std::lock_guard lock(queue_->mutex);
  stamp(op->call, options);
  queue_->ops.push_back(op);
  queue_->changed.notify_one();
  return Work(op);
}

void CommunicatorImpl::serve(std::shared_ptr<Queue> queue) {
  for (;;) {
    std::shared_ptr<OpState> op;
    {
      std::unique_lock lock(queue->mutex);
      queue->changed.wait(
          lock, [&] { return queue->stopped || !queue->ops.empty(); });
      if (queue->ops.empty()) return;
      op = std::move(queue->ops.front());
      queue->ops.pop_front();
    }
    auto impl = std::move(op->impl);
    Status status;
    {
      std::lock_guard lock(impl->run_mutex_);
      status = impl->execute(op->call);
    }
    impl->pending_.fetch_sub(1, std::memory_order_acq_rel);
    // If this was the last reference the communicator closes here, before the
    // waiter can end the process.
    impl.reset();
    op->finish(std::move(status));
  }
}

Traffic CommunicatorImpl::traffic() const { return executor_.traffic(); }

// ---- Choice -----------------------------------------------------------------

Result<const AlgorithmEntry*> CommunicatorImpl::named_algorithm(
    std::string_view name) const {
  if (name.empty()) name = options_.algorithm;
  if (name.empty() || name == "auto") return nullptr;
  const AlgorithmEntry* entry = find_algorithm(name);
  if (entry == nullptr) {
    std::string known = "auto";
    for (const AlgorithmEntry& e : allreduce_algorithms())
      known += fmt::format(", {}", e.name);
    return error(Code::kInvalidArgument,
                 "there is no allreduce algorithm \"{}\"; there are {}", name,
                 known);
  }
  const std::string_view obstacle =
      group_->size() == 1 ? "" : entry->obstacle(topology_);
  if (!obstacle.empty())
    return error(Code::kInvalidArgument,
                 "algorithm {} cannot be used on communicator {}: {}", name,
                 group_->name(), obstacle);
  return entry;
}

const AlgorithmEntry& CommunicatorImpl::algorithm_for(int64_t bytes) const {
  if (const AlgorithmEntry* entry = find_algorithm(options_.algorithm))
    return *entry;
  if (group_->hosts() == 1) return algorithm_entry(Algorithm::kDirect);
  return select_allreduce(topology_, costs_, bytes);
}

// ---- Running ----------------------------------------------------------------

Status CommunicatorImpl::execute(const Call& call) {
  if (group_->failed()) return group_->failure();
  if (group_->size() == 1) return alone(call);
  group_->enter(call.tag);
  Status status = dispatch(call);
  // All else that can go wrong has failed the group already.
  if (!status.ok() && !group_->failed())
    status = group_->operator_failed(call.tag, status);
  if (!status.ok()) local_.withdraw();
  group_->leave();
  return status;
}

Status CommunicatorImpl::dispatch(const Call& call) {
  if (!call.views.empty()) return grouped(call);
  const auto algorithm = static_cast<Algorithm>(call.tag.algorithm);
  if (call.operation == Operation::kAllreduce &&
      algorithm == Algorithm::kHierarchical)
    return run_hierarchical(call);
  const bool in_memory =
      group_->hosts() == 1 && (call.operation != Operation::kAllreduce ||
                               algorithm == Algorithm::kDirect);
  if (!in_memory || call.operation == Operation::kMessage ||
      call.operation == Operation::kAllToAllv)
    return run_messages(call);
  if (local_.fits_one_shot(call)) return local_.one_shot(call);
  return run_direct(call);
}

// A group of one: the result is the input.
Status CommunicatorImpl::alone(const Call& call) {
  if (call.operation == Operation::kMessage)
    return error(Code::kInvalidArgument,
                 "a communicator of one rank has nobody to send to");
  const int64_t count = std::min(call.in_count, call.out_count);
  if (call.in != call.out && count > 0)
    std::memmove(call.out, call.in,
                 static_cast<size_t>(count) * call.element());
  return {};
}

AllreduceArgs CommunicatorImpl::allreduce_args(const Call& call) const {
  return {.n = group_->size(),
          .rank = group_->rank(),
          .count = call.in_count,
          .in_place = call.in_place(),
          .host_of = group_->host_of(),
          .unit = static_cast<int64_t>(64 / call.element())};
}

Status CommunicatorImpl::run_direct(const Call& call) {
  Waiter waiter(*group_, call.tag, call.timeout, call.total_timeout);
  RONDO_RETURN_IF_ERROR(local_.share(call, waiter));
  if (call.operation == Operation::kAllreduce && !local_.in_place_possible())
    return local_.staged_allreduce(call, waiter);
  if (!local_.reachable()) return run_messages(call);
  return run_plan(direct_plan(call), call, waiter);
}

Status CommunicatorImpl::run_hierarchical(const Call& call) {
  Waiter waiter(*group_, call.tag, call.timeout, call.total_timeout);
  RONDO_RETURN_IF_ERROR(local_.share(call, waiter));
  AllreduceArgs args = allreduce_args(call);
  args.shared_buffers = local_.reachable();
  return run_plan(hierarchical_allreduce(args), call, waiter);
}

Status CommunicatorImpl::run_messages(const Call& call) {
  Waiter waiter(*group_, call.tag, call.timeout, call.total_timeout);
  if (call.operation != Operation::kAllreduce) {
    Plan plan = message_plan(call);
    // On one host the ranks have compared their calls on their boards.
    if (is_rooted(call.operation) && group_->hosts() > 1)
      plan = with_answers(std::move(plan));
    return executor_.run(plan, call, waiter);
  }
  const PlanKey key{call.tag.algorithm, call.in_count, call.in_place()};
  if (key != cached_key_) {
    cached_plan_ = algorithm_entry(static_cast<Algorithm>(call.tag.algorithm))
                       .build(allreduce_args(call));
    cached_key_ = key;
  }
  return executor_.run(cached_plan_, call, waiter);
}

// Runs actions in shared memory one by one, and what lies between them through
// the executor. kShare has happened already.
Status CommunicatorImpl::run_plan(const Plan& plan, const Call& call,
                                  Waiter& waiter) {
  Plan messages;
  messages.scratch = plan.scratch;
  size_t first = 0;  // where `messages` begins in the plan
  for (size_t i = 0; i <= plan.actions.size(); ++i) {
    const bool end = i == plan.actions.size();
    const ActionKind kind = end ? ActionKind::kFence : plan.actions[i].kind;
    const bool shared = kind == ActionKind::kShare ||
                        kind == ActionKind::kSliceReduce ||
                        kind == ActionKind::kPull || kind == ActionKind::kFence;
    if (!shared) {
      if (messages.actions.empty()) first = i;
      Action action = plan.actions[i];
      if (action.after >= 0) action.after -= static_cast<int>(first);
      messages.actions.push_back(action);
      continue;
    }
    if (!messages.actions.empty()) {
      RONDO_RETURN_IF_ERROR(executor_.run(messages, call, waiter));
      messages.actions.clear();
    }
    if (end) break;
    Status status;
    if (kind == ActionKind::kSliceReduce || kind == ActionKind::kPull)
      status = local_.work(call, plan.actions[i]);
    else if (kind == ActionKind::kFence)
      status = local_.fence(call, waiter);
    RONDO_RETURN_IF_ERROR(status);
  }
  return {};
}

Plan CommunicatorImpl::direct_plan(const Call& call) const {
  const int n = group_->size();
  const int rank = group_->rank();
  const auto unit = static_cast<int64_t>(64 / call.element());
  switch (call.operation) {
    case Operation::kAllreduce: return direct_allreduce(allreduce_args(call));
    case Operation::kReduce:
      return direct_reduce(n, rank, call.root, call.in_count, unit);
    case Operation::kBroadcast:
      return direct_broadcast(n, rank, call.root, call.out_count);
    case Operation::kAllgather:
      return direct_allgather(
          n, rank, std::vector<int64_t>(static_cast<size_t>(n), call.in_count));
    case Operation::kAllgatherv: return direct_allgather(n, rank, call.counts);
    case Operation::kReduceScatter:
      return direct_reduce_scatter(n, rank, call.out_count);
    case Operation::kGather:
      return direct_gather(n, rank, call.root, call.in_count);
    case Operation::kScatter:
      return direct_scatter(n, rank, call.root, call.out_count);
    case Operation::kAllToAll:
      return direct_all_to_all(n, rank, call.out_count / n);
    default: return {};
  }
}

Plan CommunicatorImpl::message_plan(const Call& call) const {
  const int n = group_->size();
  const int rank = group_->rank();
  auto equal = [n](int64_t count) {
    return std::vector<int64_t>(static_cast<size_t>(n), count);
  };
  switch (call.operation) {
    case Operation::kReduce:
      return tree_reduce(n, rank, call.root, call.in_count, call.in_place());
    case Operation::kBroadcast: {
      const auto bytes = static_cast<size_t>(call.out_count) * call.element();
      return n > 2 && bytes > 8 * kBlockBytes
                 ? scatter_ring_broadcast(n, rank, call.root, call.out_count)
                 : tree_broadcast(n, rank, call.root, call.out_count);
    }
    case Operation::kAllgather:
    case Operation::kAllgatherv: {
      const auto counts = call.operation == Operation::kAllgather
                              ? equal(call.in_count)
                              : call.counts;
      int64_t before = 0;
      for (int r = 0; r < rank; ++r) before += counts[static_cast<size_t>(r)];
      const bool in_place =
          call.in == static_cast<char*>(call.out) +
                         static_cast<size_t>(before) * call.element();
      return ring_allgather(n, rank, counts, in_place);
    }
    case Operation::kReduceScatter:
      return ring_reduce_scatter(n, rank, equal(call.out_count));
    case Operation::kGather:
      return linear_gather(n, rank, call.root, equal(call.in_count));
    case Operation::kScatter:
      return linear_scatter(n, rank, call.root, equal(call.out_count));
    case Operation::kAllToAll:
      return pairwise_all_to_all(n, rank, equal(call.out_count / n),
                                 equal(call.out_count / n));
    case Operation::kAllToAllv:
      return pairwise_all_to_all(n, rank, call.send_counts, call.counts);
    case Operation::kBarrier: return dissemination_barrier(n, rank);
    case Operation::kMessage: {
      // A batch: buffers are given by address, counted in bytes from zero; the
      // step of an action says which transfer it is.
      Plan plan;
      for (size_t i = 0; i < call.transfers.size(); ++i) {
        const Transfer& t = call.transfers[i];
        const Range range{Buffer::kInput, reinterpret_cast<int64_t>(t.data),
                          t.count * static_cast<int64_t>(size_of(t.dtype))};
        if (t.kind == Transfer::kSend)
          plan.send(t.peer, range, static_cast<int>(i));
        else
          plan.recv(t.peer, range, static_cast<int>(i));
      }
      return plan;
    }
    default: return {};
  }
}

// Several tensors as one call: neighbours that fit together travel as one
// vector, in a buffer of the heap so that peers reduce it in place. Each vector
// is an operation of its own, with its own number.
Status CommunicatorImpl::grouped(const Call& call) {
  const size_t element = call.element();
  Call one = call;
  one.views.clear();
  Tensor fused;
  for (const auto& [begin, end] : parts_of_group(call)) {
    const std::span<const View> views(&call.views[begin], end - begin);
    one.in = one.out = views[0].data;
    one.in_count = 0;
    for (const View& view : views) one.in_count += view.count;
    one.out_count = one.tag.count = one.in_count;
    const auto bytes = one.in_count * static_cast<int64_t>(element);
    if (call.tag.algorithm == 0)
      one.tag.algorithm = static_cast<uint8_t>(algorithm_for(bytes).id);
    if (views.size() > 1) {
      if (fused.count() == 0)
        fused = Tensor::empty({static_cast<int64_t>(kFuseBytes)}, DType::kU8);
      one.in = one.out = fused.data();
      copy_views(views, static_cast<char*>(fused.data()), true);
    }
    group_->enter(one.tag);
    RONDO_RETURN_IF_ERROR(dispatch(one));
    if (views.size() > 1)
      copy_views(views, static_cast<char*>(fused.data()), false);
    ++one.tag.sequence;
  }
  return {};
}

}  // namespace rondo
