// Programs that keep every value: to find the first node that differs between two runs.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/ir/program.h"

namespace weft::testing {

/// `program` with all that its nodes compute as outputs besides its own.
struct EveryValue {
  explicit EveryValue(const Program& program);

  /// "matmul, model.cc:31", of value `i`.
  std::string place(std::size_t i) const;
  /// Where value `i` stands among the outputs of a run.
  std::size_t output(std::size_t i) const { return own_ + i; }

  Program program;
  std::vector<Value> values;  // in topological order

 private:
  std::size_t own_;
};

}  // namespace weft::testing
