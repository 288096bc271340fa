// MethodRows: the table of methods, for a terminal and for the page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/planner/planner.h"

namespace rondo {

struct MethodColumn {
  std::string name;        // for a terminal
  std::string_view title;  // for the page
  std::string (*text)(const MethodPrediction& method);
};

// Behind that of names. With a price where there is one, with what waiting for
// the slowest costs where workers differ, and with error bands where any method
// has one.
std::vector<MethodColumn> columns_of(const PlanReport& report);

struct MethodRow {
  std::string name;
  std::vector<std::string> cells;
  bool recommended = false;
};

// One for all numbers of spare machines or servers with the same figures. For
// many workers, numbers of servers that are far too few have none.
std::vector<MethodRow> rows_of(const PlanReport& report);
// That they have none; empty where all have one.
std::string left_out_sentence(const PlanReport& report);

}  // namespace rondo
