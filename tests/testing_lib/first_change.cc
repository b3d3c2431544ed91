#include "weft/testing/first_change.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "weft/core/error.h"
#include "weft/testing/start_values.h"
#include "weft/tests/reference/interpreter.h"
#include "weft/tests/reference/roundings.h"

namespace weft::testing {
namespace {

/// One evaluation of a node.
struct NodeStep {
  const Node* node;
  std::vector<Tensor> inputs, results;
  std::string within;
};

std::vector<NodeStep> steps_of(Graph& graph, const Program& program,
                               const std::vector<Value>& roots, const RunSetup& setup) {
  const StartValues start = start_values(graph, program, setup);
  const NodeRule kernels = kernel_rule(program.precision().value_or(Precision::highest));
  std::vector<NodeStep> steps;
  interpret(roots, start.feed, start.bindings, [&](const NodeUse& use) {
    std::vector<Tensor> results = kernels(use);
    steps.push_back({&use.node, use.inputs, results, use.within});
    return results;
  });
  return steps;
}

class TwoRuns {
 public:
  TwoRuns(std::vector<NodeStep> first, std::vector<NodeStep> second, const CompareRuns& compare)
      : first_(std::move(first)), second_(std::move(second)), compare_(compare) {}

  std::string cause() {
    for (std::size_t i = 0; i < first_.size() && i < second_.size(); ++i) {
      const NodeStep &a = first_[i], &b = second_[i];
      if (a.node != b.node || a.within != b.within) return cause_of_other_path(i);
      Change change = Change::none;
      for (std::size_t o = 0; o < a.results.size(); ++o) {
        change = std::max(change,
                          compare_(a.node->type(static_cast<int>(o)), a.results[o], b.results[o]));
        if (b.results[o].bytes() > 0) made_by_.insert_or_assign(b.results[o].raw(), i);
      }
      changed_.push_back(change != Change::none);
      origin_.push_back(changed_[i] && changed_operands(i).empty());
      if (change == Change::fault) return cause_of(i);
    }
    return first_.size() == second_.size()
               ? std::string()
               : cause_of_other_path(std::min(first_.size(), second_.size()));
  }

 private:
  std::vector<std::size_t> changed_operands(std::size_t i) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < first_[i].inputs.size(); ++k) {
      const Tensor &a = first_[i].inputs[k], &b = second_[i].inputs[k];
      if (!a.defined()) continue;
      const Value& operand = first_[i].node->inputs()[k];
      // Constants and sizes, which have no operands, are not causes.
      const bool is_leaf = operand.node().inputs().empty() && operand.node().op().name != "input";
      if (!is_leaf && compare_(operand.type(), a, b) != Change::none) found.push_back(k);
    }
    return found;
  }

  std::string cause_of(std::size_t at) const {
    while (true) {
      const std::vector<std::size_t> operands = changed_operands(at);
      if (operands.empty()) return place(at);
      std::optional<std::size_t> before;
      for (const std::size_t k : operands) {
        const auto made = made_by_.find(second_[at].inputs[k].raw());
        if (made != made_by_.end() && made->second < at && changed_[made->second])
          before = made->second;
      }
      if (!before) break;
      at = *before;
    }
    // The operand is an element or a result of a loop.
    if (std::string found = last_origin(at); !found.empty()) return found;
    const Node& made = first_[at].node->inputs()[changed_operands(at).front()].node();
    if (!made.op().has_bodies()) return place(at);
    return fmt::format("{}, {}", made.op().name, made.graph().where(made));
  }

  /// The runs take different branches or numbers of steps from step `at` on. If the rows are the
  /// steps of a scan, returns the place of the scan, else that of the node that decides.
  std::string cause_of_other_path(std::size_t at) const {
    for (const std::vector<NodeStep>* steps : {&first_, &second_}) {
      if (at >= steps->size()) continue;
      const std::string& within = (*steps)[at].within;
      if (const std::size_t scan = within.rfind(" of scan, "); scan != std::string::npos)
        return within.substr(scan + 4);
    }
    return last_origin(at);
  }

  /// Returns the place of the last step before `end` with changed results and unchanged operands.
  std::string last_origin(std::size_t end) const {
    for (std::size_t i = std::min(end, origin_.size()); i > 0; --i) {
      if (origin_[i - 1]) return place(i - 1);
    }
    return {};
  }

  std::string place(std::size_t i) const {
    const Node& node = *first_[i].node;
    return fmt::format("{}, {}{}", node.op().name, node.graph().where(node), first_[i].within);
  }

  std::vector<NodeStep> first_, second_;
  const CompareRuns& compare_;
  std::vector<bool> changed_, origin_;
  std::unordered_map<const void*, std::size_t> made_by_;  // data of a result -> its step
};

}  // namespace

std::string first_changed_node(Graph& graph, const Program& program,
                               const std::vector<Value>& roots, const RunSetup& setup,
                               const NamedTensors& other, const CompareRuns& compare) {
  RunSetup second = setup;
  second.feeds = other;
  try {
    return TwoRuns(steps_of(graph, program, roots, setup), steps_of(graph, program, roots, second),
                   compare)
        .cause();
  } catch (const Error&) {
    return {};  // for example, an index is out of range without the other rows
  }
}

}  // namespace weft::testing
