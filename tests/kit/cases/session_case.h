// One op in a graph, run by a Session in any of its ways.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/tests/kit/cases/guarded_memory.h"
#include "weft/tests/kit/cases/run_outcome.h"
#include "weft/tests/kit/cases/symbolic_sample.h"
#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

/// How an operand comes into the graph.
enum class Role { fed, constant, parameter };

/// A role for each operand: all the same, or each its own. Constants alone are folded.
std::vector<Role> draw_roles(const OpSample& sample, Draw& draw);

/// What a case becomes in a graph.
struct Surroundings {
  /// By input; all are fed if empty. With symbolic sizes all must be.
  std::vector<Role> roles = {};
  /// Sizes are symbols.
  const SymbolicSample* symbolic = nullptr;
  /// When not 0, drawn from it: operands come through ops that change nothing or little, results go
  /// on into elementwise ops and reductions, which passes fuse, and become the next values of
  /// parameters; the op may stand in a function.
  std::uint64_t neighbours_seed = 0;
  /// When not 0, drawn from it: besides the outputs, gradients of one of them with respect to all
  /// floating operands.
  std::uint64_t gradient_seed = 0;
  /// Of the graph.
  std::shared_ptr<const OpSet> ops = builtin_ops();
};

/// What a run may do besides, and what may come before it, without a difference.
struct RunWay {
  Guard guard = Guard::behind;
  /// Outputs are the Session's own memory instead of guarded memory.
  bool own_outputs = false;
  /// The caller's thread flushes denormals and rounds down.
  bool odd_floating_point = false;
  /// When not 0, drawn from it: runs of the same Session before, with other values, other sizes and
  /// data that are refused.
  std::uint64_t earlier_runs_seed = 0;
};

/// A graph with one use of an op, and all that a Session needs to run it.
class SessionCase {
 public:
  /// Throws what building throws.
  SessionCase(const OpRecord& op, const OpSample& sample, const Surroundings& surroundings = {});

  /// Feeds (and parameters) lie in guarded memory, and so do the results where `way` does not say
  /// otherwise. The results are the program's outputs, then the new values of parameters.
  RunOutcome run(const SessionOptions& options, const RunWay& way) const;
  RunOutcome run(const SessionOptions& options, Guard guard) const {
    return run(options, RunWay{.guard = guard});
  }
  /// Only plans, for other sizes than the sample's where `values` are given.
  std::shared_ptr<const Plan> plan(const SessionOptions& options,
                                   const Bindings* values = nullptr) const;
  /// Whether there is anything to run: outputs, or gradients where they were asked for.
  bool empty() const { return program_.outputs().empty(); }
  const Program& program() const { return program_; }
  const NamedTensors& parameters() const { return parameters_; }

 private:
  Value operand(std::size_t i, const OpSample& sample, const Surroundings& surroundings);
  std::vector<Value> apply(const OpRecord& op, const std::vector<Value>& operands,
                           const Attributes& attributes, bool in_function);
  void add_updates(const std::vector<Value>& results, Draw& draw);
  void add_gradients(const OpRecord& op, const std::vector<Value>& results, std::uint64_t seed);
  std::vector<Tensor> run_once(Session& session, const RunWay& way) const;
  void run_otherwise(Session& session, Draw& draw) const;
  Bindings bindings(const Bindings& other) const;
  NamedSizes sizes_of_inputs(const Bindings& bound) const;
  DimValues dims(const Bindings& bound) const;

  mutable Graph graph_;
  Program program_{"case"};
  NamedTensors feeds_;
  NamedTensors parameters_;
  DimValues dims_;
  std::vector<Value> operands_;
  const SymbolicSample* symbolic_;
};

}  // namespace weft::testing
