// What a C++ program includes to build graphs and run them.
#pragma once

#include "rondo/graph/gradients.h"
#include "rondo/graph/graph.h"
#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/ops/update.h"
#include "rondo/graph/optimizers.h"
#include "rondo/runtime/session.h"
