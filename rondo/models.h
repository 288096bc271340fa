// What a C++ program includes to use Rondo's models.
#pragma once

#include "rondo/models/gpt.h"
#include "rondo/models/lenet.h"
#include "rondo/models/lstm.h"
#include "rondo/models/mlp.h"
#include "rondo/models/resnet.h"
#include "rondo/models/training.h"
#include "rondo/models/vgg.h"
