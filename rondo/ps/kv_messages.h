// What workers and servers say to each other over links: methods and bodies.
// Gradients, values and indices travel as the tensors of a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/cluster/wire.h"
#include "rondo/ps/key.h"

namespace rondo::kv {

enum Method : uint32_t {
  kHello = 1,    // Hello; must be the first
  kClaim = 2,    // the name of a key; answer: the worker that initializes it
  kAddPart = 3,  // AddPart and perhaps the initial value; PartAnswer
  kPush = 4,    // Push; a gradient, and indices where it is of rows; PushAnswer
  kPull = 5,    // Pull, and indices where it is of rows; answer: the elements
  kLeave = 6,   // this worker will not push any more
  kSet = 7,     // SetPart; the elements, and those of each slot
  kAbort = 8,   // a reason: calls about any key fail from then on
  kReturn = 9,  // this worker, who said kLeave, pushes again
};

struct Hello {
  int64_t worker = 0;
  int64_t workers = 0;
  uint64_t incarnation = 0;  // of the worker's process
  std::string name;          // of it, for messages
  bool left = false;         // it has said kLeave, and comes back to hear of it
  std::string encode() const;
  static Result<Hello> decode(std::string_view body);
};

struct HelloAnswer {
  int64_t server = 0;
  // Names what the server knows: a server that was started again and found its
  // log has the same.
  uint64_t history = 0;
  std::string encode() const;
  static Result<HelloAnswer> decode(std::string_view body);
};

struct AddPart {
  Key key;
  int64_t begin = 0, end = 0;
  std::string encode() const;
  static Result<AddPart> decode(std::string_view body);
};

struct PartAnswer {
  int64_t part = 0;      // the number by which calls name it
  int64_t sequence = 0;  // of this worker's last push
  std::string encode() const;
  static Result<PartAnswer> decode(std::string_view body);
};

struct Push {
  int64_t part = 0;
  // Of this worker's pushes of this part, from 1.
  int64_t sequence = 0;
  double learning_rate = 0;  // NaN: the server's
  int64_t timeout_ms = 0;
  bool by_rows = false;
  bool pulls = false;  // the answer is the new value
  // Of a push by rows that pulls: the answer has the rows that have changed
  // behind this version of the part, and which they are; -1: all rows.
  int64_t since = -1;
  std::string encode() const;
  static Result<Push> decode(std::string_view body);
};

struct PushAnswer {
  // Steps that the part has made, in the synchronous mode, else 0: a worker
  // whose push came too late learns from it where the others are.
  int64_t version = 0;
  int64_t made = 0;  // the same in all modes
  std::string encode() const;
  static Result<PushAnswer> decode(std::string_view body);
};

struct Pull {
  int64_t part = 0;
  int64_t step = 0;  // how many pushes this worker has made
  int64_t timeout_ms = 0;
  bool by_rows = false;
  int64_t slot = -1;  // what the optimizer keeps, by number; -1: the value
  std::string encode() const;
  static Result<Pull> decode(std::string_view body);
};

struct SetPart {
  int64_t part = 0;
  BetaPowers powers;
  std::string encode() const;
  static Result<SetPart> decode(std::string_view body);
};

// A key, as bodies have it.
void write_key(wire::Writer& writer, const Key& key);
Result<Key> read_key(wire::Reader& reader);
// What a body is that cannot be read.
Status damaged(std::string_view what);

}  // namespace rondo::kv
