// Small patterns that random ops rarely produce, and for which the passes, the planner and the
// state handling are designed.
#pragma once

#include "weft/tests/random_programs/builder.h"

namespace weft::testing {

/// Adds one idiom to the graph, using existing values and new leaves. Returns false on failure. All
/// idioms except those with state are also used in functions.
bool grow_idiom(Builder& builder);

/// Builds an idiom. Returns false if the available values do not allow it.
using Idiom = bool (*)(Builder& builder);
/// Products, convolutions, attention, losses and their gradients: idioms_network.cc.
std::vector<Idiom> network_idioms();
/// Writes into slices of other tensors, views, narrow and quantised data: idioms_memory.cc.
std::vector<Idiom> memory_idioms();
/// Caches, optimizers, swapped variables: idioms_state.cc.
std::vector<Idiom> state_idioms();

/// Returns a floating-point value from the pool (usually f32) with at least this rank, or a new
/// leaf.
Value any_float(Builder& builder, int rank);
/// Returns a random size: small, or near the number of lanes of a vector.
std::int64_t any_size(RandomSource& random);
/// Adds the gradients of the sum of `loss` with respect to `wrt` to the graph.
bool add_gradients(Builder& builder, Value loss, const std::vector<Value>& wrt);

}  // namespace weft::testing
