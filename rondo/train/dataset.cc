#include "rondo/train/dataset.h"
