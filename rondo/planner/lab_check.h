// LabCheck: what is predicted for methods, beside what a lab has measured.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/planner/replay_job.h"
#include "rondo/planner/text_table.h"

namespace rondo {

inline constexpr int kMostHostsOfALab = 64;

struct PlanReport;

struct CheckedMethod {
  Method method;
  double predicted_bytes = 0;  // that a worker sends in a step
  StepTimes predicted;         // on the lab's network
  ReplayTimes measured;

  // By how much more was measured than predicted, as a share of that.
  double communication_error() const;
  double step_error() const;
};

// The network as a lab is: its frames are counted without preamble and gap, its
// latency is that of the machine's own network stack, its shapers let 2 ms
// through at once, and within a host there is this machine's memory.
Network lab_network(const Network& network);

// How many hosts of a lab have to be in the first of its two racks, so that
// ranks and spare machines are where the network has them: a lab puts ranks on
// hosts in order and takes the spare ones from the racks in turn.
int hosts_of_first_rack(const Network& network, int spare);

// "ring; ps 2"
Result<std::vector<Method>> methods_named(std::string_view names);

// The methods of `names`. Without names: the recommended one, the fastest of
// another kind that needs no spare machine, and the fastest that does; of those
// for which a lab has hosts.
Result<std::vector<Method>> methods_to_check(const PlanReport& report,
                                             const std::string& names);

// What is predicted for them, and nothing measured yet.
Result<std::vector<CheckedMethod>> predict_lab(const PlanReport& report,
                                               std::span<const Method> methods);

// A table of them, which was the fastest and how much longer the first took,
// and both for a terminal.
inline constexpr std::string_view kCheckHeading =
    "In a lab of this machine, where ranks wait instead of computing: "
    "predicted "
    "for the lab's network, and measured";
std::vector<TextRow> check_rows(std::span<const CheckedMethod> checked);
std::string check_sentence(const PlanReport& report);
std::string check_text(const PlanReport& report);

}  // namespace rondo
