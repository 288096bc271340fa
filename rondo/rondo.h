// Everything a program needs to make communicators and reduce tensors.
#pragma once

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/collectives/communicator.h"
#include "rondo/tensor/tensor.h"
