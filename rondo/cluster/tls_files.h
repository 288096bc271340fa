// The contents of TLS files.
#pragma once

#include <string>

#include "rondo/base/status.h"
#include "rondo/cluster/tls.h"

namespace rondo {

struct TlsTexts {
  std::string authority;
  std::string certificate;
  std::string key;
};

// All three are needed; the error says which file is missing.
Result<TlsTexts> read_tls_files(const TlsFiles& files);

}  // namespace rondo
