#include "rondo/train/saver.h"
