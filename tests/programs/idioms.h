// Small pieces of programs that random ops hardly ever come to: what passes, planner and state are
// made for.
#pragma once

#include "weft/tests/programs/builder.h"

namespace weft::testing {

/// Adds one idiom to the graph, on what is there and on new leaves; false if it did not come to be.
/// All but decoding and optimizers stand in functions, too.
bool grow_idiom(Builder& builder);

/// Idioms by what they are for, each on its own: false if there is nothing to build it of.
using Idiom = bool (*)(Builder& builder);
/// Products, convolutions, attention, losses and their gradients: idioms_network.cc.
std::vector<Idiom> network_idioms();
/// Parts of tensors put into others, views, narrow and quantised data: idioms_memory.cc.
std::vector<Idiom> memory_idioms();
/// Caches, optimizers, variables that change places: idioms_state.cc.
std::vector<Idiom> state_idioms();

/// A floating value of the pool (mostly f32) of at least this rank, or a new leaf.
Value any_float(Builder& builder, int rank);
/// A number of things: small, or about as many as a vector has lanes.
std::int64_t any_size(RandomSource& random);
/// Gradients of the sum of `loss`, which shall be a number, as more nodes.
bool add_gradients(Builder& builder, Value loss, const std::vector<Value>& wrt);

}  // namespace weft::testing
