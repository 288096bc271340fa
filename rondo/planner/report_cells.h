// What a row of the report says of a method, as text and on the page.
#pragma once

#include <string>
#include <vector>

#include "rondo/plan/prediction.h"

namespace rondo {

std::string percent(double share);

// Without the method's name; with the price of an epoch where there is one.
std::vector<std::string> cells_of(const MethodPrediction& method, bool priced);

// How many parameter servers would be enough; empty where there is one host.
std::string servers_sentence(const Prediction& prediction);

}  // namespace rondo
