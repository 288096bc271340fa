// RONDO_API marks what programs outside the library may link against.
#pragma once

#define RONDO_API __attribute__((visibility("default")))
