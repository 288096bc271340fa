// Cutting, joining, moving and looking up elements.
#pragma once

#include "rondo/graph/ops/gathering.h"
#include "rondo/graph/ops/joining.h"
#include "rondo/graph/ops/searching.h"
#include "rondo/graph/ops/shaping.h"
#include "rondo/graph/ops/slicing.h"
