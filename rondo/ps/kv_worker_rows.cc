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

// What a server has sent of a part, and which version it is.
Status take_rows(const Result<LinkAnswer>& answer, size_t row_bytes,
                 KvRows& rows, std::atomic<int64_t>& seen,
                 std::atomic<int64_t>& made) {
  if (!answer.ok()) return answer.status();
  RONDO_ASSIGN_OR_RETURN(const auto about,
                         kv::PushAnswer::decode(answer->body));
  if (answer->tensors.size() != 2 ||
      answer->tensors[1].dtype() != DType::kI64 ||
      answer->tensors[0].bytes() !=
          static_cast<size_t>(answer->tensors[1].count()) * row_bytes)
    return kv::damaged("the answer to a push of rows");
  rows = {answer->tensors[1], answer->tensors[0]};
  note_highest(made, about.version);
  note_highest(seen, about.made);
  return {};
}

// Of all parts, in the order of rows.
KvRows joined(const std::vector<KvRows>& parts, const Key& key) {
  int64_t count = 0;
  for (const KvRows& part : parts) count += part.indices.count();
  std::vector<int64_t> extents(key.shape.extents().begin(),
                               key.shape.extents().end());
  extents[0] = count;
  KvRows all{Tensor::empty({count}, DType::kI64),
             Tensor::empty(Shape(extents), key.dtype)};
  auto* indices = static_cast<char*>(all.indices.data());
  auto* rows = static_cast<char*>(all.rows.data());
  for (const KvRows& part : parts) {
    if (part.indices.count() == 0) continue;
    std::memcpy(indices, part.indices.data(), part.indices.bytes());
    std::memcpy(rows, part.rows.data(), part.rows.bytes());
    indices += part.indices.bytes();
    rows += part.rows.bytes();
  }
  return all;
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

void KvWorker::send_rows(const Part& part, const PushOptions& options,
                         std::vector<Tensor> tensors, KvRows& changed,
                         const KvWork& work) {
  const kv::Push push{.part = part.number,
                      .sequence = part.sequence,
                      .learning_rate = options.learning_rate,
                      .timeout_ms = timeout_ms(),
                      .by_rows = true,
                      .pulls = true,
                      .since = *part.seen};
  const size_t row_bytes =
      static_cast<size_t>(tensors[0].shape()[1]) * size_of(tensors[0].dtype());
  link(part.range)
      .call(
          {kv::kPush, push.encode(), std::move(tensors)}, deadline(),
          [work, row_bytes, &changed, seen = part.seen,
           made = part.made](const Result<LinkAnswer>& answer) {
            work.finish_part(
                take_rows(answer, row_bytes, changed, *seen, *made));
          },
          part.flow);
}

KvWork KvWorker::push_pull_rows(std::string_view key, const Tensor& indices,
                                const Tensor& rows,
                                const std::shared_ptr<KvRows>& changed,
                                PushOptions options) {
  const Result<Divided> found = divide(key, indices, rows);
  if (!found.ok()) return refuse(found.status(), options.done);
  Added& added = *found->added;
  // Each part has rows of its own, put together when all are there.
  auto of_parts = std::make_shared<std::vector<KvRows>>(found->parts.size());
  // Who waits for it must find them there.
  const KvWork whole(1, std::move(options.done));
  auto join = [of_parts, changed, key = added.key,
               whole](const Status& status) {
    if (status.ok()) *changed = joined(*of_parts, key);
    whole.finish_part(status);
  };
  to_each_part(
      added, true, std::move(join),
      [&](size_t p, const Part& part, const KvWork& work) {
        const RowsOfPart& some = found->parts[p];
        send_rows(part, options,
                  {gather(rows, some.places, added.key.width()), some.indices},
                  (*of_parts)[p], work);
      });
  return whole;
}

Status KvWorker::forget_rows(std::string_view key) {
  RONDO_ASSIGN_OR_RETURN(const std::shared_ptr<Added> added, find(key));
  const MutexLock lock(added->mutex);
  // Answers that are still to come note what they bring where nobody looks.
  for (Part& part : added->parts)
    part.seen = std::make_shared<std::atomic<int64_t>>(-1);
  return {};
}

// No server has a version before 0, so this is never too late a one.
Status KvWorker::know_rows(std::string_view key) {
  RONDO_ASSIGN_OR_RETURN(const std::shared_ptr<Added> added, find(key));
  const MutexLock lock(added->mutex);
  for (Part& part : added->parts) note_highest(*part.seen, 0);
  return {};
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
            .call(
                {kv::kPull, pull.encode(), {some.indices}}, deadline(),
                [work, into, row_bytes,
                 places = some.places](const Result<LinkAnswer>& answer) {
                  work.finish_part(scatter(answer, places, row_bytes, into));
                },
                part.flow);
      });
}

}  // namespace rondo
