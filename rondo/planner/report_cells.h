// What the report says in the same words as text and on the page.
#pragma once

#include <string>

#include "rondo/plan/prediction.h"

namespace rondo {

std::string percent(double share);

// How many parameter servers would be enough; empty where there is one host.
std::string servers_sentence(const Prediction& prediction);

}  // namespace rondo
