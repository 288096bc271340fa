// Writes what the fuzz targets begin with: fuzz_seeds FOLDER makes
// FOLDER/<target>/<name>, an input that the target understands.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "rondo/cluster/fuzz_model.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/session_call.h"
#include "rondo/cluster/wire.h"
#include "rondo/graph/graph_io.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/rendezvous/tcp_store_wire.h"

using namespace rondo;

namespace {

std::string text_of(const Tensor& bytes) {
  return std::string(bytes_of(bytes).value());
}

std::string frame() {
  const wire::Encoded made = wire::encode(
      {.kind = wire::Kind::kCall,
       .id = 7,
       .code = 4,
       .body = wire::Writer().number(1).number(2).text("key").take(),
       .tensors = {Tensor::zeros({2, 3}), Tensor::zeros({}, DType::kI64)}},
      false);
  std::string bytes = made.front;
  for (const Tensor& tensor : made.tail)
    bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
  return bytes;
}

std::string parts() {
  std::vector<Worker::Part> made(1);
  made[0].device = "/job:worker/task:0/cpu:0";
  made[0].subgraph.graph = std::make_unique<Graph>();
  Graph& g = *made[0].subgraph.graph;
  Value x = placeholder(g, {.name = "x"});
  made[0].subgraph.feeds = {x};
  made[0].subgraph.fetches = {exp(x)};
  return text_of(parts_to_tensor(made));
}

std::string store_requests() {
  using namespace store_wire;
  std::string bytes = "c";  // a client, not a stranger
  for (const Operation operation : {Operation::kSet, Operation::kGet,
                                    Operation::kAdd, Operation::kRemove}) {
    const bool sets = operation == Operation::kSet;
    const Header header = encode(Request{operation, 3, sets ? 5u : 0u, 0});
    bytes.append(header.data(), header.size());
    bytes += sets ? "keyvalue" : "key";
  }
  return bytes;
}

void write(const std::filesystem::path& folder, const std::string& target,
           const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories(folder / target);
  std::ofstream(folder / target / name, std::ios::binary) << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path to = argv[1];
  Graph g;
  fuzz_model(g);
  write(to, "graph_def_fuzz", "model", to_graph_def(g));
  write(to, "wire_fuzz", "frame", frame());
  write(to, "wire_fuzz", "call",
        SessionCall{1, 2, 3, false, {"x:0"}, {"y:0"}, {"train"}}.encode());
  write(to, "connection_fuzz", "frames", frame() + frame());
  write(to, "part_io_fuzz", "parts", parts());
  write(to, "worker_service_fuzz", "parts", parts());
  // Many calls, of which most make sense.
  std::mt19937 random(1);
  for (const char* name : {"0", "1", "2", "3", "4", "5"}) {
    std::string bytes(300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const char* target :
         {"session_service_fuzz", "kv_service_fuzz", "kv_history_fuzz"})
      write(to, target, name, bytes);
  }
  write(to, "tcp_store_fuzz", "requests", store_requests());
  // A device filter, and a flag.
  write(to, "control_fuzz", "create",
        std::string("\n\7/job:ps\x10\1") + "\xff\3");
}
