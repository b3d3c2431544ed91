#include "weft/testing/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/plan/control_plan.h"
#include "weft/ops/make_kernel.h"
#include "weft/testing/start_values.h"
#include "weft/tests/reference/definition.h"
#include "weft/tests/reference/interpreter.h"
#include "weft/tests/reference/roundings.h"

namespace weft::testing {
namespace {

// Thrown for a node whose kernel disagrees with the definition of its op.
struct NodeMismatch {
  std::string message;
};

// Evaluates nodes with their kernels and compares each node with the definition of its op.
// Evaluation stops at the first node that differs.
class Definitions {
 public:
  Definitions(const std::shared_ptr<const OpSet>& ops, Precision precision, Accuracies& accuracies)
      : ops_(ops), program_(precision), accuracies_(accuracies), kernels_(kernel_rule(precision)) {}

  std::vector<Tensor> operator()(const NodeUse& use) const {
    const OpRecord& op = use.node.op();
    std::vector<Tensor> results = kernels_(use);
    Accuracy& accuracy = accuracies_[&use.node];
    std::optional<std::string> found;
    if (has_scalar_model(op)) {
      found = difference_from_model(use, results, accuracy);
    } else {
      accuracy.rounds = true;
      if (op.definition) {
        found = difference_from_definition(ops_, op, use.inputs, use.attributes, results);
      }
    }
    if (found) {
      throw NodeMismatch{fmt::format("{}: {}\n  {}{}", op.name, *found,
                                     use.node.graph().where(use.node), use.within)};
    }
    return results;
  }

 private:
  std::optional<std::string> difference_from_model(const NodeUse& use,
                                                   const std::vector<Tensor>& results,
                                                   Accuracy& accuracy) const {
    const OpRecord& op = use.node.op();
    const auto defined = scalar_outputs(op, use.inputs, use.attributes, program_);
    for (std::size_t o = 0; o < results.size(); ++o) {
      if (const auto found = difference(results[o], defined[o])) {
        return fmt::format("output {}: {}", o, *found);
      }
    }
    accuracy.rounds =
        accuracy.rounds || any_error(defined, [](std::size_t, std::size_t) { return Real(0); });
    if (!accuracy.narrows && precision_for(use.attributes, program_) != Precision::highest) {
      Attributes plain = use.attributes;
      if (plain.find("precision") != nullptr) plain.set("precision", std::string());
      const auto exact = scalar_outputs(op, use.inputs, plain, Precision::highest);
      accuracy.narrows = any_error(
          defined, [&](std::size_t o, std::size_t i) { return exact[o].elements[i].error; });
    }
    return std::nullopt;
  }

  // Returns true if the error bound of any element exceeds `bound`.
  template <class Bound>
  static bool any_error(const std::vector<NumberTensor>& outputs, const Bound& bound) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      for (std::size_t i = 0; i < outputs[o].elements.size(); ++i) {
        if (outputs[o].elements[i].error > bound(o, i)) return true;
      }
    }
    return false;
  }

  const std::shared_ptr<const OpSet>& ops_;
  Precision program_;
  Accuracies& accuracies_;
  NodeRule kernels_;
};

// An output of a run, or a variable that the run has updated.
struct RunResult {
  std::string what;
  Tensor actual;
};

std::vector<RunResult> run_session(Session& session, const Program& program,
                                   const RunSetup& setup) {
  set_variables(session, setup);
  const Results results = session.run(program, setup.feeds, {.dims = setup.dims});
  std::vector<RunResult> results_of_run;
  for (const auto& output : program.outputs()) {
    results_of_run.push_back({fmt::format("output '{}'", output.first), results[output.first]});
  }
  for (const auto& update : program.updates()) {
    const std::string name = update.first.name();
    results_of_run.push_back({fmt::format("variable '{}'", name), session.value(name)});
  }
  return results_of_run;
}

// How much rounding errors change the results of a run, and whether they change integer results.
class Spread {
 public:
  void add(const std::vector<Tensor>& expected, const std::vector<Tensor>& moved) {
    farthest_.resize(expected.size());
    changes_.resize(expected.size());
    for (std::size_t r = 0; r < expected.size(); ++r) {
      for (std::int64_t i = 0; i < expected[r].numel(); ++i) {
        const double off = std::abs(expected[r].at(i) - moved[r].at(i));
        if (off > 0) changes_[r] = true;
        if (std::isfinite(off)) farthest_[r] = std::max(farthest_[r], off);
      }
    }
  }
  double farthest(std::size_t root) const { return farthest_.empty() ? 0 : farthest_[root]; }
  bool changes(std::size_t root) const { return !changes_.empty() && changes_[root]; }

 private:
  std::vector<double> farthest_;
  std::vector<bool> changes_;
};

Outcome compare(const Tensor& actual, const Tensor& expected, Tolerance tolerance,
                double farthest) {
  // A few samples may show only a fraction of the usual error.
  constexpr double kSafetyFactor = 4;
  if (!is_floating(expected.dtype())) return expect_same_bits(actual, expected);
  tolerance.absolute += kSafetyFactor * farthest;
  return expect_close(actual, expected, tolerance);
}

// Runs one program at one precision, node by node and in a Session.
class Runs {
 public:
  Runs(Graph& graph, const Program& program, const RunSetup& setup, const StartValues& start)
      : graph_(graph), program_(program), setup_(setup), start_(start), roots_(program.roots()) {}

  std::vector<Tensor> by_nodes(const NodeRule& rule) const {
    return interpret(roots_, start_.feed, start_.bindings, rule);
  }

  Outcome compare_session(const std::vector<Tensor>& expected, const Accuracies& accuracies,
                          Precision precision, const Tolerance& tolerance) const {
    Program at = program_;
    at.precision(precision);
    Session session(graph_, {.seed = setup_.seed, .threads = 1, .verify = true});
    const std::vector<RunResult> results_of_run = run_session(session, at, setup_);
    std::optional<Spread> spread;
    for (std::size_t r = 0; r < results_of_run.size(); ++r) {
      Outcome found = compare(results_of_run[r].actual, expected[r], tolerance, 0);
      if (found) continue;
      if (!spread) spread = spread_of(expected, accuracies, precision);
      if (!is_floating(expected[r].dtype()) && spread->changes(r)) continue;
      found = compare(results_of_run[r].actual, expected[r], tolerance, spread->farthest(r));
      if (found) continue;
      return Outcome::fail(
          fmt::format("{} of a Session at precision {} differs from the node-by-node results: {}\n"
                      "  (rounding errors change it by {:.2g})\nnodes that write in place{}",
                      results_of_run[r].what, precision_name(precision), found.message(),
                      spread->farthest(r), in_place(session, at)));
    }
    return Outcome::pass();
  }

 private:
  Spread spread_of(const std::vector<Tensor>& expected, const Accuracies& accuracies,
                   Precision precision) const {
    constexpr int kSamples = 8;
    Spread spread;
    for (std::uint64_t seed = 1; seed <= kSamples; ++seed) {
      try {
        spread.add(expected, by_nodes(moved_rule(precision, accuracies, seed)));
      } catch (const DataError&) {
        // The perturbed numbers led to an index out of range, so this sample is not usable.
      }
    }
    return spread;
  }

  std::string in_place(Session& session, const Program& program) const {
    std::string list;
    add_in_place(list, *session.plan(program, sizes_of(setup_.feeds), {.dims = setup_.dims}));
    return list.empty() ? ": none" : ":" + list;
  }

  // Also adds the steps in the bodies of loops and branches.
  static void add_in_place(std::string& list, const Plan& plan) {
    for (const PlanStep& step : plan.steps) {
      if (step.control != nullptr) {
        for (const BodyPlan& body : step.control->bodies) add_in_place(list, *body.plan);
      }
      if (step.inplace.empty() || step.node == nullptr || step.control != nullptr) continue;
      list += fmt::format("\n  {}, {}", step.node->op().name, step.node->graph().where(*step.node));
    }
  }

  Graph& graph_;
  const Program& program_;
  const RunSetup& setup_;
  const StartValues& start_;
  std::vector<Value> roots_;
};

}  // namespace

Outcome check_reference(Graph& graph, const Program& program, const RunSetup& setup,
                        const Tolerance& tolerance) {
  const StartValues start = start_values(graph, program, setup);
  for (const Value& input : program.inputs()) {
    if (start.feed.contains(input)) continue;
    return Outcome::fail(fmt::format("no tensor is fed for {}", graph.where(input.node())));
  }
  const Runs runs(graph, program, setup, start);
  const Precision precision = program.precision().value_or(Precision::highest);
  Accuracies accuracies;
  std::vector<Tensor> expected;
  try {
    expected = runs.by_nodes(Definitions(graph.shared_ops(), precision, accuracies));
  } catch (const NodeMismatch& differs) {
    return Outcome::fail(differs.message);
  }
  Outcome found = runs.compare_session(expected, accuracies, precision, tolerance);
  if (!found || precision == Precision::highest) return found;
  return runs.compare_session(runs.by_nodes(kernel_rule(Precision::highest)), accuracies,
                              Precision::highest, tolerance);
}

}  // namespace weft::testing
