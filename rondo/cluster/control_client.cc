#include <grpcpp/grpcpp.h>

#include <charconv>

#include "rondo/cluster/call_proof.h"
#include "rondo/cluster/control.grpc.pb.h"
#include "rondo/cluster/control.h"
#include "rondo/cluster/tls_files.h"

namespace rondo {
namespace {

// No call waits longer.
constexpr Duration kLongest = std::chrono::minutes(10);

Code code_of(const grpc::Status& status) {
  const std::string details = status.error_details();
  int code = 0;
  std::from_chars(details.data(), details.data() + details.size(), code);
  if (code > 0 && code <= static_cast<int>(Code::kOutOfRange))
    return static_cast<Code>(code);
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED: return Code::kTimeout;
    case grpc::StatusCode::CANCELLED: return Code::kCancelled;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return Code::kResource;
    case grpc::StatusCode::UNIMPLEMENTED: return Code::kMismatch;
    default: return Code::kUnavailable;
  }
}

class GrpcClient final : public ControlClient {
 public:
  GrpcClient(std::string address, std::string token,
             const std::shared_ptr<grpc::Channel>& channel)
      : address_(std::move(address)),
        token_(std::move(token)),
        worker_(cluster::Worker::NewStub(channel)),
        master_(cluster::Master::NewStub(channel)) {}

  Result<HelloInfo> hello(Deadline deadline) override {
    cluster::HelloReply reply;
    std::string nonce;
    RONDO_RETURN_IF_ERROR(call(
        "Hello", deadline,
        [&](auto& context) {
          return worker_->Hello(&context, cluster::Empty(), &reply);
        },
        &nonce));
    if (!same_proof(
            reply.proof(),
            hello_proof(token_, nonce, reply.incarnation(), reply.task())))
      return error(
          Code::kPermission,
          "{} did not prove that it knows the job's token: RONDO_TOKEN "
          "differs between tasks or clients, or this is not a task of "
          "the cluster",
          address_);
    incarnation_ = reply.incarnation();
    return HelloInfo{reply.task(),
                     reply.incarnation(),
                     {reply.link_port().begin(), reply.link_port().end()}};
  }

  Result<TaskStatus> status(Deadline deadline) override {
    cluster::StatusReply reply;
    RONDO_RETURN_IF_ERROR(call("GetStatus", deadline, [&](auto& context) {
      return worker_->GetStatus(&context, cluster::Empty(), &reply);
    }));
    return TaskStatus{
        reply.task(),     {reply.device().begin(), reply.device().end()},
        reply.graphs(),   reply.steps(),
        reply.sessions(), reply.up_seconds()};
  }

  Status reset(const std::vector<std::string>& containers,
               Deadline deadline) override {
    cluster::Empty reply;
    const cluster::ResetRequest request = reset_request(containers);
    return call("Worker/Reset", deadline, [&](auto& context) {
      return worker_->Reset(&context, request, &reply);
    });
  }

  Result<SessionInfo> create_session(const ClusterSessionOptions& options,
                                     Deadline deadline) override {
    cluster::CreateRequest request;
    for (const std::string& filter : options.device_filters)
      request.add_device_filter(filter);
    request.set_allow_soft_placement(options.allow_soft_placement);
    request.set_log_device_placement(options.log_device_placement);
    request.set_bf16_transfers(options.bf16_transfers);
    request.set_place_by_cost(options.placement == PlacementKind::kCost);
    cluster::SessionReply reply;
    RONDO_RETURN_IF_ERROR(call("CreateSession", deadline, [&](auto& context) {
      return master_->CreateSession(&context, request, &reply);
    }));
    return SessionInfo{reply.session(),
                       {reply.device().begin(), reply.device().end()}};
  }

  Status close_session(uint64_t session, Deadline deadline) override {
    cluster::Empty reply;
    cluster::SessionRequest request;
    request.set_session(session);
    return call("CloseSession", deadline, [&](auto& context) {
      return master_->CloseSession(&context, request, &reply);
    });
  }

  Status reset_cluster(const std::vector<std::string>& containers,
                       Deadline deadline) override {
    cluster::Empty reply;
    const cluster::ResetRequest request = reset_request(containers);
    return call("Master/Reset", deadline, [&](auto& context) {
      return master_->Reset(&context, request, &reply);
    });
  }

 private:
  static cluster::ResetRequest reset_request(
      const std::vector<std::string>& containers) {
    cluster::ResetRequest request;
    for (const std::string& name : containers) request.add_container(name);
    return request;
  }

  template <class Call>
  Status call(std::string_view method, const Deadline& deadline, Call send,
              std::string* nonce = nullptr) {
    const CallProof proof =
        CallProof::make(token_, method, nonce ? 0 : incarnation_.load());
    if (nonce) *nonce = proof.nonce;
    grpc::ClientContext context;
    context.AddMetadata("rondo-version", proof.version);
    context.AddMetadata("rondo-nonce", proof.nonce);
    context.AddMetadata("rondo-proof", proof.proof);
    context.set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::min(deadline.left(), kLongest)));
    const grpc::Status status = send(context);
    if (status.ok()) return {};
    return error(code_of(status), "{}: {}", address_, status.error_message());
  }

  const std::string address_;
  const std::string token_;
  std::atomic<uint64_t> incarnation_ = 0;
  const std::unique_ptr<cluster::Worker::Stub> worker_;
  const std::unique_ptr<cluster::Master::Stub> master_;
};

}  // namespace

Result<std::unique_ptr<ControlClient>> ControlClient::make(
    const std::string& address, const Options& options) {
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      grpc::InsecureChannelCredentials();
  if (options.tls.wanted()) {
    RONDO_ASSIGN_OR_RETURN(TlsTexts texts, read_tls_files(options.tls));
    credentials =
        grpc::SslCredentials({texts.authority, texts.key, texts.certificate});
  }
  grpc::ChannelArguments args;
  // Who waits for a task tries often; a proxy of the host's is not for these.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A channel of its own, so that a task started anew is not met with what a
  // shared one remembers of the old.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return std::unique_ptr<ControlClient>(std::make_unique<GrpcClient>(
      address, options.token,
      grpc::CreateCustomChannel(address, credentials, args)));
}

}  // namespace rondo
