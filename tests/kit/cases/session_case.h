// One op in a graph that is run by a Session, with various options.
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

/// How an operand is provided in the graph.
enum class Role { fed, constant, parameter };

/// Draws a role for each operand: the same for all, or independent ones. If all are constants, the
/// op is constant-folded.
std::vector<Role> draw_roles(const OpSample& sample, Draw& draw);

/// The graph around the op of a case.
struct Surroundings {
  /// The role of each input; if empty, all are fed. With symbolic sizes all inputs must be fed.
  std::vector<Role> roles = {};
  /// If set, sizes are symbols.
  const SymbolicSample* symbolic = nullptr;
  /// If not 0, the seed of surrounding nodes: operands come from ops that change nothing or little;
  /// results are used by elementwise ops and reductions, which passes fuse, and as new values of
  /// parameters; the op may be inside a function.
  std::uint64_t neighbours_seed = 0;
  /// If not 0, the seed for gradients: the outputs are the gradients of one output with respect to
  /// all floating-point operands.
  std::uint64_t gradient_seed = 0;
  /// The op set of the graph.
  std::shared_ptr<const OpSet> ops = builtin_ops();
};

/// Conditions of a run, and earlier runs, that must not change its results.
struct RunVariant {
  Guard guard = Guard::after;
  /// Outputs are in memory of the Session instead of guarded memory.
  bool own_outputs = false;
  /// The thread of the caller flushes denormals and rounds down.
  bool odd_floating_point = false;
  /// If not 0, the seed of earlier runs of the same Session with other values, other sizes and
  /// invalid data.
  std::uint64_t earlier_runs_seed = 0;
};

/// A graph with one call of an op, and everything that a Session needs to run it.
class SessionCase {
 public:
  /// Throws the errors of building the graph.
  SessionCase(const OpRecord& op, const OpSample& sample, const Surroundings& surroundings = {});

  /// Runs the program. Feeds and parameters are in guarded memory, and so are the results unless
  /// `way` says otherwise. Returns the outputs of the program, then the new values of parameters.
  RunOutcome run(const SessionOptions& options, const RunVariant& way) const;
  RunOutcome run(const SessionOptions& options, Guard guard) const {
    return run(options, RunVariant{.guard = guard});
  }
  /// Creates a plan without running it, for the sizes in `values` instead of those of the sample if
  /// given.
  std::shared_ptr<const Plan> plan(const SessionOptions& options,
                                   const Bindings* values = nullptr) const;
  /// True if there is nothing to run: no outputs, or no gradients if they were requested.
  bool empty() const { return program_.outputs().empty(); }
  const Program& program() const { return program_; }
  const NamedTensors& parameters() const { return parameters_; }

 private:
  Value operand(std::size_t i, const OpSample& sample, const Surroundings& surroundings);
  std::vector<Value> apply(const OpRecord& op, const std::vector<Value>& operands,
                           const Attributes& attributes, bool in_function);
  void add_updates(const std::vector<Value>& results, Draw& draw);
  void add_gradients(const OpRecord& op, const std::vector<Value>& results, std::uint64_t seed);
  std::vector<Tensor> run_once(Session& session, const RunVariant& way) const;
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
