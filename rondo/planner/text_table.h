// Tables for a terminal.
#pragma once

#include <string>
#include <vector>

namespace rondo {

using TextRow = std::vector<std::string>;

// Columns as wide as they must be; the first is left-aligned.
std::string text_table(const std::vector<TextRow>& rows);

}  // namespace rondo
