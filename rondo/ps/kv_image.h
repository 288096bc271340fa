// KvImage: all that a parameter server knows, as a file; and what its log says
// about changes.
//
// The file is of the safetensors format: "<key>[<begin>:<end>]" are values,
// ".../slot<k>" what the optimizer keeps, "rondo/state" the rest in the form of
// the bodies of messages.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rondo/ps/log_file.h"
#include "rondo/ps/stored_part.h"

namespace rondo {

struct KvImage {
  uint64_t history = 0;
  std::string optimizer;
  std::map<std::string, int> claims;  // who initializes a key
  std::vector<int64_t> left;          // workers
  std::vector<PartImage> parts;       // by number
};

Status write_image(const std::string& path, const KvImage& image);
Result<KvImage> read_image(const std::string& path);

// Kinds of the log's records.
enum class KvRecord : uint32_t {
  kBegin = 1,       // the history, and the optimizer
  kClaim = 2,       // a key, and who initializes it
  kAddPart = 3,     // kv::AddPart; parts are numbered in this order
  kInitialize = 4,  // a part's number; its value
  kUpdate = 5,      // an update; indices, if it is of rows, and gradient
  kLeave = 6,       // a worker that has left
  kReturn = 7,      // a worker that had left and is back
  kSet = 8,         // a PartSetting; the value and the slots
};

std::string encode_update(const PartUpdate& update);
std::vector<Tensor> payload_of(const PartUpdate& update);
Result<PartUpdate> decode_update(const LogRecord& record);
std::string encode_setting(const PartSetting& setting);
Result<PartSetting> decode_setting(const LogRecord& record);

}  // namespace rondo
