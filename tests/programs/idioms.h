// Small patterns that random ops rarely produce, and that passes, planner and state handling are
// designed for.
#pragma once

#include "weft/tests/programs/builder.h"

namespace weft::testing {

/// Adds one idiom to the graph, on existing values and new leaves. Returns false if that failed.
/// All idioms except those with state are also used in functions.
bool grow_idiom(Builder& builder);

/// An idiom. Returns false if it cannot be built from the available values.
using Idiom = bool (*)(Builder& builder);
/// Products, convolutions, attention, losses and their gradients: idioms_network.cc.
std::vector<Idiom> network_idioms();
/// Writes of parts into other tensors, views, narrow and quantised data: idioms_memory.cc.
std::vector<Idiom> memory_idioms();
/// Caches, optimizers, swapped variables: idioms_state.cc.
std::vector<Idiom> state_idioms();

/// Returns a floating-point value of the pool (mostly f32) with at least this rank, or a new leaf.
Value any_float(Builder& builder, int rank);
/// Returns a random size: small, or near the number of lanes of a vector.
std::int64_t any_size(RandomSource& random);
/// Adds the gradients of the sum of `loss` with respect to `wrt` as nodes.
bool add_gradients(Builder& builder, Value loss, const std::vector<Value>& wrt);

}  // namespace weft::testing
