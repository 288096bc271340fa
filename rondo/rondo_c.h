/* Rondo for C: #include <rondo/rondo_c.h>, link with -lrondo. */
#ifndef RONDO_RONDO_C_H_
#define RONDO_RONDO_C_H_

#include "rondo/capi/rondo_c.h"

#endif
