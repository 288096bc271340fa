// What training any of the models needs.
#pragma once

#include "rondo/graph/optimizers.h"

namespace rondo::models {

// The mean cross-entropy of logits [..., classes] and the right classes [...].
RONDO_API Value loss(Value labels, Value logits);

// A node that makes one step: the optimizer's on the loss, and the updates of
// the collection kUpdates.
RONDO_API Node& train_op(Optimizer& optimizer, Value loss);

}  // namespace rondo::models
