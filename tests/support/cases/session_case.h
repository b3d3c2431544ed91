// One op in a graph that is run by a Session, with various options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/tests/support/cases/guarded_memory.h"
#include "weft/tests/support/cases/run_outcome.h"
#include "weft/tests/support/cases/symbolic_sample.h"
#include "weft/tests/support/cases/vary_sample.h"

namespace weft::testing {

/// How the graph provides an operand.
enum class Role { fed, constant, parameter };

/// Draws a role for each operand: either the same role for all operands, or independent ones. If
/// all operands are constants, the op is constant-folded.
std::vector<Role> draw_roles(const OpSample& sample, Draw& draw);

/// The graph around the op of a case.
struct Surroundings {
  /// The role of each input; if empty, all inputs are fed. With symbolic sizes all inputs must be
  /// fed.
  std::vector<Role> roles = {};
  /// If set, sizes are symbols.
  const SymbolicSample* symbolic = nullptr;
  /// If not 0, the seed for surrounding nodes. Operands then come from ops that change them
  /// slightly or not at all. Results are used by elementwise ops and reductions, with which passes
  /// fuse the op, and as new values of parameters. The op may be inside a function.
  std::uint64_t neighbours_seed = 0;
  /// If not 0, the seed for gradients. The outputs are then the gradients of one output with
  /// respect to all floating-point operands.
  std::uint64_t gradient_seed = 0;
  /// The op set of the graph.
  std::shared_ptr<const OpSet> ops = builtin_ops();
};

/// Conditions of a run, including earlier runs, that must not change its results.
struct RunVariant {
  Guard guard = Guard::after;
  /// If true, outputs are in the Session's memory instead of guarded memory.
  bool own_outputs = false;
  /// If true, the calling thread flushes denormals to zero and rounds down.
  bool odd_floating_point = false;
  /// If not 0, the seed of earlier runs of the same Session with other values, other sizes and
  /// invalid data.
  std::uint64_t earlier_runs_seed = 0;
};

/// A graph with one call of an op, and everything that a Session needs to run it.
class SessionCase {
 public:
  /// Propagates the errors that are thrown while the graph is built.
  SessionCase(const OpRecord& op, const OpSample& sample, const Surroundings& surroundings = {});

  /// Runs the program. Feeds and parameters are in guarded memory, and so are the results unless
  /// `way` requests otherwise. Returns the outputs of the program, followed by the new values of
  /// parameters.
  RunOutcome run(const SessionOptions& options, const RunVariant& way) const;
  RunOutcome run(const SessionOptions& options, Guard guard) const {
    return run(options, RunVariant{.guard = guard});
  }
  /// Creates a plan without running it. The sizes come from `values` if given, otherwise from the
  /// sample.
  std::shared_ptr<const Plan> plan(const SessionOptions& options,
                                   const Bindings* values = nullptr) const;
  /// Returns true if there is nothing to run: no outputs, or no gradients although gradients were
  /// requested.
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
