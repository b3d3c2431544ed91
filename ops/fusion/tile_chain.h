// Turns steps of a tile program that follow one another into a chain (ops/kernels/chain.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/ops/kernels/chain.h"

namespace weft {

/// A step that a chain can do.
struct ChainableStep {
  kernels::ChainOp op = kernels::ChainOp::load;
  std::array<double, 2> reals = {};
  std::size_t operand_count = 0;
  std::array<int, 2> operands = {};           // values
  std::array<std::uint8_t, 2> pointers = {};  // their indices in the table
  std::uint32_t scalars = 0;                  // bit i: operand i is one element for the whole row
  int value = 0;                              // that the step makes
  std::uint8_t destination = 0;               // index of the pointer to where it goes
  /// The last of the steps that reads the value, by index; at most the step's own if none does.
  std::size_t last_use = 0;
  /// Whether the chain has to store the value: somebody reads it after the chain.
  bool stored = false;
  std::uint32_t result = 0;  // bit of the result that the value is, 0 if it is none
};

struct Chain {
  std::vector<kernels::ChainStep> steps;
  std::uint32_t read_back = 0;  // bits of results that the chain reads from memory again
};

/// The steps in their order. A value that a later step than the next reads stays in a vector
/// register while there is one, and is stored and loaded again otherwise.
Chain make_chain(const std::vector<ChainableStep>& steps);

}  // namespace weft
