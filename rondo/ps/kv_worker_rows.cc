// Rows of keys: each goes to, and comes from, the server that keeps it.
#include <cstring>

#include "rondo/ps/kv_worker.h"

namespace rondo {

namespace {

Status check_rows(const Key& key, const Tensor& indices, const Tensor& rows) {
  if (rows.dtype() == key.dtype &&
      rows.count() == indices.count() * key.width())
    return {};
  return error(Code::kInvalidArgument, "{}{} are not {} rows of \"{}\" {}{}",
               name_of(rows.dtype()), rows.shape().to_string(), indices.count(),
               key.name, name_of(key.dtype), key.shape.to_string());
}

}  // namespace

Result<KvWorker::Divided> KvWorker::divide(std::string_view name,
                                           const Tensor& indices,
                                           const Tensor& values) const {
  RONDO_ASSIGN_OR_RETURN(std::shared_ptr<Added> added, find(name));
  const Key& key = added->key;
  RONDO_RETURN_IF_ERROR(check_rows(key, indices, values));
  if (!key.by_rows || indices.dtype() != DType::kI64)
    return error(Code::kInvalidArgument, "rows of \"{}\": {}", key.name,
                 key.by_rows ? "their indices must be i64"
                             : "the key was not added by rows");
  const int64_t width = key.width();
  const MutexLock lock(added->mutex);
  std::vector<std::vector<int64_t>> rows(added->parts.size());
  std::vector<RowsOfPart> made(added->parts.size());
  const auto all = indices.span<int64_t>();
  for (size_t k = 0; k < all.size(); ++k) {
    if (all[k] < 0 || all[k] >= key.shape.count() / width)
      return error(Code::kInvalidArgument, "there is no row {} in \"{}\" {}",
                   all[k], key.name, key.shape.to_string());
    size_t p = 0;
    while (all[k] * width >= added->parts[p].range.end) ++p;
    rows[p].push_back(all[k]);
    made[p].places.push_back(static_cast<int64_t>(k));
  }
  for (size_t p = 0; p < made.size(); ++p)
    made[p].indices =
        Tensor::of<int64_t>({static_cast<int64_t>(rows[p].size())}, rows[p]);
  return Divided{std::move(added), std::move(made)};
}

KvWork KvWorker::push_rows(std::string_view key, const Tensor& indices,
                           const Tensor& rows, PushOptions options) {
  const Result<Divided> found = divide(key, indices, rows);
  if (!found.ok()) {
    if (options.done) options.done(found.status());
    return KvWork(found.status());
  }
  const auto& [added, divided] = *found;
  const int64_t width = added->key.width();
  const size_t row_bytes = static_cast<size_t>(width) * size_of(rows.dtype());
  const auto* from = static_cast<const char*>(rows.data());
  KvWork work;
  {
    const MutexLock lock(added->mutex);
    work = KvWork(static_cast<int>(divided.size()) + 1,
                  sticky(std::move(options.done)));
    next_step(*added);
    for (size_t p = 0; p < divided.size(); ++p) {
      const Part& part = added->parts[p];
      Tensor some =
          Tensor::empty({divided[p].indices.count(), width}, rows.dtype());
      auto* to = static_cast<char*>(some.data());
      for (const int64_t place : divided[p].places) {
        std::memcpy(to, from + static_cast<size_t>(place) * row_bytes,
                    row_bytes);
        to += row_bytes;
      }
      send_push(part, options, {std::move(some), divided[p].indices}, true,
                nullptr, work);
    }
  }
  work.finish_part({});
  return work;
}

KvWork KvWorker::pull_rows(std::string_view key, const Tensor& indices,
                           const Tensor& into, KvWork::Done done) {
  const Result<Divided> found = divide(key, indices, into);
  if (!found.ok()) {
    if (done) done(found.status());
    return KvWork(found.status());
  }
  const auto& [added, divided] = *found;
  const size_t row_bytes =
      static_cast<size_t>(added->key.width()) * size_of(added->key.dtype);
  KvWork work;
  {
    const MutexLock lock(added->mutex);
    work = KvWork(static_cast<int>(divided.size()) + 1, std::move(done));
    for (size_t p = 0; p < divided.size(); ++p) {
      const Part& part = added->parts[p];
      const kv::Pull pull{.part = part.number,
                          .step = part.sequence,
                          .timeout_ms = timeout_ms(),
                          .by_rows = true};
      link(part.range)
          .call({kv::kPull, pull.encode(), {divided[p].indices}}, deadline(),
                [work, out = into, row_bytes, places = divided[p].places](
                    const Result<LinkAnswer>& answer) mutable {
                  Status outcome = answer.status();
                  if (outcome.ok() &&
                      (answer->tensors.size() != 1 ||
                       answer->tensors[0].bytes() != places.size() * row_bytes))
                    outcome = kv::damaged("the answer to a pull of rows");
                  if (outcome.ok()) {
                    const auto* from =
                        static_cast<const char*>(answer->tensors[0].data());
                    auto* to = static_cast<char*>(out.data());
                    for (const int64_t place : places) {
                      std::memcpy(to + static_cast<size_t>(place) * row_bytes,
                                  from, row_bytes);
                      from += row_bytes;
                    }
                  }
                  work.finish_part(outcome);
                });
    }
  }
  work.finish_part({});
  return work;
}

}  // namespace rondo
