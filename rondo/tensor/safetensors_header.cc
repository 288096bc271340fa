#include "rondo/tensor/safetensors_header.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

namespace rondo {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kCrc = "crc32c:";

struct TypeName {
  std::string_view name;
  std::optional<DType> dtype;
  size_t bytes;
};
constexpr TypeName kTypes[] = {
    {"F64", DType::kF64, 8},
    {"F32", DType::kF32, 4},
    {"F16", DType::kF16, 2},
    {"BF16", DType::kBF16, 2},
    {"I64", DType::kI64, 8},
    {"I32", DType::kI32, 4},
    {"I16", DType::kI16, 2},
    {"I8", DType::kI8, 1},
    {"U8", DType::kU8, 1},
    {"BOOL", DType::kBool, 1},
    {"U16", std::nullopt, 2},
    {"U32", std::nullopt, 4},
    {"U64", std::nullopt, 8},
    {"C64", std::nullopt, 8},
    {"F8_E5M2", std::nullopt, 1},
    {"F8_E4M3", std::nullopt, 1},
    {"F8_E5M2FNUZ", std::nullopt, 1},
    {"F8_E4M3FNUZ", std::nullopt, 1},
    {"F8_E8M0", std::nullopt, 1},
};

Status nonsense(std::string_view name, std::string_view what) {
  return error(Code::kInvalidArgument, "tensor \"{}\": {}", name, what);
}

// A list of numbers that are not negative.
std::optional<std::vector<int64_t>> numbers(const Json& entry,
                                            const char* key) {
  const auto at = entry.find(key);
  if (at == entry.end() || !at->is_array()) return std::nullopt;
  std::vector<int64_t> list;
  for (const Json& item : *at) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT64_MAX)
      return std::nullopt;
    list.push_back(item.get<int64_t>());
  }
  return list;
}

// The bytes of a tensor; nothing when they are too many to count.
std::optional<uint64_t> bytes_of(const std::vector<int64_t>& shape,
                                 size_t each) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  uint64_t bytes = each;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return std::nullopt;
  return bytes;
}

Result<SafetensorsEntry> entry_from(const std::string& name,
                                    const Json& value) {
  SafetensorsEntry entry;
  entry.name = name;
  if (!value.is_object()) return nonsense(name, "its description is no object");
  const auto type = value.find("dtype");
  if (type == value.end() || !type->is_string())
    return nonsense(name, "its dtype is no text");
  entry.type = type->get<std::string>();
  const auto shape = numbers(value, "shape");
  if (!shape) return nonsense(name, "its shape is no list of extents");
  entry.shape = Shape(*shape);
  const auto offsets = numbers(value, "data_offsets");
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
    return nonsense(name, "its data_offsets are no begin and end");
  entry.begin = static_cast<uint64_t>((*offsets)[0]);
  entry.end = static_cast<uint64_t>((*offsets)[1]);
  const auto* known = std::ranges::find(kTypes, entry.type, &TypeName::name);
  if (known == std::end(kTypes)) return entry;  // of a later format
  entry.dtype = known->dtype;
  const auto bytes = bytes_of(*shape, known->bytes);
  if (bytes != entry.bytes())
    return nonsense(
        name, fmt::format("{} {} takes {} bytes, but its data are {} bytes",
                          entry.type, entry.shape.to_string(),
                          bytes ? fmt::format("{}", *bytes) : "too many",
                          entry.bytes()));
  return entry;
}

// Whether the tensors follow each other without a gap, to the end.
Status check_ranges(std::vector<SafetensorsEntry>& entries, uint64_t bytes) {
  std::ranges::sort(entries, {}, [](const SafetensorsEntry& entry) {
    return std::pair(entry.begin, entry.end);
  });
  uint64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.end > bytes)
      return nonsense(
          entry.name,
          fmt::format("its data end at byte {}, but there are only {} bytes of "
                      "data: the file is not whole",
                      entry.end, bytes));
    if (entry.begin != at)
      return nonsense(entry.name,
                      fmt::format("its data begin at byte {}, but those before "
                                  "it end at byte {}",
                                  entry.begin, at));
    at = entry.end;
  }
  if (at != bytes)
    return error(Code::kInvalidArgument,
                 "the tensors end at byte {}, but there are {} bytes of data",
                 at, bytes);
  return {};
}

Status take_metadata(const Json& value, SafetensorsHeader& header,
                     std::map<std::string, uint32_t>& crcs) {
  if (!value.is_object())
    return error(Code::kInvalidArgument, "its __metadata__ is no object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      return error(Code::kInvalidArgument,
                   "\"{}\" in its __metadata__ is no text", key);
    const auto& content = text.get_ref<const std::string&>();
    if (!key.starts_with(kCrc)) {
      header.metadata[key] = content;
      continue;
    }
    uint32_t crc = 0;
    const char* end = content.data() + content.size();
    const auto [at, err] = std::from_chars(content.data(), end, crc, 16);
    if (err != std::errc() || at != end)
      return nonsense(key.substr(kCrc.size()), "its checksum is no number");
    crcs[key.substr(kCrc.size())] = crc;
  }
  return {};
}

// Parsed JSON; an error where it is none, or has a key twice in one object,
// of which Json would keep the last.
Result<Json> parse(std::string_view text) {
  std::vector<std::set<std::string>> open;  // keys of the objects around
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key &&
             !open.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), watch);
    if (!twice.empty())
      return error(Code::kInvalidArgument, "its header has \"{}\" twice",
                   twice);
    if (!json.is_object())
      return error(Code::kInvalidArgument, "its header is no object");
    return json;
  } catch (const Json::exception& e) {
    return error(Code::kInvalidArgument, "its header is no JSON: {}", e.what());
  }
}

}  // namespace

std::string_view safetensors_type(DType dtype) {
  return std::ranges::find(kTypes, std::optional(dtype), &TypeName::dtype)
      ->name;
}

Result<std::string> to_json(const SafetensorsHeader& header) {
  Json json = Json::object();
  Json& metadata = json[std::string(kMetadata)] = Json::object();
  for (const auto& [key, text] : header.metadata) metadata[key] = text;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.name == kMetadata)
      return error(Code::kInvalidArgument,
                   "no tensor can be saved as \"{}\": the format has another "
                   "use for that name",
                   kMetadata);
    const auto extents = entry.shape.extents();
    Json& made = json[entry.name];
    if (!made.is_null())
      return error(Code::kInvalidArgument,
                   "two tensors are to be saved as \"{}\"", entry.name);
    made["dtype"] = entry.type;
    made["shape"] = std::vector<int64_t>(extents.begin(), extents.end());
    made["data_offsets"] = Json::array({entry.begin, entry.end});
    if (entry.crc)
      metadata[std::string(kCrc) + entry.name] =
          fmt::format("{:08x}", *entry.crc);
  }
  try {
    return json.dump();
  } catch (const Json::exception& e) {
    return error(Code::kInvalidArgument,
                 "a name is no text that JSON can have: {}", e.what());
  }
}

Result<SafetensorsHeader> header_from_json(std::string_view json,
                                           uint64_t data_bytes) {
  RONDO_ASSIGN_OR_RETURN(const Json parsed, parse(json));
  SafetensorsHeader header;
  std::map<std::string, uint32_t> crcs;
  for (const auto& [name, value] : parsed.items()) {
    if (name == kMetadata) {
      RONDO_RETURN_IF_ERROR(take_metadata(value, header, crcs));
      continue;
    }
    RONDO_ASSIGN_OR_RETURN(auto entry, entry_from(name, value));
    header.entries.push_back(std::move(entry));
  }
  RONDO_RETURN_IF_ERROR(check_ranges(header.entries, data_bytes));
  std::ranges::sort(header.entries, {}, &SafetensorsEntry::name);
  for (SafetensorsEntry& entry : header.entries)
    if (const auto at = crcs.find(entry.name); at != crcs.end())
      entry.crc = at->second;
  return header;
}

}  // namespace rondo
