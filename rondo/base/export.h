// RONDO_API marks what programs outside the library may link against. In the
// standard's spelling, so that it may stand beside [[nodiscard]].
#pragma once

#define RONDO_API [[gnu::visibility("default")]]
