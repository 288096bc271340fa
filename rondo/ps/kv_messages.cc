#include "rondo/ps/kv_messages.h"

#include <bit>

namespace rondo::kv {

namespace {

// What a key is, by number: old logs have 0 and 1.
enum KeyKind : int64_t { kWhole = 0, kByRows = 1, kSummed = 2, kAveraged = 3 };

KeyKind kind_of(const Key& key) {
  if (key.reduces) return *key.reduces == ReduceOp::kSum ? kSummed : kAveraged;
  return key.by_rows ? kByRows : kWhole;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<uint8_t>(text[at++]);
    if (first < 0x80) continue;
    const int more = (first & 0xe0) == 0xc0   ? 1
                     : (first & 0xf0) == 0xe0 ? 2
                     : (first & 0xf8) == 0xf0 ? 3
                                              : 0;
    uint32_t code = first & (0x3fu >> more);
    for (int i = 0; i < more; ++i, ++at) {
      if (at == text.size() || (text[at] & 0xc0) != 0x80) return false;
      code = code << 6 | (text[at] & 0x3fu);
    }
    constexpr uint32_t kLeast[] = {UINT32_MAX, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10ffff || code >> 11 == 0x1b)
      return false;
  }
  return true;
}

}  // namespace

Status damaged(std::string_view what) {
  return error(Code::kInvalidArgument,
               "{} of a parameter server's makes no sense", what);
}

void write_key(wire::Writer& writer, const Key& key) {
  writer.text(key.name)
      .number(static_cast<int64_t>(key.dtype))
      .number(kind_of(key))
      .number(key.shape.rank());
  for (const int64_t extent : key.shape.extents()) writer.number(extent);
  writer.number(key.optimizer.has_value());
  if (!key.optimizer) return;
  for (const double number : key.optimizer->numbers())
    writer.number(std::bit_cast<int64_t>(number));
}

Result<Key> read_key(wire::Reader& reader) {
  constexpr int64_t kMostRank = 64;
  Key key;
  key.name = reader.text();
  // Snapshots, and messages, have it as text.
  if (!is_utf8(key.name))
    return error(Code::kInvalidArgument, "the name of a key is not UTF-8");
  const int64_t dtype = reader.number();
  const int64_t kind = reader.number();
  const int64_t rank = reader.number();
  if (dtype < 0 || dtype >= kDTypeCount || rank < 0 || rank > kMostRank ||
      kind < kWhole || kind > kAveraged)
    return damaged("a key");
  key.by_rows = kind == kByRows;
  if (kind == kSummed) key.reduces = ReduceOp::kSum;
  if (kind == kAveraged) key.reduces = ReduceOp::kAvg;
  key.dtype = static_cast<DType>(dtype);
  std::vector<int64_t> extents(static_cast<size_t>(rank));
  auto bytes = static_cast<int64_t>(size_of(key.dtype));
  for (int64_t& extent : extents) {
    extent = reader.number();
    // Also where an extent of 0 makes the product small.
    if (extent < 0 ||
        __builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes))
      return damaged("the shape of a key");
  }
  key.shape = Shape(extents);
  if (reader.number() == 0) return key;
  if (key.reduces)
    return error(Code::kInvalidArgument,
                 "\"{}\" is only reduced, so it takes no optimizer: leave out "
                 "one of both",
                 key.name);
  std::vector<double> numbers = KvOptimizer().numbers();
  for (double& number : numbers)
    number = std::bit_cast<double>(reader.number());
  RONDO_ASSIGN_OR_RETURN(key.optimizer, KvOptimizer::from_numbers(numbers));
  return key;
}

std::string Hello::encode() const {
  return wire::Writer()
      .number(worker)
      .number(workers)
      .number(static_cast<int64_t>(incarnation))
      .text(name)
      .number(left)
      .take();
}

Result<Hello> Hello::decode(std::string_view body) {
  wire::Reader reader(body);
  Hello made;
  made.worker = reader.number();
  made.workers = reader.number();
  made.incarnation = static_cast<uint64_t>(reader.number());
  made.name = reader.text();
  made.left = reader.number() != 0;
  if (!reader.ok()) return damaged("a hello");
  return made;
}

std::string HelloAnswer::encode() const {
  return wire::Writer()
      .number(server)
      .number(static_cast<int64_t>(history))
      .take();
}

Result<HelloAnswer> HelloAnswer::decode(std::string_view body) {
  wire::Reader reader(body);
  HelloAnswer made;
  made.server = reader.number();
  made.history = static_cast<uint64_t>(reader.number());
  if (!reader.ok()) return damaged("the answer to a hello");
  return made;
}

std::string AddPart::encode() const {
  wire::Writer writer;
  write_key(writer, key);
  return writer.number(begin).number(end).take();
}

Result<AddPart> AddPart::decode(std::string_view body) {
  wire::Reader reader(body);
  AddPart made;
  RONDO_ASSIGN_OR_RETURN(made.key, read_key(reader));
  made.begin = reader.number();
  made.end = reader.number();
  if (!reader.ok() || made.begin < 0 || made.end < made.begin ||
      made.end > made.key.shape.count() ||
      // Only a key without elements has a part without any.
      (made.begin == made.end && made.key.shape.count() > 0))
    return damaged("a part");
  const int64_t width = made.key.width();
  if (made.key.by_rows && (made.key.shape.rank() == 0 ||
                           made.begin % width != 0 || made.end % width != 0))
    return damaged("a part that cuts a row");
  return made;
}

std::string PartAnswer::encode() const {
  return wire::Writer().number(part).number(sequence).take();
}

Result<PartAnswer> PartAnswer::decode(std::string_view body) {
  wire::Reader reader(body);
  PartAnswer made;
  made.part = reader.number();
  made.sequence = reader.number();
  if (!reader.ok()) return damaged("the answer about a part");
  return made;
}

std::string Push::encode() const {
  return wire::Writer()
      .number(part)
      .number(sequence)
      .number(std::bit_cast<int64_t>(learning_rate))
      .number(timeout_ms)
      .number(by_rows)
      .number(pulls)
      .number(since)
      .take();
}

Result<Push> Push::decode(std::string_view body) {
  wire::Reader reader(body);
  Push made;
  made.part = reader.number();
  made.sequence = reader.number();
  made.learning_rate = std::bit_cast<double>(reader.number());
  made.timeout_ms = reader.number();
  made.by_rows = reader.number() != 0;
  made.pulls = reader.number() != 0;
  made.since = reader.number();
  if (!reader.ok() || made.sequence < 1) return damaged("a push");
  return made;
}

std::string PushAnswer::encode() const {
  return wire::Writer().number(version).number(made).take();
}

Result<PushAnswer> PushAnswer::decode(std::string_view body) {
  wire::Reader reader(body);
  PushAnswer made;
  made.version = reader.number();
  made.made = reader.number();
  if (!reader.ok() || made.version < 0) return damaged("the answer to a push");
  return made;
}

std::string Pull::encode() const {
  return wire::Writer()
      .number(part)
      .number(step)
      .number(timeout_ms)
      .number(by_rows)
      .number(slot)
      .take();
}

Result<Pull> Pull::decode(std::string_view body) {
  wire::Reader reader(body);
  Pull made;
  made.part = reader.number();
  made.step = reader.number();
  made.timeout_ms = reader.number();
  made.by_rows = reader.number() != 0;
  made.slot = reader.number();
  if (!reader.ok() || made.step < 0) return damaged("a pull");
  return made;
}

std::string SetPart::encode() const {
  return wire::Writer()
      .number(part)
      .number(std::bit_cast<int32_t>(powers.beta1))
      .number(std::bit_cast<int32_t>(powers.beta2))
      .take();
}

Result<SetPart> SetPart::decode(std::string_view body) {
  wire::Reader reader(body);
  SetPart made;
  made.part = reader.number();
  made.powers.beta1 =
      std::bit_cast<float>(static_cast<int32_t>(reader.number()));
  made.powers.beta2 =
      std::bit_cast<float>(static_cast<int32_t>(reader.number()));
  if (!reader.ok()) return damaged("a new value");
  return made;
}

}  // namespace rondo::kv
