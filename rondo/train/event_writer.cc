#include "rondo/train/event_writer.h"
