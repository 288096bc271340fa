#include "rondo/ps/kv_image.h"

#include <bit>
#include <cstring>

#include "rondo/ps/slice.h"
#include "rondo/tensor/safetensors.h"

namespace rondo {
namespace {

constexpr std::string_view kState = "rondo/state";

std::string name_of_part(const PartImage& part) {
  return fmt::format("{}[{}:{}]", part.what.key.name, part.what.begin,
                     part.what.end);
}

std::string encode_state(const KvImage& image) {
  wire::Writer writer;
  writer.number(static_cast<int64_t>(image.history)).text(image.optimizer);
  writer.number(static_cast<int64_t>(image.claims.size()));
  for (const auto& [key, worker] : image.claims)
    writer.text(key).number(worker);
  writer.number(static_cast<int64_t>(image.left.size()));
  for (const int64_t worker : image.left) writer.number(worker);
  writer.number(static_cast<int64_t>(image.parts.size()));
  for (const PartImage& part : image.parts) {
    writer.text(part.what.encode())
        .number(part.initialized)
        .number(part.version)
        .number(std::bit_cast<int32_t>(part.state.powers.beta1))
        .number(std::bit_cast<int32_t>(part.state.powers.beta2))
        .number(static_cast<int64_t>(part.state.slots.size()))
        .number(static_cast<int64_t>(part.counted.size()));
    for (const int64_t sequence : part.counted) writer.number(sequence);
  }
  return writer.take();
}

Result<PartImage> decode_part(wire::Reader& reader) {
  PartImage part;
  RONDO_ASSIGN_OR_RETURN(part.what, kv::AddPart::decode(reader.text()));
  part.initialized = reader.number() != 0;
  part.version = reader.number();
  part.state.powers.beta1 =
      std::bit_cast<float>(static_cast<int32_t>(reader.number()));
  part.state.powers.beta2 =
      std::bit_cast<float>(static_cast<int32_t>(reader.number()));
  const int64_t slots = reader.number();
  const int64_t workers = reader.number();
  if (slots < 0 || static_cast<size_t>(slots) > kMostSlots || workers < 0 ||
      static_cast<size_t>(workers) > reader.left())
    return kv::damaged("the state in a snapshot");
  part.state.slots.resize(static_cast<size_t>(slots));
  for (int64_t i = 0; i < workers; ++i) part.counted.push_back(reader.number());
  return part;
}

Result<KvImage> decode_state(std::string_view text) {
  wire::Reader reader(text);
  KvImage image;
  image.history = static_cast<uint64_t>(reader.number());
  image.optimizer = reader.text();
  // How many items follow; each has a number at least. Not more than there are
  // bytes for: behind the end, reading never comes to one.
  const auto count = [&] {
    const int64_t items = reader.number();
    return reader.can_hold(items, sizeof(int64_t)) ? items : 0;
  };
  for (int64_t claims = count(); claims > 0; --claims) {
    std::string key(reader.text());
    image.claims[std::move(key)] = static_cast<int>(reader.number());
  }
  for (int64_t left = count(); left > 0; --left)
    image.left.push_back(reader.number());
  for (int64_t parts = count(); parts > 0; --parts) {
    RONDO_ASSIGN_OR_RETURN(PartImage part, decode_part(reader));
    image.parts.push_back(std::move(part));
  }
  if (!reader.ok()) return kv::damaged("the state in a snapshot");
  return image;
}

}  // namespace

Status write_image(const std::string& path, const KvImage& image) {
  const std::string state = encode_state(image);
  Tensor text = Tensor::empty({static_cast<int64_t>(state.size())}, DType::kU8);
  std::memcpy(text.data(), state.data(), state.size());
  std::vector<NamedTensor> tensors = {{std::string(kState), text}};
  for (const PartImage& part : image.parts) {
    if (!part.initialized) continue;
    const std::string name = name_of_part(part);
    tensors.push_back({name, part.state.value});
    for (size_t k = 0; k < part.state.slots.size(); ++k)
      tensors.push_back(
          {fmt::format("{}/slot{}", name, k), part.state.slots[k]});
  }
  return write_safetensors(path, tensors);
}

Result<KvImage> read_image(const std::string& path) {
  RONDO_ASSIGN_OR_RETURN(const SafetensorsFile file,
                         SafetensorsFile::open(path));
  RONDO_ASSIGN_OR_RETURN(const Tensor state, file.read(kState));
  RONDO_ASSIGN_OR_RETURN(
      KvImage image,
      decode_state({static_cast<const char*>(state.data()), state.bytes()}));
  for (PartImage& part : image.parts) {
    if (!part.initialized) continue;
    const std::string name = name_of_part(part);
    RONDO_ASSIGN_OR_RETURN(part.state.value, file.read(name));
    for (size_t k = 0; k < part.state.slots.size(); ++k) {
      RONDO_ASSIGN_OR_RETURN(part.state.slots[k],
                             file.read(fmt::format("{}/slot{}", name, k)));
    }
  }
  return image;
}

std::string encode_update(const PartUpdate& update) {
  wire::Writer writer;
  writer.number(update.part)
      .number(update.version)
      .number(std::bit_cast<int64_t>(update.learning_rate))
      .number(static_cast<int64_t>(update.gradient.values.dtype()))
      .number(update.gradient.by_rows ? update.gradient.indices.count() : -1)
      .number(static_cast<int64_t>(update.pushes.size()));
  for (const auto& [worker, sequence] : update.pushes)
    writer.number(worker).number(sequence);
  return writer.take();
}

std::vector<Tensor> payload_of(const PartUpdate& update) {
  if (update.gradient.by_rows)
    return {update.gradient.indices, update.gradient.values};
  return {update.gradient.values};
}

Result<PartUpdate> decode_update(const LogRecord& record) {
  wire::Reader reader(record.body);
  PartUpdate made;
  made.part = reader.number();
  made.version = reader.number();
  made.learning_rate = std::bit_cast<double>(reader.number());
  const int64_t type = reader.number();
  const int64_t rows = reader.number();
  const int64_t pushes = reader.number();
  if (!reader.can_hold(pushes, 2 * sizeof(int64_t)))
    return kv::damaged("an update in the log");
  for (int64_t i = 0; i < pushes; ++i) {
    const auto worker = static_cast<int>(reader.number());
    made.pushes.emplace_back(worker, reader.number());
  }
  const int64_t bytes = record.payload.count();
  constexpr int64_t kIndex = sizeof(int64_t);
  if (!reader.ok() || type < 0 || type >= kDTypeCount || rows < -1 ||
      rows > bytes / kIndex)
    return kv::damaged("an update in the log");
  const auto dtype = static_cast<DType>(type);
  const int64_t before = rows < 0 ? 0 : rows * kIndex;
  const int64_t count = (bytes - before) / static_cast<int64_t>(size_of(dtype));
  made.gradient.by_rows = rows >= 0;
  if (rows >= 0)
    made.gradient.indices = slice(record.payload, 0, DType::kI64, {rows});
  made.gradient.values =
      slice(record.payload, static_cast<size_t>(before), dtype, {count});
  return made;
}

std::string encode_setting(const PartSetting& setting) {
  return wire::Writer()
      .number(setting.part)
      .number(setting.version)
      .number(std::bit_cast<int32_t>(setting.powers.beta1))
      .number(std::bit_cast<int32_t>(setting.powers.beta2))
      .take();
}

Result<PartSetting> decode_setting(const LogRecord& record) {
  wire::Reader reader(record.body);
  PartSetting made;
  made.part = reader.number();
  made.version = reader.number();
  made.powers.beta1 =
      std::bit_cast<float>(static_cast<int32_t>(reader.number()));
  made.powers.beta2 =
      std::bit_cast<float>(static_cast<int32_t>(reader.number()));
  if (!reader.ok()) return kv::damaged("a setting in the log");
  return made;
}

}  // namespace rondo
