// Programs that output every value, used to find the first node that differs between two runs.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/ir/program.h"

namespace weft::testing {

/// A copy of `program` with the results of all nodes as additional outputs.
struct EveryValue {
  explicit EveryValue(const Program& program);

  /// The op and the source line of value `i`, such as "matmul, model.cc:31".
  std::string place(std::size_t i) const;
  /// The index of value `i` among the outputs of a run.
  std::size_t output(std::size_t i) const { return own_ + i; }

  Program program;
  std::vector<Value> values;  // in topological order

 private:
  std::size_t own_;
};

}  // namespace weft::testing
