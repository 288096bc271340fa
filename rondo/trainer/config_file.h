// A file of options: lines `name = value`, `#` begins a comment.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

using ConfigLines = std::vector<std::pair<std::string, std::string>>;

// Names as on the command line without "--". An error has the line's number.
Result<ConfigLines> parse_config(std::string_view text);
Result<ConfigLines> read_config_file(const std::string& path);

}  // namespace rondo
