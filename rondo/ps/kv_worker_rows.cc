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

// Rows of `from` at these places, one behind the other.
Tensor gather(const Tensor& from, const std::vector<int64_t>& places,
              int64_t width) {
  Tensor made =
      Tensor::empty({static_cast<int64_t>(places.size()), width}, from.dtype());
  const size_t bytes = static_cast<size_t>(width) * size_of(from.dtype());
  const auto* in = static_cast<const char*>(from.data());
  auto* out = static_cast<char*>(made.data());
  for (const int64_t place : places) {
    std::memcpy(out, in + static_cast<size_t>(place) * bytes, bytes);
    out += bytes;
  }
  return made;
}

// Puts what a server has sent to its places.
Status scatter(const Result<LinkAnswer>& answer,
               const std::vector<int64_t>& places, size_t row_bytes,
               Tensor into) {
  if (!answer.ok()) return answer.status();
  if (answer->tensors.size() != 1 ||
      answer->tensors[0].bytes() != places.size() * row_bytes)
    return kv::damaged("the answer to a pull of rows");
  const auto* from = static_cast<const char*>(answer->tensors[0].data());
  auto* to = static_cast<char*>(into.data());
  for (const int64_t place : places) {
    std::memcpy(to + static_cast<size_t>(place) * row_bytes, from, row_bytes);
    from += row_bytes;
  }
  return {};
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
  if (!found.ok()) return refuse(found.status(), options.done);
  Added& added = *found->added;
  return to_each_part(
      added, true, std::move(options.done),
      [&](size_t p, const Part& part, const KvWork& work) {
        const RowsOfPart& some = found->parts[p];
        send_push(part, options,
                  {gather(rows, some.places, added.key.width()), some.indices},
                  true, nullptr, work);
      });
}

KvWork KvWorker::pull_rows(std::string_view key, const Tensor& indices,
                           const Tensor& into, KvWork::Done done) {
  const Result<Divided> found = divide(key, indices, into);
  if (!found.ok()) return refuse(found.status(), done);
  Added& added = *found->added;
  const size_t row_bytes =
      static_cast<size_t>(added.key.width()) * size_of(added.key.dtype);
  return to_each_part(
      added, false, std::move(done),
      [&](size_t p, const Part& part, const KvWork& work) {
        const kv::Pull pull{.part = part.number,
                            .step = part.sequence,
                            .timeout_ms = timeout_ms(),
                            .by_rows = true};
        const RowsOfPart& some = found->parts[p];
        link(part.range)
            .call({kv::kPull, pull.encode(), {some.indices}}, deadline(),
                  [work, into, row_bytes,
                   places = some.places](const Result<LinkAnswer>& answer) {
                    work.finish_part(scatter(answer, places, row_bytes, into));
                  });
      });
}

}  // namespace rondo
