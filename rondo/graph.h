// What a C++ program includes to build graphs and run them.
#pragma once

#include "rondo/graph/gradients.h"
#include "rondo/graph/graph.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"
