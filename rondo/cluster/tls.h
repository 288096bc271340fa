// TlsFiles: what a process needs to speak TLS with the tasks of a cluster.
#pragma once

#include <string>

#include "rondo/base/export.h"

namespace rondo {

// Files in PEM format; none: no TLS. Each side shows its certificate and checks
// the other's by `authority`. TLS protects the control plane; tensors and steps
// travel as they are.
struct RONDO_API TlsFiles {
  std::string authority;
  std::string certificate;
  std::string key;
  bool wanted() const {
    return !authority.empty() || !certificate.empty() || !key.empty();
  }
};

}  // namespace rondo
