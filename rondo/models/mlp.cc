#include "rondo/models/mlp.h"
