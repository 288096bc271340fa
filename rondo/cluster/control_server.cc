#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "rondo/base/log.h"
#include "rondo/cluster/call_proof.h"
#include "rondo/cluster/control.grpc.pb.h"
#include "rondo/cluster/control.h"
#include "rondo/cluster/tls_files.h"
#include "rondo/transport/socket.h"

namespace rondo {
namespace {

// Nothing here is large; what strangers send is cut off early.
constexpr int kMostMessageBytes = 1 << 20;
constexpr int kMostThreads = 64;

// The text of metadata, or nothing.
std::string text_of(const grpc::ServerContext& context, const char* name) {
  const auto& metadata = context.client_metadata();
  const auto at = metadata.find(name);
  if (at == metadata.end()) return {};
  return {at->second.data(), at->second.size()};
}

grpc::Status to_grpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The code of ours goes along where gRPC leaves room for details.
  return grpc::Status(
      status.code() == Code::kPermission ? grpc::StatusCode::PERMISSION_DENIED
                                         : grpc::StatusCode::UNKNOWN,
      status.message(), std::to_string(static_cast<int>(status.code())));
}

// The caller's, but no call takes longer than this.
constexpr std::chrono::minutes kLongest(10);
Deadline deadline_of(const grpc::ServerContext& context) {
  const auto now = std::chrono::system_clock::now();
  return Deadline(std::chrono::duration_cast<Duration>(
      std::min(context.deadline(), now + kLongest) - now));
}

bool is_loopback(const std::string& peer) {
  return peer.starts_with("ipv4:127.") || peer.starts_with("ipv6:[::1]") ||
         peer.starts_with("ipv6:%5B::1%5D") ||
         peer.starts_with("ipv6:%5B::ffff:127.") || peer.starts_with("unix:");
}

// Who may call, asked first in every call.
class Gate {
 public:
  Gate(std::string token, uint64_t incarnation)
      : token_(std::move(token)), incarnation_(incarnation) {}

  Status check(const grpc::ServerContext& context, std::string_view method,
               bool needs_incarnation = true) const {
    const std::string peer = context.peer();
    if (token_.empty() && !is_loopback(peer))
      return error(Code::kPermission,
                   "this task talks only to processes of its own host, because "
                   "it has no token: set RONDO_TOKEN to the same secret text "
                   "for every task and client");
    const CallProof proof{text_of(context, "rondo-version"),
                          text_of(context, "rondo-nonce"),
                          text_of(context, "rondo-proof")};
    Status status =
        proof.check(token_, method, needs_incarnation ? incarnation_ : 0, peer);
    if (!status.ok())
      log(LogLevel::kInfo, "turned a call away: {}", status.message());
    return status;
  }
  std::string answer(const grpc::ServerContext& context,
                     const std::string& task) const {
    return hello_proof(token_, text_of(context, "rondo-nonce"), incarnation_,
                       task);
  }

 private:
  const std::string token_;
  const uint64_t incarnation_;
};

std::vector<std::string> containers_of(const cluster::ResetRequest& request) {
  return {request.container().begin(), request.container().end()};
}

class WorkerCalls final : public cluster::Worker::Service {
 public:
  WorkerCalls(const Gate& gate, ControlService& service)
      : gate_(gate), service_(service) {}

  grpc::Status Hello(grpc::ServerContext* context, const cluster::Empty*,
                     cluster::HelloReply* reply) override {
    if (Status s = gate_.check(*context, "Hello", false); !s.ok())
      return to_grpc(s);
    const HelloInfo info = service_.hello();
    reply->set_task(info.task);
    reply->set_incarnation(info.incarnation);
    for (const int port : info.link_ports) reply->add_link_port(port);
    reply->set_proof(gate_.answer(*context, info.task));
    return grpc::Status::OK;
  }
  grpc::Status GetStatus(grpc::ServerContext* context, const cluster::Empty*,
                         cluster::StatusReply* reply) override {
    if (Status s = gate_.check(*context, "GetStatus"); !s.ok())
      return to_grpc(s);
    const TaskStatus status = service_.status();
    reply->set_task(status.task);
    for (const std::string& device : status.devices) reply->add_device(device);
    reply->set_graphs(status.graphs);
    reply->set_steps(status.steps);
    reply->set_sessions(status.sessions);
    reply->set_up_seconds(status.up_seconds);
    return grpc::Status::OK;
  }
  grpc::Status Reset(grpc::ServerContext* context,
                     const cluster::ResetRequest* request,
                     cluster::Empty*) override {
    if (Status s = gate_.check(*context, "Worker/Reset"); !s.ok())
      return to_grpc(s);
    return to_grpc(service_.reset(containers_of(*request)));
  }

 private:
  const Gate& gate_;
  ControlService& service_;
};

class MasterCalls final : public cluster::Master::Service {
 public:
  MasterCalls(const Gate& gate, ControlService& service)
      : gate_(gate), service_(service) {}

  grpc::Status CreateSession(grpc::ServerContext* context,
                             const cluster::CreateRequest* request,
                             cluster::SessionReply* reply) override {
    if (Status s = gate_.check(*context, "CreateSession"); !s.ok())
      return to_grpc(s);
    const ClusterSessionOptions options{
        .device_filters = {request->device_filter().begin(),
                           request->device_filter().end()},
        .placement = request->place_by_cost() ? PlacementKind::kCost
                                              : PlacementKind::kConstraints,
        .allow_soft_placement = request->allow_soft_placement(),
        .log_device_placement = request->log_device_placement(),
        .bf16_transfers = request->bf16_transfers()};
    auto session = service_.create_session(options, deadline_of(*context));
    if (!session.ok()) return to_grpc(session.status());
    reply->set_session(session->session);
    for (const std::string& device : session->devices)
      reply->add_device(device);
    return grpc::Status::OK;
  }
  grpc::Status CloseSession(grpc::ServerContext* context,
                            const cluster::SessionRequest* request,
                            cluster::Empty*) override {
    if (Status s = gate_.check(*context, "CloseSession"); !s.ok())
      return to_grpc(s);
    return to_grpc(service_.close_session(request->session()));
  }
  grpc::Status Reset(grpc::ServerContext* context,
                     const cluster::ResetRequest* request,
                     cluster::Empty*) override {
    if (Status s = gate_.check(*context, "Master/Reset"); !s.ok())
      return to_grpc(s);
    return to_grpc(
        service_.reset_cluster(containers_of(*request), deadline_of(*context)));
  }

 private:
  const Gate& gate_;
  ControlService& service_;
};

class GrpcServer final : public ControlServer {
 public:
  GrpcServer(const Options& options, ControlService& service)
      : gate_(options.token, options.incarnation),
        worker_(gate_, service),
        master_(gate_, service) {}
  ~GrpcServer() override { stop(); }

  Status listen(const Options& options) {
    std::shared_ptr<grpc::ServerCredentials> credentials =
        grpc::InsecureServerCredentials();
    if (options.tls.wanted()) {
      RONDO_ASSIGN_OR_RETURN(const TlsTexts texts, read_tls_files(options.tls));
      grpc::SslServerCredentialsOptions ssl(
          GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      ssl.pem_root_certs = texts.authority;
      ssl.pem_key_cert_pairs = {{texts.key, texts.certificate}};
      credentials = grpc::SslServerCredentials(ssl);
    }
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    const std::string host =
        options.loopback_only ? options.address.host : "::";
    builder.AddListeningPort(HostPort{host, options.address.port}.to_string(),
                             credentials, &port_);
    // Two servers on one port would share its calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(kMostMessageBytes);
    grpc::ResourceQuota quota("rondo");
    quota.SetMaxThreads(kMostThreads);
    builder.SetResourceQuota(quota);
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
    builder.RegisterService(&worker_);
    builder.RegisterService(&master_);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0)
      return error(Code::kResource, "cannot listen on {}",
                   options.address.to_string());
    server_->GetHealthCheckService()->SetServingStatus(true);
    return {};
  }

  int port() const override { return port_; }
  void stop() override {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

 private:
  const Gate gate_;
  WorkerCalls worker_;
  MasterCalls master_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// gRPC does not say why it cannot have a port.
Status check_free(const HostPort& address, bool loopback_only) {
  if (address.port == 0) return {};
  SocketAddress local =
      SocketAddress::parse(fmt::format("0.0.0.0:{}", address.port)).value();
  if (loopback_only) {
    RONDO_ASSIGN_OR_RETURN(const auto found,
                           SocketAddress::resolve(address.host, address.port));
    local = found[0];
  }
  return listen_on(local, {address.port, address.port}).status();
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::start(
    const Options& options, ControlService& service) {
  RONDO_RETURN_IF_ERROR(check_free(options.address, options.loopback_only));
  auto made = std::make_unique<GrpcServer>(options, service);
  RONDO_RETURN_IF_ERROR(made->listen(options));
  return std::unique_ptr<ControlServer>(std::move(made));
}

}  // namespace rondo
