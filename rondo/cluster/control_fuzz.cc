// Control calls: any bytes as the message of each of them, from a caller who
// knows the token, or says anything about it.
#include <fuzzer/FuzzedDataProvider.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "rondo/cluster/call_proof.h"
#include "rondo/cluster/control.h"
#include "rondo/graph/device_name.h"

using namespace rondo;

namespace {

struct FakeTask final : ControlService {
  HelloInfo hello() override { return {"/job:ps/task:0", 1, {1, 2}}; }
  TaskStatus status() override { return {}; }
  Status reset(const std::vector<std::string>&) override { return {}; }
  Result<SessionInfo> create_session(const ClusterSessionOptions& options,
                                     Deadline) override {
    for (const std::string& filter : options.device_filters)
      RONDO_RETURN_IF_ERROR(DeviceName::parse(filter).status());
    return SessionInfo{1, options.device_filters};
  }
  Status close_session(uint64_t) override { return {}; }
  Status reset_cluster(const std::vector<std::string>&, Deadline) override {
    return {};
  }
};

struct ControlCall {
  const char* path;
  const char* proven;  // what its proof names it
};
constexpr ControlCall kMethods[] = {
    {"/rondo.cluster.Worker/Hello", "Hello"},
    {"/rondo.cluster.Worker/GetStatus", "GetStatus"},
    {"/rondo.cluster.Worker/Reset", "Worker/Reset"},
    {"/rondo.cluster.Master/CreateSession", "CreateSession"},
    {"/rondo.cluster.Master/CloseSession", "CloseSession"},
    {"/rondo.cluster.Master/Reset", "Master/Reset"},
};

// Serves for as long as the fuzzer runs.
struct Task {
  Task()
      : server(ControlServer::start({.address = {"127.0.0.1", 0},
                                     .loopback_only = true,
                                     .token = "secret",
                                     .incarnation = 1},
                                    fake)
                   .value()),
        stub(grpc::CreateChannel(fmt::format("127.0.0.1:{}", server->port()),
                                 grpc::InsecureChannelCredentials())) {}
  FakeTask fake;
  std::unique_ptr<ControlServer> server;
  grpc::GenericStub stub;
};

// Metadata may not have other bytes.
std::string printable(std::string text) {
  for (char& c : text) c = static_cast<char>(' ' + (c & 0x3f));
  return text;
}

void call(Task& task, FuzzedDataProvider& in) {
  const ControlCall& method = kMethods[in.ConsumeIntegralInRange<size_t>(0, 5)];
  CallProof proof = CallProof::make(
      "secret", method.proven, method.proven == kMethods[0].proven ? 0 : 1);
  if (in.ConsumeProbability<float>() < 0.1f) {
    proof.nonce = printable(in.ConsumeRandomLengthString(100));
    proof.proof = printable(in.ConsumeRandomLengthString(100));
  }
  grpc::ClientContext context;
  context.AddMetadata("rondo-version", proof.version);
  context.AddMetadata("rondo-nonce", proof.nonce);
  context.AddMetadata("rondo-proof", proof.proof);
  const std::string bytes = in.ConsumeRemainingBytesAsString();
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer message(&slice, 1);
  grpc::ByteBuffer reply;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const auto reader =
      task.stub.PrepareUnaryCall(&context, method.path, message, &queue);
  reader->StartCall();
  reader->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  // A call may be refused; the task is there for the next one.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static Task& task = *new Task;  // its threads are not to outlive it
  FuzzedDataProvider in(data, bytes);
  call(task, in);
  return 0;
}
