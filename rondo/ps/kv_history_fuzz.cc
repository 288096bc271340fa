// The folder of a parameter server that is started again: a log of arbitrary
// records, or what a server wrote, with bytes changed or cut off. It is read,
// or an error says what is wrong.
#include <fuzzer/FuzzedDataProvider.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rondo/ps/fuzz_calls.h"
#include "rondo/ps/kv_service.h"

using namespace rondo;
namespace fs = std::filesystem;

namespace {

// Of this process, in memory where there is such a place.
const std::string& folder() {
  static const std::string path = [] {
    const char* const parent = fs::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    return fmt::format("{}/rondo_history_fuzz_{}", parent, getpid());
  }();
  return path;
}

void serve(KvService& service, LinkCall call) {
  service.serve(1, std::move(call), [](const Result<LinkAnswer>&) {});
}

// Goes when an input is done, also when it was the last.
struct Cleared {
  Cleared() { clear(); }
  ~Cleared() { clear(); }
  static void clear() { fs::remove_all(folder()); }
};

// What a server leaves that was called in these ways.
void write_history(FuzzedDataProvider& in, const KvServiceOptions& options) {
  const auto service = KvService::open(options).value();
  serve(*service,
        {kv::kHello, kv::Hello{0, options.rules.workers, 1}.encode(), {}});
  const int calls = in.ConsumeIntegralInRange(0, 20);
  for (int i = 0; i < calls; ++i) {
    LinkCall call = fuzz_call(in);
    if (call.method != kv::kHello && fits_memory(call))
      serve(*service, std::move(call));
    if (in.ConsumeProbability<float>() < 0.1F) (void)service->snapshot();
  }
}

// Records whose checksums are right, whatever else they are.
void write_records(FuzzedDataProvider& in, const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  const auto log = LogFile::create(path, false).value();
  const int records = in.ConsumeIntegralInRange(0, 20);
  for (int i = 0; i < records; ++i) {
    const auto kind = in.ConsumeIntegralInRange<uint32_t>(0, 9);
    std::string body;
    wire::Writer numbers;
    const int many = in.ConsumeIntegralInRange(0, 8);
    for (int k = 0; k < many; ++k) numbers.number(fuzz_number(in));
    if (kind == static_cast<uint32_t>(KvRecord::kAddPart))
      body = fuzz_part(in).encode();
    else
      body = in.ConsumeBool() ? numbers.take() : in.ConsumeRandomLengthString();
    const Tensor payload = fuzz_tensor(in);
    if (fits_memory({kv::kAddPart, body, {}}))
      (void)log->append(kind, body, {&payload, 1});
  }
}

// Some bytes of one of the files, or its end.
void damage(FuzzedDataProvider& in, const std::string& path) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.file_size() > 0) files.push_back(entry.path());
  if (files.empty()) return;
  std::ranges::sort(files);
  const fs::path& file =
      files[in.ConsumeIntegralInRange<size_t>(0, files.size() - 1)];
  const auto size = fs::file_size(file);
  if (in.ConsumeBool())
    return fs::resize_file(file, in.ConsumeIntegralInRange<uintmax_t>(0, size));
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  const int changes = in.ConsumeIntegralInRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    bytes.seekp(static_cast<std::streamoff>(
        in.ConsumeIntegralInRange<uintmax_t>(0, size - 1)));
    bytes.put(in.ConsumeIntegral<char>());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  FuzzedDataProvider in(data, bytes);
  const Cleared cleared;
  KvServiceOptions options = fuzz_options(in);
  options.folder = folder();
  const std::string files = folder() + "/server-0";
  if (in.ConsumeBool()) {
    write_history(in, options);
    damage(in, files);
  } else {
    write_records(in, files + "/log-0");
  }
  const auto again = KvService::open(options);
  if (!again.ok()) return 0;
  // What it has read is good to use.
  serve(**again,
        {kv::kHello, kv::Hello{0, options.rules.workers, 2}.encode(), {}});
  for (int64_t part = 0; part < 4; ++part) {
    serve(**again, {kv::kPull, kv::Pull{part, 0, 0}.encode(), {}});
    serve(**again, {kv::kPush,
                    kv::Push{.part = part, .sequence = 1}.encode(),
                    {Tensor::zeros({12})}});
  }
  (*again)->look_after();
  (void)(*again)->snapshot();
  return 0;
}
