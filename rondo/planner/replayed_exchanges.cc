#include "rondo/planner/replayed_exchanges.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rondo/ps/slice.h"
#include "rondo/train/hybrid_exchange.h"
#include "rondo/train/server_connection.h"
#include "rondo/train/server_share.h"

namespace rondo {
namespace {

constexpr int64_t kWarmUpElements = 1 << 18;
// Of a push or pull, and without progress: a vector may be on its way for
// minutes.
constexpr double kTimeout = 3600;

int64_t elements_of(const PlannedExchange& exchange) {
  return std::llround(exchange.bytes / 4);
}

// Ones, as many as the largest exchange has. Their mean is one again.
Tensor memory_for(const ReplayJob& job) {
  int64_t most = kWarmUpElements;
  for (const PlannedExchange& exchange : job.exchanges)
    most = std::max(most, elements_of(exchange));
  return Tensor::full({most}, 1.0F);
}

Tensor first_of(const Tensor& memory, int64_t count) {
  return slice(memory, 0, memory.dtype(), {count});
}

class PlainAllocator final : public Allocator {
 public:
  Tensor allocate(DType dtype, const Shape& shape) override {
    return Tensor::empty(shape, dtype);
  }
};

// Exchanges that are under way.
class Begun {
 public:
  // What to call when the one that begins now is over.
  KvWork::Done add() {
    auto end = std::make_shared<Clock::time_point>();
    KvWork work(1, {});
    ends_.push_back(end);
    works_.push_back(work);
    return [end, work](const Status& status) {
      *end = Clock::now();
      work.finish_part(status);
    };
  }
  Result<std::vector<Clock::time_point>> wait() {
    const auto works = std::exchange(works_, {});
    const auto kept = std::exchange(ends_, {});
    for (const KvWork& work : works)
      RONDO_RETURN_IF_ERROR(work.wait(Deadline::never()));
    std::vector<Clock::time_point> ends;
    for (const auto& end : kept) ends.push_back(*end);
    return ends;
  }

 private:
  std::vector<KvWork> works_;
  std::vector<std::shared_ptr<Clock::time_point>> ends_;
};

// Rows of a table that a worker gives to the others or to servers.
struct ReplayedRows {
  int64_t count = 0;
  int64_t table = 0;  // of them, as many as all workers give
  int64_t width = 0;
  DType index = DType::kI64;

  ReplayedRows(const PlannedExchange& exchange, int workers)
      : count(std::llround(exchange.rows)),
        table(std::max<int64_t>(
            1, std::llround(exchange.answers(workers) * exchange.rows))),
        width(std::max<int64_t>(
            1,
            std::llround(
                (exchange.bytes / exchange.rows - exchange.index_bytes) / 4))),
        index(exchange.index_bytes == 4 ? DType::kI32 : DType::kI64) {}

  Shape shape() const { return {count, width}; }
};

// Collectives, all in the same memory: one after another, but for what servers
// help with. What comes is what was there.
class InOrder final : public ReplayedExchanges {
 public:
  InOrder(const ReplayJob& job, std::unique_ptr<Exchange> exchange)
      : job_(job),
        wire_(job.method.bf16 ? DType::kBF16 : DType::kF32),
        exchange_(std::move(exchange)),
        memory_(memory_for(job)) {}

  Status begin(size_t i) override {
    const PlannedExchange& what = job_.exchanges[i];
    Tensor tensor = first_of(memory_, elements_of(what));
    const auto done = begun_.add();
    if (!what.gather) {
      exchange_->begin_all_reduce({tensor}, {.wire = wire_}, done);
      return {};
    }
    const Status status =
        what.rows > 0 ? gather_rows(what)
                      : exchange_->all_gather(tensor, wire_, allocator_);
    done(status);
    return status;
  }
  Result<std::vector<Clock::time_point>> finish() override {
    return begun_.wait();
  }
  Status warm_up() override {
    exchange_->begin_all_reduce({first_of(memory_, kWarmUpElements)},
                                {.wire = wire_}, begun_.add());
    return begun_.wait().status();
  }

 private:
  Status gather_rows(const PlannedExchange& what) {
    const ReplayedRows rows(what, exchange_->size());
    Tensor values = slice(memory_, 0, memory_.dtype(), rows.shape());
    Tensor places = Tensor::zeros({rows.count}, rows.index);
    return exchange_->all_gather_rows(values, places, allocator_);
  }

  const ReplayJob& job_;
  const DType wire_;
  const std::unique_ptr<Exchange> exchange_;
  const Tensor memory_;
  PlainAllocator allocator_;
  Begun begun_;
};

// Each exchange is a key of parameter servers, which make the mean of it. So no
// values have to be given to them first; what an optimizer would do to a part
// is done while the next one arrives. Rows of a table have an optimizer that
// changes nothing, and no two workers have the same ones, while the table has
// enough.
class ByKeys final : public ReplayedExchanges {
 public:
  ByKeys(const ReplayJob& job, std::unique_ptr<KvWorker> worker)
      : job_(job), worker_(std::move(worker)), memory_(memory_for(job)) {}

  Status add_keys(Communicator& comm) {
    // In one list, as a strategy adds a graph's variables: how they are divided
    // among servers follows from all of them.
    std::vector<Key> keys;
    rows_.resize(job_.exchanges.size());
    for (size_t i = 0; i < job_.exchanges.size(); ++i) {
      const PlannedExchange& exchange = job_.exchanges[i];
      if (exchange.rows == 0) {
        keys.push_back(key(name_of(i), elements_of(exchange)));
        continue;
      }
      const ReplayedRows rows(exchange, comm.size());
      keys.push_back({.name = name_of(i),
                      .dtype = DType::kF32,
                      .shape = {rows.table, rows.width},
                      .by_rows = true,
                      .optimizer = KvOptimizer::gradient_descent(0)});
      rows_[i] = {places_of(rows, comm),
                  slice(memory_, 0, memory_.dtype(), rows.shape())};
    }
    RONDO_RETURN_IF_ERROR(worker_->add(keys));
    RONDO_RETURN_IF_ERROR(worker_->add({key("warm-up", kWarmUpElements)}));
    return set_tables(keys, comm);
  }

  Status begin(size_t i) override {
    const PlannedExchange& exchange = job_.exchanges[i];
    if (exchange.rows == 0) {
      push_pull(name_of(i), elements_of(exchange));
      return {};
    }
    worker_->push_pull_rows(name_of(i), rows_[i].indices, rows_[i].rows,
                            std::make_shared<KvRows>(), {.done = begun_.add()});
    return {};
  }
  Result<std::vector<Clock::time_point>> finish() override {
    return begun_.wait();
  }
  Status warm_up() override {
    push_pull("warm-up", kWarmUpElements);
    return begun_.wait().status();
  }

 private:
  static std::string name_of(size_t i) { return fmt::format("key {}", i); }
  static Key key(std::string name, int64_t count) {
    return {.name = std::move(name),
            .dtype = DType::kF32,
            .shape = {count},
            .reduces = ReduceOp::kAvg};
  }
  static Tensor places_of(const ReplayedRows& rows, const Communicator& comm) {
    Tensor places = Tensor::empty({rows.count}, DType::kI64);
    int64_t place = comm.rank();
    for (int64_t& one : places.span<int64_t>()) {
      one = place % rows.table;
      place += comm.size();
    }
    return places;
  }
  // Before anybody pushes; from then on only what was pushed comes back.
  Status set_tables(const std::vector<Key>& keys, Communicator& comm) {
    RONDO_RETURN_IF_ERROR(comm.barrier());
    for (const Key& key : keys) {
      if (!key.by_rows) continue;
      if (comm.rank() == 0)
        RONDO_RETURN_IF_ERROR(
            worker_->set(key.name, Tensor::full(key.shape, 0.0F), {})
                .wait(Deadline::never()));
      RONDO_RETURN_IF_ERROR(worker_->know_rows(key.name));
    }
    return comm.barrier();
  }
  // What comes is what was there.
  void push_pull(const std::string& name, int64_t count) {
    const Tensor tensor = first_of(memory_, count);
    worker_->push_pull(name, tensor, tensor, {.done = begun_.add()});
  }

  const ReplayJob& job_;
  const std::unique_ptr<KvWorker> worker_;
  const Tensor memory_;
  std::vector<KvRows> rows_;  // that this worker pushes, by exchange
  Begun begun_;
};

}  // namespace

Result<ReplayPlace> ReplayPlace::connect(const Env& env, const ReplayJob& job) {
  const Method& method = job.method;
  RONDO_ASSIGN_OR_RETURN(auto settings, CommunicatorOptions::from_env(env));
  settings.timeout = kTimeout;
  std::unique_ptr<KvWorker> servers;
  if (method.spare > 0) {
    RONDO_ASSIGN_OR_RETURN(
        servers, connect_servers(
                     env, {.mode = KvMode::kSync}, method.name(), settings,
                     method.by_keys() ? ServerTraffic() : reducing_traffic()));
    if (servers->servers() != method.spare)
      return error(Code::kInvalidArgument,
                   "{} needs {} servers, and the job has {}", method.name(),
                   method.spare, servers->servers());
  } else {
    settings.algorithm = name_of(method.kind);
  }
  // Servers leave the ring to the ranks.
  if (method.kind == MethodKind::kHybrid) settings.algorithm = "ring";
  ReplayPlace place;
  RONDO_ASSIGN_OR_RETURN(place.comm, Communicator::world(std::move(settings)));
  if (method.by_keys()) {
    auto keys = std::make_unique<ByKeys>(job, std::move(servers));
    RONDO_RETURN_IF_ERROR(keys->add_keys(place.comm));
    place.exchanges = std::move(keys);
    return place;
  }
  std::unique_ptr<Exchange> by;
  if (method.kind == MethodKind::kHybrid)
    by = std::make_unique<HybridExchange>(
        place.comm, false, std::move(servers),
        best_server_share(place.comm.size(), method.spare));
  else
    by = std::make_unique<CommunicatorExchange>(place.comm);
  place.exchanges = std::make_unique<InOrder>(job, std::move(by));
  return place;
}

}  // namespace rondo
