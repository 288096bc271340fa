// Options come from programs built against another version of the header: a
// shorter struct has defaults behind its end, a longer one is fine while what
// this version does not know is zero.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "rondo/capi/handle.h"

namespace rondo::capi {
namespace {

// `known` gets what `given` has of it.
template <class T>
Status read_struct(const char* function, const T* given, T& known) {
  const size_t size = given->struct_size;
  if (size < sizeof(size_t))
    return error(Code::kInvalidArgument,
                 "{}: the options' struct_size is {}; begin with the _INIT of "
                 "their type",
                 function, size);
  std::memcpy(&known, given, std::min(size, sizeof(T)));
  const auto* bytes = reinterpret_cast<const char*>(given);
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size,
                                      [](char byte) { return byte != 0; }))
    return error(Code::kInvalidArgument,
                 "{}: the options set something that this version of Rondo "
                 "({}) does not have",
                 function, RONDO_VERSION);
  return {};
}

void set_text(std::string& member, const char* text) {
  if (text != nullptr) member = text;
}

// 0 keeps what is there; what is no time-out is kept for connect() to refuse.
void set_seconds(double& member, double value) {
  if (value != 0) member = value;
}

}  // namespace

Result<DType> dtype_of_number(const char* function, rondo_dtype_t dtype) {
  if (dtype < 0 || dtype >= kDTypeCount)
    return error(Code::kInvalidArgument, "{}: there is no dtype {}", function,
                 dtype);
  return static_cast<DType>(dtype);
}

Result<CallOptions> call_options(const char* function,
                                 const rondo_call_options_t* options) {
  CallOptions result;
  if (options == nullptr) return result;
  rondo_call_options_t known = RONDO_CALL_OPTIONS_INIT;
  RONDO_RETURN_IF_ERROR(read_struct(function, options, known));
  if (known.op < RONDO_SUM || known.op > RONDO_USER)
    return error(Code::kInvalidArgument, "{}: there is no operator {}",
                 function, known.op);
  if (!(known.timeout >= 0) || !std::isfinite(known.timeout))
    return error(Code::kInvalidArgument,
                 "{}: timeout is {}; it must be 0 (the communicator's) or a "
                 "number of seconds",
                 function, known.timeout);
  result.op = static_cast<ReduceOp>(known.op);
  result.root = known.root;
  if (known.algorithm != nullptr) result.algorithm = known.algorithm;
  result.timeout = seconds(known.timeout);
  if (known.reduce != nullptr)
    result.user = [reduce = known.reduce, context = known.reduce_context](
                      void* inout, const void* in, int64_t count,
                      DType dtype) -> Status {
      const int code =
          reduce(inout, in, count, static_cast<rondo_dtype_t>(dtype), context);
      if (code == 0) return {};
      return error(Code::kCancelled, "it returned {}", code);
    };
  return result;
}

Result<CommunicatorOptions> comm_options(const char* function,
                                         const rondo_comm_options_t* options) {
  RONDO_ASSIGN_OR_RETURN(auto result,
                         CommunicatorOptions::from_env(Env::process()));
  if (options == nullptr) return result;
  rondo_comm_options_t known = RONDO_COMM_OPTIONS_INIT;
  RONDO_RETURN_IF_ERROR(read_struct(function, options, known));
  set_seconds(result.connect_timeout, known.connect_timeout);
  set_seconds(result.timeout, known.timeout);
  set_seconds(result.total_timeout, known.total_timeout);
  set_text(result.transport, known.transport);
  set_text(result.algorithm, known.algorithm);
  set_text(result.interface, known.interface);
  set_text(result.port_range, known.port_range);
  set_text(result.token, known.token);
  set_text(result.tuning_file, known.tuning_file);
  set_text(result.name, known.name);
  if (known.tcp_streams != 0) result.tcp_streams = known.tcp_streams;
  return result;
}

}  // namespace rondo::capi
