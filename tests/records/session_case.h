// One op in a graph, run by a Session in any of its ways.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/tests/kit/guarded_memory.h"
#include "weft/tests/kit/symbolic_sample.h"
#include "weft/tests/kit/vary_sample.h"
#include "weft/tests/records/outcome.h"

namespace weft::testing {

/// How an operand comes into the graph.
enum class Role { fed, constant, parameter };

/// What a case becomes in a graph.
struct Surroundings {
  /// By input; all are fed if empty. With symbolic sizes all must be.
  std::vector<Role> roles = {};
  /// Sizes are symbols.
  const SymbolicSample* symbolic = nullptr;
  /// When not 0, drawn from it: operands come through ops that change nothing or little, and
  /// results go on into elementwise ops and reductions, which passes fuse.
  std::uint64_t neighbours_seed = 0;
  /// When not 0, drawn from it: besides the outputs, gradients of one of them with respect to all
  /// floating operands.
  std::uint64_t gradient_seed = 0;
};

/// A graph with one use of an op, and all that a Session needs to run it.
class SessionCase {
 public:
  /// Throws what building throws.
  SessionCase(const OpRecord& op, const OpSample& sample, const Surroundings& surroundings = {});

  /// Feeds (and parameters) lie in guarded memory, and so do the results where `options` does not
  /// keep the Session from it.
  Outcome run(const SessionOptions& options, Guard guard) const;
  /// Only plans, for other sizes than the sample's where `values` are given.
  std::shared_ptr<const Plan> plan(const SessionOptions& options,
                                   const Bindings* values = nullptr) const;
  /// Whether there is anything to run: outputs, or gradients where they were asked for.
  bool empty() const { return program_.outputs().empty(); }

 private:
  Value operand(std::size_t i, const Tensor& tensor, const Surroundings& surroundings);
  void add_gradients(Node& node, std::uint64_t seed);

  mutable Graph graph_;
  Program program_{"case"};
  NamedTensors feeds_;
  NamedTensors parameters_;
  DimValues dims_;
  std::vector<Value> operands_;
  const SymbolicSample* symbolic_;
};

}  // namespace weft::testing
