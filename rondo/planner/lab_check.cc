#include "rondo/planner/lab_check.h"

#include <algorithm>

#include "rondo/base/units.h"
#include "rondo/planner/planner.h"

namespace rondo {
namespace {

// A frame: its payload, and as it is counted, without preamble, gap and
// checksum. TCP gives a link segments of 45.
constexpr double kPayload = 1448;
constexpr double kFrame = 1514;
constexpr double kSegment = 45 * kPayload;
constexpr double kLabPayload = kPayload / kFrame;
// An acknowledgement has 66 bytes, and is for two frames, or for a segment.
constexpr double kAcknowledgement = 66 / (2 * kFrame);
constexpr double kSegmentAcknowledgement = 66 / (45 * kFrame);
constexpr double kLabLatency = 40e-6;
constexpr double kLabBurst = 2e-3;
// A socket's buffer of 320 KiB, as lab/hosts.py has it, holds five segments.
constexpr double kLabWindow = 5 * kSegment;
// What Linux lets a socket have in its host's queue: two segments; or what it
// would send in a millisecond at its pace, which is two to four times the rate
// that it gets, and the segment with which it comes to be more. That is about
// two milliseconds of the thinnest link.
constexpr double kLabQueued = 2 * kSegment;
constexpr double kLabQueuedSeconds = 2e-3;
// 2.2 ms for a part of 1 MB, from its last byte to the answer's first.
constexpr double kLabServerRate = 0.45e9;

double error_of(double measured, double predicted) {
  return measured / predicted - 1;
}

std::string error_text(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

// The fastest that `allowed` lets through; nullptr: none.
template <class Allowed>
const MethodPrediction* fastest(const PlanReport& report,
                                const Allowed& allowed) {
  const MethodPrediction* best = nullptr;
  for (const MethodPrediction& one : report.prediction.methods)
    if (allowed(one.method) &&
        (best == nullptr || one.step.step < best->step.step))
      best = &one;
  return best;
}

const Method& recommended(const PlanReport& report) {
  return report.prediction.methods[report.prediction.recommended].method;
}

}  // namespace

double CheckedMethod::communication_error() const {
  return error_of(measured.communication, predicted.communication);
}
double CheckedMethod::step_error() const {
  return error_of(measured.step, predicted.step);
}

Network lab_network(const Network& network) {
  Network lab = network;
  lab.payload = kLabPayload;
  lab.latency = kLabLatency;
  lab.burst = kLabBurst;
  // Hosts have this machine's memory, whatever device the plan is for.
  const Network usual;
  lab.local_latency = usual.local_latency;
  lab.local_rate = usual.local_rate;
  lab.memory_rate = usual.memory_rate;
  lab.window = kLabWindow;
  lab.segment = kSegment;
  lab.queued = kLabQueued;
  lab.queued_seconds = kLabQueuedSeconds;
  lab.server_rate = kLabServerRate;
  lab.acknowledgement = kAcknowledgement;
  lab.segment_acknowledgement = kSegmentAcknowledgement;
  return lab;
}

int hosts_of_first_rack(const Network& network, int spare) {
  int count = 0;
  for (int host = 0; host < network.hosts + spare; ++host)
    if (network.rack_of(host) == 0) ++count;
  return count;
}

Result<std::vector<Method>> methods_named(std::string_view names) {
  std::vector<Method> methods;
  for (size_t from = 0; from <= names.size();) {
    const size_t end = std::min(names.find(';', from), names.size());
    std::string_view name = names.substr(from, end - from);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    RONDO_ASSIGN_OR_RETURN(const Method method, method_named(name));
    methods.push_back(method);
    from = end + 1;
  }
  return methods;
}

Result<std::vector<Method>> methods_to_check(const PlanReport& report,
                                             const std::string& names) {
  std::vector<Method> methods;
  if (names.empty()) {
    const Method& best = recommended(report);
    methods.push_back(best);
    const int spare_hosts = kMostHostsOfALab - report.network.hosts;
    for (const bool spare : {false, true})
      if (const auto* one = fastest(report, [&](const Method& method) {
            return (method.spare_machines() > 0) == spare &&
                   (spare || method.kind != best.kind) &&
                   method.spare_machines() <= spare_hosts;
          }))
        methods.push_back(one->method);
    return methods;
  }
  RONDO_ASSIGN_OR_RETURN(methods, methods_named(names));
  for (const Method& method : methods)
    if (method.factors && !report.workload.with_factors)
      return error(Code::kInvalidArgument,
                   "--methods \"{}\": {} has no layer whose gradient is a "
                   "product of factors; leave \", factors\" out",
                   method.name(), report.workload.name);
  return methods;
}

Result<std::vector<CheckedMethod>> predict_lab(
    const PlanReport& report, std::span<const Method> methods) {
  const Network network = lab_network(report.network);
  std::vector<CheckedMethod> checked;
  for (const Method& method : methods) {
    RONDO_ASSIGN_OR_RETURN(
        const MethodPrediction predicted,
        predict_method(method, network, report.workload, report.options));
    checked.push_back({.method = method,
                       .predicted_bytes = predicted.worker_bytes,
                       .predicted = predicted.step,
                       .measured = {}});
  }
  return checked;
}

std::vector<TextRow> check_rows(std::span<const CheckedMethod> checked) {
  std::vector<TextRow> rows = {{"", "bytes", "sent", "comm", "measured",
                                "error", "step", "measured", "error"}};
  for (const CheckedMethod& one : checked)
    rows.push_back({one.method.name(), bytes_text(one.predicted_bytes),
                    bytes_text(one.measured.worker_bytes),
                    seconds_text(one.predicted.communication),
                    seconds_text(one.measured.communication),
                    error_text(one.communication_error()),
                    seconds_text(one.predicted.step),
                    seconds_text(one.measured.step),
                    error_text(one.step_error())});
  return rows;
}

std::string check_sentence(const PlanReport& report) {
  const std::vector<CheckedMethod>& checked = report.checked;
  const auto& best = *std::ranges::min_element(
      checked, {}, [](const CheckedMethod& one) { return one.measured.step; });
  if (&best == &checked.front())
    return fmt::format("Measured, {} is the fastest.", best.method.name());
  return fmt::format(
      "Measured, {} is the fastest, and {} takes {:.2f} times as long.",
      best.method.name(), checked.front().method.name(),
      checked.front().measured.step / best.measured.step);
}

std::string check_text(const PlanReport& report) {
  std::vector<TextRow> rows = check_rows(report.checked);
  for (TextRow& row : rows) row.front().insert(0, "  ");
  return fmt::format("\n{}\n{}{}\n", kCheckHeading, text_table(rows),
                     check_sentence(report));
}

}  // namespace rondo
