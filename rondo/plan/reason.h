// Reason: why a method is the quickest on a network, in a clause that follows
// from the bytes on its busiest link and from its rounds of messages.
#pragma once

#include <string>

#include "rondo/plan/method.h"
#include "rondo/plan/workload.h"

namespace rondo {

std::string reason_for(const Method& method, const Network& network,
                       const Workload& workload);

}  // namespace rondo
