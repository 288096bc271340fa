#include "rondo/base/crc32c_hardware.h"

namespace rondo {

Crc32cLoop hardware_crc32c() { return nullptr; }

}  // namespace rondo
