#include "rondo/rendezvous/slurm_nodes.h"

namespace rondo {

std::string first_slurm_node(std::string_view list) {
  std::string node;
  bool inside = false;    // between [ and ]
  bool skipping = false;  // behind the first number in there
  for (char c : list) {
    if (c == '[') {
      inside = true;
      skipping = false;
    } else if (c == ']') {
      inside = false;
    } else if (inside) {
      skipping = skipping || c == '-' || c == ',';
      if (!skipping) node += c;
    } else if (c == ',') {
      break;
    } else {
      node += c;
    }
  }
  return node;
}

}  // namespace rondo
