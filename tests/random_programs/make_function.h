// Random functions and calls of them.
#pragma once

#include "weft/tests/random_programs/builder.h"

namespace weft::testing {

/// Defines a function "fNUMBER" with the types of some existing values, in some cases with a custom
/// gradient, and calls it a few times. Functions may define nested functions, up to a nesting depth
/// of `depth`.
void make_function(Builder& builder, const GeneratorOptions& options, Coverage& coverage,
                   int number, int depth = 0);

}  // namespace weft::testing
