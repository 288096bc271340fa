#include "rondo/planner/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondo {

std::string text_table(const std::vector<TextRow>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const TextRow& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const TextRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += fmt::format("{}\n", line);
  }
  return text;
}

}  // namespace rondo
