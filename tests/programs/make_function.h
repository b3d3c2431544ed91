// A random function, and calls of it.
#pragma once

#include "weft/tests/programs/builder.h"

namespace weft::testing {

/// Defines a function "fNUMBER" of the types of some values that are there, sometimes with a
/// gradient of its own, and calls it a few times. Functions may have functions, up to a `depth`.
void make_function(Builder& builder, const Temper& temper, Coverage& coverage, int number,
                   int depth = 0);

}  // namespace weft::testing
