#include "rondo/ps/kv_service.h"

#include <iterator>

#include "rondo/base/attempt.h"
#include "rondo/base/log.h"

namespace rondo {

KvService::KvService(KvServiceOptions options)
    : options_(std::move(options)),
      members_(options_.rules.workers, options_.worker_patience) {
  log_.keeps = !options_.folder.empty();
  log_.update = [this](const PartUpdate& update) -> Status {
    if (!history_) return {};
    return append(KvRecord::kUpdate, encode_update(update), payload_of(update));
  };
  log_.initialize = [this](int64_t number, const Tensor& value) {
    return append(KvRecord::kInitialize, wire::Writer().number(number).take(),
                  {&value, 1});
  };
  log_.set = [this](const PartSetting& setting,
                    std::span<const Tensor> tensors) {
    return append(KvRecord::kSet, encode_setting(setting), tensors);
  };
}

// ---- Calls ------------------------------------------------------------------

void KvService::serve(uint64_t link, LinkCall call, StoredPart::Answer answer) {
  StoredPart::Answers answers;
  const Status status = attempt([&]() -> Status {
    if (call.method == kv::kHello) {
      auto who = hello(link, call);
      answers.add(std::move(answer), std::move(who));
      return {};
    }
    const int worker = members_.worker_of(link);
    if (worker < 0)
      return error(Code::kInvalidArgument,
                   "a call came before its worker said who it is");
    return dispatch({worker, link}, call, answer, answers);
  });
  // Whoever took the answer has moved it away.
  if (!status.ok() && answer) answers.add(std::move(answer), status);
}

Status KvService::dispatch(StoredPart::From from, LinkCall& call,
                           StoredPart::Answer& answer,
                           StoredPart::Answers& answers) {
  switch (call.method) {
    case kv::kClaim: {
      auto winner = claim(from.worker, call);
      answers.add(std::move(answer), std::move(winner));
      return {};
    }
    case kv::kAddPart: {
      // Who waited for the value gets it after this worker its answer.
      auto about = add_part(from.worker, call, answers);
      answers.add(std::move(answer), std::move(about));
      return {};
    }
    case kv::kPush: {
      RONDO_ASSIGN_OR_RETURN(const auto push, kv::Push::decode(call.body));
      RONDO_ASSIGN_OR_RETURN(const auto at, part(push.part));
      at->push(from, push, std::move(call.tensors), answer, answers);
      return {};
    }
    case kv::kPull: {
      RONDO_ASSIGN_OR_RETURN(const auto pull, kv::Pull::decode(call.body));
      RONDO_ASSIGN_OR_RETURN(const auto at, part(pull.part));
      at->pull(from, pull, std::move(call.tensors), answer, answers);
      return {};
    }
    case kv::kSet: {
      RONDO_ASSIGN_OR_RETURN(const auto set, kv::SetPart::decode(call.body));
      RONDO_ASSIGN_OR_RETURN(const auto at, part(set.part));
      Status status;
      at->set(set, call.tensors, answers, status);
      answers.add(std::move(answer),
                  status.ok() ? Result<LinkAnswer>(LinkAnswer{}) : status);
      return {};
    }
    case kv::kAbort: {
      wire::Reader reader(call.body);
      const std::string reason(reader.text());
      if (!reader.ok()) return kv::damaged("a reason");
      const Status why = error(Code::kCancelled, "{} gave up: {}",
                               members_.describe(from.worker), reason);
      for (const auto& one : parts()) one->fail(why, answers);
      answers.add(std::move(answer), LinkAnswer{});
      return {};
    }
    case kv::kLeave: {
      auto done = leave(from.worker, answers);
      answers.add(std::move(answer), std::move(done));
      return {};
    }
    case kv::kReturn: {
      auto done = return_from_leave(from.worker);
      answers.add(std::move(answer), std::move(done));
      return {};
    }
    default:
      return error(Code::kInvalidArgument,
                   "parameter servers have no method {}", call.method);
  }
}

Result<LinkAnswer> KvService::hello(uint64_t link, const LinkCall& call) {
  RONDO_ASSIGN_OR_RETURN(const auto who, kv::Hello::decode(call.body));
  RONDO_ASSIGN_OR_RETURN(const bool returns, members_.come(link, who));
  const MutexLock lock(mutex_);
  // A server that is started again must wait for it, too.
  if (returns)
    RONDO_RETURN_IF_ERROR(
        append(KvRecord::kReturn, wire::Writer().number(who.worker).take()));
  return LinkAnswer{kv::HelloAnswer{options_.server, name_}.encode(), {}};
}

Result<LinkAnswer> KvService::claim(int worker, const LinkCall& call) {
  wire::Reader reader(call.body);
  const std::string key(reader.text());
  if (!reader.ok()) return kv::damaged("a claim");
  const MutexLock lock(mutex_);
  auto at = claims_.find(key);
  if (at == claims_.end()) {
    RONDO_RETURN_IF_ERROR(append(
        KvRecord::kClaim, wire::Writer().text(key).number(worker).take()));
    at = claims_.emplace(key, worker).first;
  }
  return LinkAnswer{wire::Writer().number(at->second).take(), {}};
}

Result<LinkAnswer> KvService::add_part(int worker, const LinkCall& call,
                                       StoredPart::Answers& answers) {
  RONDO_ASSIGN_OR_RETURN(const auto what, kv::AddPart::decode(call.body));
  RONDO_ASSIGN_OR_RETURN(const auto at, find_or_add(what));
  Status status;
  if (!call.tensors.empty()) at->initialize(call.tensors[0], answers, status);
  RONDO_RETURN_IF_ERROR(status);
  return LinkAnswer{at->about(worker).encode(), {}};
}

Result<LinkAnswer> KvService::leave(int worker, StoredPart::Answers& answers) {
  members_.leave(worker);
  {
    const MutexLock lock(mutex_);
    RONDO_RETURN_IF_ERROR(
        append(KvRecord::kLeave, wire::Writer().number(worker).take()));
  }
  for (const auto& one : parts()) one->settle(answers);
  return LinkAnswer{};
}

Result<LinkAnswer> KvService::return_from_leave(int worker) {
  const MutexLock lock(mutex_);
  // Said again where its answer was lost.
  if (members_.left(worker)) {
    members_.return_from_leave(worker);
    RONDO_RETURN_IF_ERROR(
        append(KvRecord::kReturn, wire::Writer().number(worker).take()));
  }
  return LinkAnswer{};
}

// ---- Parts ------------------------------------------------------------------

// A key may have thousands of parts, and each comes as often as there are
// workers. They are of one key and apart from each other, so one that differs
// from some of them, or overlaps one, does so with the next.
std::vector<size_t> KvService::neighbours(const kv::AddPart& what) const {
  std::vector<size_t> found;
  const auto add = [&](const auto& at) {
    if (at->first.first == what.key.name) found.push_back(at->second);
  };
  const auto next = numbers_.lower_bound({what.key.name, what.begin});
  if (next != numbers_.end()) add(next);
  if (next != numbers_.begin()) add(std::prev(next));
  return found;
}

Result<std::shared_ptr<StoredPart>> KvService::find_or_add(
    const kv::AddPart& what) {
  if (what.key.dtype > DType::kBF16)
    return error(Code::kInvalidArgument,
                 "\"{}\" is {}: parameter servers keep floating-point numbers",
                 what.key.name, name_of(what.key.dtype));
  if (what.key.reduces && options_.rules.mode != KvMode::kSync)
    return error(Code::kInvalidArgument,
                 "\"{}\" is only reduced, which needs the synchronous mode",
                 what.key.name);
  const MutexLock lock(mutex_);
  for (const size_t number : neighbours(what)) {
    const kv::AddPart& has = parts_[number]->what();
    if (has.key == what.key && has.begin == what.begin && has.end == what.end)
      return parts_[number];
    const bool apart = has.end <= what.begin || what.end <= has.begin;
    if (has.key != what.key || !apart)
      return error(Code::kMismatch,
                   "elements {} to {} of \"{}\" {}{} are asked for, and {} to "
                   "{} of {}{} "
                   "are here: all workers must add the same keys, in the same "
                   "order, with "
                   "the same number of servers",
                   what.begin, what.end, what.key.name, name_of(what.key.dtype),
                   what.key.shape.to_string(), has.begin, has.end,
                   name_of(has.key.dtype), has.key.shape.to_string());
  }
  // Made before it is logged: there may be no memory for it.
  const size_t number = parts_.size();
  auto made = std::make_shared<StoredPart>(static_cast<int64_t>(number), what,
                                           options_.rules, members_, log_);
  RONDO_RETURN_IF_ERROR(append(KvRecord::kAddPart, what.encode()));
  parts_.push_back(std::move(made));
  numbers_[{what.key.name, what.begin}] = number;
  return parts_.back();
}

Result<std::shared_ptr<StoredPart>> KvService::part(int64_t number) {
  const MutexLock lock(mutex_);
  if (number < 0 || number >= static_cast<int64_t>(parts_.size()))
    return error(Code::kInvalidArgument, "this parameter server has no part {}",
                 number);
  return parts_[static_cast<size_t>(number)];
}

std::vector<std::shared_ptr<StoredPart>> KvService::parts() {
  const MutexLock lock(mutex_);
  return parts_;
}

void KvService::look_after() {
  const Status looked = attempt([&]() -> Status {
    for (const auto& one : parts()) {
      StoredPart::Answers answers;
      one->look_after(answers);
    }
    return {};
  });
  if (!looked.ok())
    log(LogLevel::kWarning, "parameter server {} could not end waits: {}",
        options_.server, looked.message());
}

}  // namespace rondo
