// What the report says in the same words as text and on the page.
#pragma once

#include <string>

#include "rondo/plan/prediction.h"

namespace rondo {

std::string percent(double share);

// Who is where, and what joins them.
std::string network_text(const Network& network);

// Seconds, with a mark where the simulation did not look at each block.
std::string marked(bool by_messages, double seconds);
// What the mark means; empty where no method has it.
std::string mark_sentence(const Prediction& prediction);

// What the column of bands means; empty where no method has one.
std::string band_sentence(const Prediction& prediction);

// How many parameter servers would be enough; empty where there is one host.
std::string servers_sentence(const Prediction& prediction);

}  // namespace rondo
