#include "rondo/launch/job_spec.h"

#include "rondo/launch/frame.h"

namespace rondo {
namespace {

void put_string(std::string& out, std::string_view text) {
  put_u32(out, static_cast<uint32_t>(text.size()));
  out += text;
}

// Reads front to back; after the first thing that is not there everything reads
// as empty and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

  uint32_t u32() { return take(4) ? get_u32(taken_) : 0; }
  std::string string() {
    const uint32_t length = u32();
    return take(length) ? std::string(taken_) : std::string();
  }

 private:
  bool take(size_t length) {
    ok_ = ok_ && length <= bytes_.size();
    if (!ok_) return false;
    taken_ = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return true;
  }
  std::string_view bytes_;
  std::string_view taken_;
  bool ok_ = true;
};

}  // namespace

std::string encode_job_spec(const JobSpec& spec) {
  std::string out;
  for (int number : {spec.first_rank, spec.count, spec.world_size,
                     spec.directory_required ? 1 : 0, spec.restarts})
    put_u32(out, static_cast<uint32_t>(number));
  put_u32(out, static_cast<uint32_t>(
                   std::chrono::ceil<std::chrono::milliseconds>(spec.term_time)
                       .count()));
  put_string(out, spec.directory);
  put_string(out, spec.scratch);
  put_u32(out, static_cast<uint32_t>(spec.argv.size()));
  for (const std::string& word : spec.argv) put_string(out, word);
  put_u32(out, static_cast<uint32_t>(spec.environment.size()));
  for (const auto& [name, value] : spec.environment) {
    put_string(out, name);
    put_string(out, value);
  }
  return out;
}

Result<JobSpec> decode_job_spec(std::string_view bytes) {
  Reader in(bytes);
  JobSpec spec;
  spec.first_rank = static_cast<int>(in.u32());
  spec.count = static_cast<int>(in.u32());
  spec.world_size = static_cast<int>(in.u32());
  spec.directory_required = in.u32() != 0;
  spec.restarts = static_cast<int>(in.u32());
  spec.term_time = std::chrono::milliseconds(in.u32());
  spec.directory = in.string();
  spec.scratch = in.string();
  for (uint32_t n = in.u32(); n > 0 && in.ok(); --n)
    spec.argv.push_back(in.string());
  for (uint32_t n = in.u32(); n > 0 && in.ok(); --n) {
    std::string name = in.string();
    spec.environment[std::move(name)] = in.string();
  }
  if (!in.ok() || !in.at_end() || spec.argv.empty() || spec.first_rank < 0 ||
      spec.count < 1 || spec.first_rank > spec.world_size - spec.count)
    return error(Code::kInternal,
                 "the job description is damaged ({} bytes); are both ends the "
                 "same version of rondo?",
                 bytes.size());
  return spec;
}

}  // namespace rondo
