// What a KvService writes into its folder, and how it begins with what is
// there.
#include "rondo/base/attempt.h"
#include "rondo/ps/kv_service.h"
#include "rondo/ps/slice.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

Status check(const KvServiceOptions& options) {
  const KvRules& rules = options.rules;
  if (options.server < 0 || rules.workers < 1)
    return error(Code::kInvalidArgument,
                 "a parameter server needs a number and workers");
  if (rules.backup < 0 || rules.backup >= rules.workers || rules.staleness < 0)
    return error(Code::kInvalidArgument,
                 "of {} workers {} cannot be backup workers, and staleness {} "
                 "must not be negative",
                 rules.workers, rules.backup, rules.staleness);
  return {};
}

}  // namespace

Result<std::unique_ptr<KvService>> KvService::open(KvServiceOptions options) {
  RONDO_RETURN_IF_ERROR(check(options));
  std::unique_ptr<KvService> made(new KvService(std::move(options)));
  // Also where something in the folder is too large for the memory.
  RONDO_RETURN_IF_ERROR(attempt([&] { return made->open_history(); }));
  return made;
}

Status KvService::snapshot() {
  return history_->snapshot([this] { return image(); });
}

Status KvService::append(KvRecord kind, std::string_view body,
                         std::span<const Tensor> payload) {
  return history_ ? history_->append(kind, body, payload) : Status();
}

Status KvService::open_history() {
  if (!options_.folder.empty()) {
    // The log that is opened is not written to while it is read.
    RONDO_ASSIGN_OR_RETURN(
        history_,
        KvHistory::open(
            {.folder =
                 fmt::format("{}/server-{}", options_.folder, options_.server),
             .to_disk = options_.to_disk,
             .snapshot_bytes = options_.snapshot_bytes},
            [this](KvImage image) { return restore(std::move(image)); },
            [this](const LogRecord& one) { return replay(one); }));
  }
  const MutexLock lock(mutex_);
  if (name_ != 0) return {};
  name_ = random_u64();
  return append(KvRecord::kBegin,
                wire::Writer()
                    .number(static_cast<int64_t>(name_))
                    .text(options_.rules.optimizer.to_string())
                    .take());
}

namespace {

Status check_optimizer(const KvRules& rules, std::string_view there) {
  const std::string here = rules.optimizer.to_string();
  if (there == here) return {};
  return error(Code::kMismatch,
               "the folder was written with another optimizer\n  there: {}\n  "
               "here:  {}\n  do: use the same, or another folder",
               there, here);
}

}  // namespace

Status KvService::restore(KvImage image) {
  RONDO_RETURN_IF_ERROR(check_optimizer(options_.rules, image.optimizer));
  for (const int64_t worker : image.left)
    if (worker >= 0 && worker < options_.rules.workers)
      members_.leave(static_cast<int>(worker));
  for (PartImage& one : image.parts) {
    one.counted.resize(static_cast<size_t>(options_.rules.workers));
    RONDO_ASSIGN_OR_RETURN(const auto part, find_or_add(one.what));
    RONDO_RETURN_IF_ERROR(part->restore(std::move(one)));
  }
  const MutexLock lock(mutex_);
  name_ = image.history;
  claims_ = std::move(image.claims);
  return {};
}

KvImage KvService::image() {
  KvImage made;
  std::vector<std::shared_ptr<StoredPart>> all;
  {
    const MutexLock lock(mutex_);
    made.history = name_;
    made.claims = claims_;
    all = parts_;
    for (int worker = 0; worker < options_.rules.workers; ++worker)
      if (members_.left(worker)) made.left.push_back(worker);
  }
  made.optimizer = options_.rules.optimizer.to_string();
  for (const auto& one : all) made.parts.push_back(one->image());
  return made;
}

Status KvService::replay(const LogRecord& record) {
  wire::Reader reader(record.body);
  switch (static_cast<KvRecord>(record.kind)) {
    case KvRecord::kBegin: {
      const MutexLock lock(mutex_);
      name_ = static_cast<uint64_t>(reader.number());
      return check_optimizer(options_.rules, reader.text());
    }
    case KvRecord::kClaim: {
      const MutexLock lock(mutex_);
      std::string key(reader.text());
      claims_.emplace(std::move(key), static_cast<int>(reader.number()));
      return {};
    }
    case KvRecord::kAddPart: {
      RONDO_ASSIGN_OR_RETURN(const auto what, kv::AddPart::decode(record.body));
      return find_or_add(what).status();
    }
    case KvRecord::kInitialize: {
      RONDO_ASSIGN_OR_RETURN(const auto at, part(reader.number()));
      const kv::AddPart& what = at->what();
      const int64_t count = what.end - what.begin;
      const size_t bytes = static_cast<size_t>(count) * size_of(what.key.dtype);
      if (record.payload.bytes() != bytes)
        return kv::damaged("an initial value in the log");
      return at->replay(record.payload.view(what.key.dtype, {count}));
    }
    case KvRecord::kUpdate: {
      RONDO_ASSIGN_OR_RETURN(const auto update, decode_update(record));
      for (const auto& [worker, sequence] : update.pushes)
        if (worker < 0 || worker >= options_.rules.workers)
          return error(Code::kMismatch,
                       "the folder has pushes of worker {}, but there are only "
                       "{} workers now",
                       worker, options_.rules.workers);
      RONDO_ASSIGN_OR_RETURN(const auto at, part(update.part));
      return at->replay(update);
    }
    case KvRecord::kSet: {
      RONDO_ASSIGN_OR_RETURN(const auto setting, decode_setting(record));
      RONDO_ASSIGN_OR_RETURN(const auto at, part(setting.part));
      const kv::AddPart& what = at->what();
      const int64_t count = what.end - what.begin;
      const size_t bytes = static_cast<size_t>(count) * size_of(what.key.dtype);
      std::vector<Tensor> tensors;
      if (record.payload.bytes() != at->tensors() * bytes)
        return kv::damaged("a setting in the log");
      for (size_t k = 0; k < at->tensors(); ++k)
        tensors.push_back(
            slice(record.payload, k * bytes, what.key.dtype, {count}));
      return at->replay(setting, std::move(tensors));
    }
    case KvRecord::kLeave:
    case KvRecord::kReturn: {
      const auto worker = static_cast<int>(reader.number());
      if (worker < 0 || worker >= options_.rules.workers) return {};
      if (record.kind == static_cast<uint32_t>(KvRecord::kLeave))
        members_.leave(worker);
      else
        members_.return_from_leave(worker);
      return {};
    }
  }
  return kv::damaged("a record");
}

}  // namespace rondo
