// Converts consecutive steps of a tile program into a chain (ops/kernels/elementwise/chain.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/ops/kernels/elementwise/chain.h"

namespace weft {

/// A step that can be executed as part of a chain.
struct ChainableStep {
  kernels::ChainOp op = kernels::ChainOp::load;
  std::array<double, 2> reals = {};
  std::size_t operand_count = 0;
  std::array<int, 2> operands = {};           // numbers of the operand values
  std::array<std::uint8_t, 2> pointers = {};  // their indices in the table of pointers
  std::uint32_t scalars = 0;                  // bit i: operand i is one element for the whole row
  int value = 0;                              // number of the value that the step computes
  std::uint8_t destination = 0;               // index of the pointer to its destination
  /// Index of the last step that reads the value. If no step reads it, at most the index of this
  /// step.
  std::size_t last_use = 0;
  /// True if the chain must store the value because it is read after the chain.
  bool stored = false;
  std::uint32_t result = 0;  // the bit of the result, or 0 if the value is not a result
};

struct Chain {
  std::vector<kernels::ChainStep> steps;
  std::uint32_t read_back = 0;  // bits of the results that the chain reads back from memory
};

/// Builds a chain from the steps, in order. A value that is still needed after the next step stays
/// in a vector register if one is free. Otherwise, the value is stored and loaded again.
Chain make_chain(const std::vector<ChainableStep>& steps);

}  // namespace weft
