#include "rondo/planner/replay_job.h"

#include <nlohmann/json.hpp>

namespace rondo {
namespace {

using nlohmann::ordered_json;

// What `read` makes of the text, which may be anything.
template <class Read>
auto parsed(const std::string& text, std::string_view what, const Read& read)
    -> Result<decltype(read(ordered_json()))> {
  try {
    return read(ordered_json::parse(text));
  } catch (const ordered_json::exception& e) {
    return error(Code::kInvalidArgument, "this is not {}: {}", what, e.what());
  }
}

}  // namespace

ReplayJob ReplayJob::make(const Method& method, const Network& network,
                          const Workload& workload,
                          const Stragglers& stragglers) {
  return {.method = method,
          .computation = workload.step_seconds,
          .seconds_per_flop = rondo::seconds_per_flop(network, workload),
          .slowness = rondo::slowness(network.workers, stragglers),
          .exchanges = exchanges_by(method, network, workload)};
}

std::string ReplayJob::to_json() const {
  ordered_json list = ordered_json::array();
  for (const PlannedExchange& one : exchanges)
    list.push_back({{"bytes", one.bytes},
                    {"ready", one.ready},
                    {"gather", one.gather},
                    {"rows", one.rows},
                    {"table_rows", one.table_rows},
                    {"index_bytes", one.index_bytes},
                    {"flops", one.flops},
                    {"update", one.update}});
  const ordered_json object = {{"method", method.name()},
                               {"computation", computation},
                               {"seconds_per_flop", seconds_per_flop},
                               {"slowness", slowness},
                               {"rounds", rounds},
                               {"exchanges", std::move(list)}};
  return object.dump();
}

Result<ReplayJob> ReplayJob::from_json(const std::string& text) {
  std::string method;
  auto job = parsed(text, "a step to replay", [&](const ordered_json& object) {
    ReplayJob made;
    method = object.at("method").get<std::string>();
    made.computation = object.at("computation");
    made.seconds_per_flop = object.at("seconds_per_flop");
    made.slowness = object.at("slowness").get<std::vector<double>>();
    made.rounds = object.at("rounds");
    for (const ordered_json& one : object.at("exchanges"))
      made.exchanges.push_back({.bytes = one.at("bytes"),
                                .ready = one.at("ready"),
                                .gather = one.at("gather"),
                                .rows = one.at("rows"),
                                .table_rows = one.at("table_rows"),
                                .index_bytes = one.at("index_bytes"),
                                .flops = one.at("flops"),
                                .update = one.at("update")});
    return made;
  });
  RONDO_RETURN_IF_ERROR(job.status());
  for (const PlannedExchange& one : job->exchanges)
    if (one.rows != 0 && (one.rows < 1 || one.table_rows < 1 ||
                          (one.index_bytes != 4 && one.index_bytes != 8)))
      return error(Code::kInvalidArgument,
                   "this is not a step to replay: {} rows of a table of {}, "
                   "each with a place of {} bytes",
                   one.rows, one.table_rows, one.index_bytes);
  RONDO_ASSIGN_OR_RETURN(job->method, method_named(method));
  return job;
}

std::string ReplayTimes::to_json() const {
  return ordered_json{{"communication", communication},
                      {"step", step},
                      {"worker_bytes", worker_bytes},
                      {"rounds", rounds}}
      .dump();
}

Result<ReplayTimes> ReplayTimes::from_json(const std::string& text) {
  return parsed(text, "what a replay says", [](const ordered_json& object) {
    ReplayTimes times;
    times.communication = object.at("communication");
    times.step = object.at("step");
    times.worker_bytes = object.at("worker_bytes");
    times.rounds = object.at("rounds");
    return times;
  });
}

}  // namespace rondo
