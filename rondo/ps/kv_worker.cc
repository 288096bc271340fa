#include "rondo/ps/kv_worker.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "rondo/ps/slice.h"
#include "rondo/transport/card.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

Tensor part_of(const Tensor& whole, const KeyPart& part) {
  return slice(whole, static_cast<size_t>(part.begin) * size_of(whole.dtype()),
               whole.dtype(), {part.count()});
}

// What a server has sent is where it belongs, or is put there.
Status place(const Result<LinkAnswer>& answer, Tensor into) {
  if (!answer.ok()) return answer.status();
  if (answer->tensors.size() != 1 ||
      answer->tensors[0].dtype() != into.dtype() ||
      answer->tensors[0].bytes() != into.bytes())
    return kv::damaged("the answer to a pull");
  const Tensor& came = answer->tensors[0];
  if (came.data() != into.data() && came.bytes() > 0)
    std::memcpy(into.data(), came.data(), came.bytes());
  return {};
}

// Notes which step the part has made.
Status note(const Result<LinkAnswer>& answer, std::atomic<int64_t>& made) {
  if (!answer.ok()) return answer.status();
  RONDO_ASSIGN_OR_RETURN(const auto about,
                         kv::PushAnswer::decode(answer->body));
  note_highest(made, about.version);
  return {};
}

}  // namespace

KvWorker::KvWorker(KvWorkerOptions options) : options_(std::move(options)) {}

KvWorker::~KvWorker() {
  if (!forked()) return;
  // Their ends would wait for threads that are not in this process.
  for (auto& link : links_)
    (void)link.release();  // NOLINT(bugprone-unused-return-value)
}

Result<std::unique_ptr<KvWorker>> KvWorker::connect(KvWorkerOptions options) {
  if (!options.store || options.servers < 1 || options.worker < 0 ||
      options.worker >= options.workers)
    return error(Code::kInvalidArgument,
                 "a worker of parameter servers needs a store, servers, and a "
                 "number below that of workers");
  const Deadline deadline(options.connect_timeout);
  std::unique_ptr<KvWorker> made(new KvWorker(std::move(options)));
  const KvWorkerOptions& with = made->options_;
  const kv::Hello hello{with.worker, with.workers, random_u64(),
                        fmt::format("{}, pid {}", host_name(), getpid())};
  for (int server = 0; server < with.servers; ++server) {
    made->links_.push_back(std::make_unique<ServerLink>(
        ServerLink::Options{.server = server,
                            .hello = hello,
                            .store = with.store,
                            .token = with.token,
                            .shares_memory = with.shares_memory,
                            .patience = with.server_patience,
                            .most_under_way = with.most_under_way}));
    RONDO_RETURN_IF_ERROR(made->links_.back()->connect(deadline).with_context(
        fmt::format("worker {}", with.worker)));
  }
  return made;
}

int64_t KvWorker::timeout_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(options_.timeout)
      .count();
}

// ---- Keys -------------------------------------------------------------------

std::vector<KeyPart> KvWorker::in_turn(std::vector<KeyPart> parts) const {
  if (!options_.in_order) return parts;
  std::vector<int> given(static_cast<size_t>(options_.servers));
  std::vector<std::pair<int, KeyPart>> turns;
  for (const KeyPart& part : parts)
    turns.emplace_back(given[static_cast<size_t>(part.server)]++, part);
  std::ranges::stable_sort(turns, {}, &std::pair<int, KeyPart>::first);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = turns[i].second;
  return parts;
}

Status KvWorker::add(const std::vector<Key>& keys,
                     const std::vector<Tensor>& initial) {
  if (!initial.empty() && initial.size() != keys.size())
    return error(Code::kInvalidArgument, "{} initial values for {} keys",
                 initial.size(), keys.size());
  const auto parts =
      split_keys(keys, {.servers = options_.servers,
                        .most_part_bytes = options_.most_part_bytes});
  std::vector<std::shared_ptr<Added>> added;
  for (size_t i = 0; i < keys.size(); ++i) {
    auto one = std::make_shared<Added>();
    one->key = keys[i];
    if (!initial.empty())
      RONDO_RETURN_IF_ERROR(check(*one, initial[i], "the initial value"));
    const int64_t flow = options_.in_order ? 0 : flows_++;
    const MutexLock lock(one->mutex);
    for (const KeyPart& part : in_turn(parts[i]))
      one->parts.push_back({part, flow});
    added.push_back(one);
  }
  std::vector<bool> mine(keys.size(), false);
  if (!initial.empty()) RONDO_RETURN_IF_ERROR(claim(keys, mine));
  for (size_t i = 0; i < keys.size(); ++i)
    RONDO_RETURN_IF_ERROR(
        add_parts(*added[i], mine[i] ? &initial[i] : nullptr));
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < keys.size(); ++i)
    if (!keys_.emplace(keys[i].name, added[i]).second)
      return error(Code::kInvalidArgument, "the key \"{}\" was added twice",
                   keys[i].name);
  return {};
}

// Server 0 says whose initial values count, so that all parts of a key come
// from one worker.
Status KvWorker::claim(const std::vector<Key>& keys, std::vector<bool>& mine) {
  // Shared: a wait that is interrupted leaves the calls behind.
  auto winners = std::make_shared<std::vector<int64_t>>(keys.size(), -1);
  const KvWork work(static_cast<int>(keys.size()) + 1, {});
  for (size_t i = 0; i < keys.size(); ++i)
    links_[0]->call({kv::kClaim, wire::Writer().text(keys[i].name).take(), {}},
                    deadline(),
                    [work, winners, i](const Result<LinkAnswer>& answer) {
                      if (answer.ok())
                        (*winners)[i] = wire::Reader(answer->body).number();
                      work.finish_part(answer.status());
                    });
  work.finish_part({});
  // Each call has a deadline of its own.
  RONDO_RETURN_IF_ERROR(work.wait(Deadline::never()));
  for (size_t i = 0; i < keys.size(); ++i)
    mine[i] = (*winners)[i] == options_.worker;
  return {};
}

Status KvWorker::add_parts(Added& added, const Tensor* initial) {
  const MutexLock lock(added.mutex);
  const size_t count = added.parts.size();
  auto abouts = std::make_shared<std::vector<kv::PartAnswer>>(count);
  const KvWork work(static_cast<int>(count) + 1, {});
  for (size_t i = 0; i < count; ++i) {
    const KeyPart& range = added.parts[i].range;
    LinkCall call{kv::kAddPart,
                  kv::AddPart{added.key, range.begin, range.end}.encode(),
                  {}};
    if (initial != nullptr) call.tensors.push_back(part_of(*initial, range));
    link(range).call(call, deadline(),
                     [work, abouts, i](const Result<LinkAnswer>& answer) {
                       Status status = answer.status();
                       if (answer.ok()) {
                         auto about = kv::PartAnswer::decode(answer->body);
                         status = about.status();
                         if (about.ok()) (*abouts)[i] = *about;
                       }
                       work.finish_part(status);
                     });
  }
  work.finish_part({});
  RONDO_RETURN_IF_ERROR(work.wait(Deadline::never())
                            .with_context(fmt::format(
                                "cannot add the key \"{}\"", added.key.name)));
  // A worker that is started again may have been killed between two parts of
  // one push. Its next push is the same one for all of them: where it counted
  // already, the server only acknowledges it.
  int64_t sequence = std::numeric_limits<int64_t>::max();
  for (const kv::PartAnswer& about : *abouts)
    sequence = std::min(sequence, about.sequence);
  for (size_t i = 0; i < count; ++i) {
    added.parts[i].number = (*abouts)[i].part;
    added.parts[i].sequence = sequence;
  }
  return {};
}

Result<std::shared_ptr<KvWorker::Added>> KvWorker::find(
    std::string_view key) const {
  {
    const MutexLock lock(failure_->mutex);
    if (!failure_->status.ok()) return failure_->status;
  }
  const MutexLock lock(mutex_);
  const auto at = keys_.find(key);
  if (at == keys_.end())
    return error(Code::kInvalidArgument,
                 "there is no key \"{}\": add it before it is used", key);
  return at->second;
}

Status KvWorker::check(const Added& added, const Tensor& tensor,
                       std::string_view what) const {
  if (tensor.dtype() == added.key.dtype && tensor.shape() == added.key.shape)
    return {};
  return error(Code::kInvalidArgument, "{} of \"{}\" is {}{}, the key {}{}",
               what, added.key.name, name_of(tensor.dtype()),
               tensor.shape().to_string(), name_of(added.key.dtype),
               added.key.shape.to_string());
}

Status KvWorker::check_gradient(const Added& added,
                                const Tensor& gradient) const {
  const Key& key = added.key;
  if (gradient.dtype() == DType::kBF16 && key.dtype == DType::kF32 &&
      !key.reduces && gradient.shape() == key.shape)
    return {};
  return check(added, gradient, "a gradient");
}

std::vector<KeyPart> KvWorker::parts(std::string_view key) const {
  std::vector<KeyPart> made;
  const auto added = find(key);
  if (!added.ok()) return made;
  const MutexLock lock((*added)->mutex);
  for (const Part& part : (*added)->parts) made.push_back(part.range);
  return made;
}

Status KvWorker::leave(Deadline deadline) {
  return tell_all(kv::kLeave, deadline);
}

Status KvWorker::come_back(Deadline deadline) {
  return tell_all(kv::kReturn, deadline);
}

Status KvWorker::tell_all(kv::Method method, Deadline deadline) {
  const KvWork work(options_.servers + 1, {});
  for (const auto& one : links_)
    one->call({method, "", {}}, this->deadline(),
              [work](const Result<LinkAnswer>& answer) {
                work.finish_part(answer.status());
              });
  work.finish_part({});
  return work.wait(deadline);
}

// ---- Pushes and pulls -------------------------------------------------------

KvWork::Done KvWorker::sticky(KvWork::Done done) {
  return [failure = failure_, done = std::move(done)](const Status& status) {
    if (!status.ok()) {
      const MutexLock lock(failure->mutex);
      if (failure->status.ok()) failure->status = status;
    }
    if (done) done(status);
  };
}

void KvWorker::send_push(const Part& part, const PushOptions& options,
                         std::vector<Tensor> tensors, bool by_rows,
                         const Tensor* into, const KvWork& work) {
  const kv::Push push{.part = part.number,
                      .sequence = part.sequence,
                      .learning_rate = options.learning_rate,
                      .timeout_ms = timeout_ms(),
                      .by_rows = by_rows,
                      .pulls = into != nullptr};
  LinkCall call{kv::kPush, push.encode(), std::move(tensors)};
  Tensor to;
  if (into != nullptr) {
    to = part_of(*into, part.range);
    call.into = {to};
  }
  link(part.range)
      .call(
          call, deadline(),
          [work, to, made = part.made,
           pulls = push.pulls](const Result<LinkAnswer>& answer) {
            Status status = note(answer, *made);
            if (status.ok() && pulls) status = place(answer, to);
            work.finish_part(status);
          },
          part.flow);
}

void KvWorker::next_step(Added& added) {
  int64_t all = std::numeric_limits<int64_t>::max();
  for (const Part& part : added.parts) all = std::min<int64_t>(all, *part.made);
  for (Part& part : added.parts)
    part.sequence = std::max(part.sequence, all) + 1;
}

KvWork KvWorker::refuse(const Status& why, const KvWork::Done& done) {
  if (done) done(why);
  return KvWork(why);
}

KvWork KvWorker::to_each_part(Added& added, bool pushes, KvWork::Done done,
                              const Send& send) {
  KvWork work;
  {
    const MutexLock lock(added.mutex);
    // One more than parts: nobody calls `done` while the lock is held.
    work = KvWork(static_cast<int>(added.parts.size()) + 1,
                  pushes ? sticky(std::move(done)) : std::move(done));
    if (pushes) next_step(added);
    for (size_t p = 0; p < added.parts.size(); ++p)
      send(p, added.parts[p], work);
  }
  work.finish_part({});
  return work;
}

KvWork KvWorker::push_into(std::string_view key, const Tensor& gradient,
                           const Tensor* into, PushOptions options) {
  auto added = find(key);
  Status status = added.status();
  if (status.ok()) status = check_gradient(**added, gradient);
  if (status.ok() && into != nullptr)
    status = check(**added, *into, "memory for the value");
  if (!status.ok()) return refuse(status, options.done);
  return to_each_part(**added, true, std::move(options.done),
                      [&](size_t, const Part& part, const KvWork& work) {
                        send_push(part, options,
                                  {part_of(gradient, part.range)}, false, into,
                                  work);
                      });
}

KvWork KvWorker::push(std::string_view key, const Tensor& gradient,
                      PushOptions options) {
  return push_into(key, gradient, nullptr, std::move(options));
}

KvWork KvWorker::push_pull(std::string_view key, const Tensor& gradient,
                           const Tensor& into, PushOptions options) {
  return push_into(key, gradient, &into, std::move(options));
}

KvWork KvWorker::pull(std::string_view key, const Tensor& into,
                      KvWork::Done done) {
  return pull_into(key, -1, into, std::move(done));
}

KvWork KvWorker::pull_slot(std::string_view key, int slot, const Tensor& into,
                           KvWork::Done done) {
  return pull_into(key, slot, into, std::move(done));
}

KvWork KvWorker::pull_into(std::string_view key, int slot, const Tensor& into,
                           KvWork::Done done) {
  auto added = find(key);
  Status status = added.status();
  if (status.ok()) status = check(**added, into, "memory for the value");
  if (!status.ok()) return refuse(status, done);
  return to_each_part(**added, false, std::move(done),
                      [&](size_t, const Part& part, const KvWork& work) {
                        const kv::Pull pull{.part = part.number,
                                            .step = part.sequence,
                                            .timeout_ms = timeout_ms(),
                                            .slot = slot};
                        const Tensor to = part_of(into, part.range);
                        link(part.range)
                            .call(
                                {kv::kPull, pull.encode(), {}, {to}},
                                deadline(),
                                [work, to](const Result<LinkAnswer>& answer) {
                                  work.finish_part(place(answer, to));
                                },
                                part.flow);
                      });
}

KvWork KvWorker::set(std::string_view key, const Tensor& value,
                     const std::vector<Tensor>& slots,
                     const BetaPowers& powers) {
  auto added = find(key);
  Status status = added.status();
  std::vector<Tensor> all = {value};
  all.insert(all.end(), slots.begin(), slots.end());
  for (const Tensor& one : all)
    if (status.ok()) status = check(**added, one, "a new value");
  if (!status.ok()) return KvWork(status);
  return to_each_part(
      **added, false, {}, [&](size_t, const Part& part, const KvWork& work) {
        LinkCall call{kv::kSet, kv::SetPart{part.number, powers}.encode(), {}};
        for (const Tensor& one : all)
          call.tensors.push_back(part_of(one, part.range));
        link(part.range)
            .call(
                call, deadline(),
                [work](const Result<LinkAnswer>& answer) {
                  work.finish_part(answer.status());
                },
                part.flow);
      });
}

void KvWorker::abort(const std::string& reason) {
  if (forked()) return;
  for (const auto& one : links_)
    one->call({kv::kAbort, wire::Writer().text(reason).take(), {}}, deadline(),
              [](const Result<LinkAnswer>&) {});
}

}  // namespace rondo
