// Epilogue fusion: moves elementwise steps that follow a matrix product or a convolution into it.
// Bias, activation, scale, residual and casts are applied to every tile of the product while it is
// in cache.
//
// The steps form a `fused` node (or a single elementwise op) with the product's shape. If other
// nodes also read the product, it remains a result of the fused node; these readers must come later
// in the program's order, so that no cycle is created. Steps that compute updates of variables are
// not fused, because they update the variables in place.
//
// If the result of an integer product is rounded for the next one, the product also rounds it.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/ops/fusion/epilogue.h"
#include "weft/ops/fusion/tile_program.h"

namespace weft {
namespace {

using Index = std::size_t;

/// Returns the elementwise steps of a node as a program on the node's inputs, or nullopt for other
/// nodes.
std::optional<TileProgram> steps_of(const Node& node) {
  const OpSet& ops = node.graph().ops();
  if (node.instance() != 0 || ops.find(node.op().name) != &node.op()) return std::nullopt;
  if (node.op().name == "fused") {
    return TileProgram::parse(node.attributes().text("program"), &ops);
  }
  if (!can_be_step(node.op(), node.attributes(), ops)) return std::nullopt;
  TileProgram program;
  TileStep step{&node.op(), node.attributes(), {}};
  std::vector<Value> inputs;  // without duplicates
  for (const Value& v : node.inputs()) {
    if (!v.defined()) return std::nullopt;
    const auto it = std::find(inputs.begin(), inputs.end(), v);
    step.operands.push_back(static_cast<int>(it - inputs.begin()));
    if (it == inputs.end()) inputs.push_back(v);
  }
  if (inputs.size() != node.inputs().size()) return std::nullopt;
  program.inputs = static_cast<int>(inputs.size());
  program.results = {program.inputs};
  program.steps.push_back(std::move(step));
  return program;
}

/// Returns the same program with input `first` moved to position %0.
TileProgram with_first(TileProgram program, int first) {
  for (TileStep& step : program.steps) {
    for (int& v : step.operands) {
      if (v == first) {
        v = 0;
      } else if (v < first) {
        ++v;
      }
    }
  }
  return program;
}

class Epilogues {
 public:
  explicit Epilogues(const Program& program) : program_(program), consumers_(program) {
    for (const auto& [variable, value] : program.updates()) updates_.insert(&value.node());
    for (Node* node : consumers_.nodes()) find(*node);
  }

  /// Number of visited nodes and operands.
  std::size_t steps() const { return steps_ + consumers_.nodes().size(); }
  void copy(Cloner& cloner) const {
    for (Node* node : consumers_.nodes()) {
      const auto moved = moved_.find(node);
      if (moved != moved_.end()) {
        copy_moved(moved->second, *node, cloner);
      } else if (!products_.contains(node)) {
        cloner.copy(node->output(0));
      }
    }
  }

 private:
  struct Moved {
    Value product;
    int input = 0;  // which input of the steps is the product
    TileProgram steps;
    Node* rounding = nullptr;  // quantize_rows of the only result of the steps
  };

  void find(Node& node) {
    if (updates_.contains(&node)) return;
    Value best;
    int input = 0;
    for (Index k = 0; k < node.inputs().size(); ++k) {
      const Value& v = node.inputs()[k];
      if (!v.defined() || !is_product(v, node)) continue;
      // If there are several products, chooses the last one, because the fused product must run
      // after the others.
      if (!best.defined() || v.node().id() > best.node().id())
        best = v, input = static_cast<int>(k);
    }
    if (!best.defined()) return;
    std::optional<TileProgram> steps = steps_of(node);
    if (!steps || !fits(*steps, node, input)) return;
    products_.insert(best.node_pointer());
    const bool rounds = is(best.node(), "integer_matmul") && best.dtype() == DType::f32;
    Node* const rounding = rounds ? rounding_of(node) : nullptr;
    moved_.emplace(&node, Moved{best, input, with_first(std::move(*steps), input), rounding});
  }

  /// Returns the node that rounds the rows of the only result of `steps` dynamically, if any.
  Node* rounding_of(Node& steps) const {
    if (steps.output_count() != 1 || steps.type(0).dtype != DType::f32) return nullptr;
    for (const Use& use : consumers_.uses(steps.output(0))) {
      const auto& operands = use.node->inputs();
      const bool is_static = operands.size() > 1 && operands[1].defined();
      if (is(*use.node, "quantize_rows") && !is_static) return use.node;
    }
    return nullptr;
  }

  bool is_product(const Value& v, const Node& user) const {
    const Node& p = v.node();
    if (!is(p, "matmul") && !is(p, "quantized_matmul") && !is(p, "integer_matmul") &&
        !is(p, "conv2d"))
      return false;
    const OpSet& ops = p.graph().ops();
    if (ops.find(p.op().name) != &p.op() || ops.find(p.op().name + "_fused") == nullptr)
      return false;
    if (p.instance() != 0 || products_.contains(&p)) return false;
    if (!(v.shape() == user.type(0).shape)) return false;
    ++steps_;
    return consumers_.uses(v).front().node->id() >= user.id();
  }

  bool fits(const TileProgram& steps, const Node& node, int product) const {
    const std::vector<char> whole = whole_inputs(steps);
    const Value& value = node.inputs()[static_cast<Index>(product)];
    const Shape& shape = value.shape();
    const ProductLayout layout =
        is(value.node(), "conv2d") ? ProductLayout::images : ProductLayout::matrices;
    if (whole[static_cast<Index>(product)]) return false;
    const DimFacts& facts = program_.graph()->facts();
    const auto equal = [&](const Dim& a, const Dim& b) { return facts.equal(a, b); };
    for (Index k = 0; k < node.inputs().size(); ++k) {
      if (static_cast<int>(k) == product || whole[k]) continue;
      if (!epilogue_operand(node.inputs()[k].shape(), shape, layout, equal)) return false;
    }
    return true;
  }

  static void copy_moved(const Moved& moved, Node& node, Cloner& cloner) {
    const Node& matmul = moved.product.node();
    std::vector<Value> operands;
    for (const Value& v : matmul.inputs()) operands.push_back(v.defined() ? cloner.copy(v) : v);
    operands.resize(matmul.op().inputs.size());  // trailing absent operands
    for (Index k = 0; k < node.inputs().size(); ++k) {
      if (static_cast<int>(k) != moved.input) operands.push_back(cloner.copy(node.inputs()[k]));
    }
    Attributes attributes = matmul.attributes();
    attributes.set("program", moved.steps.str());
    if (moved.rounding != nullptr) attributes.set("quantize", true);
    Graph& target = cloner.target();
    const Index before = target.node_count();
    Node& made = target.apply(matmul.op().name + "_fused", std::move(operands),
                              std::move(attributes), matmul.graph().location(matmul));
    if (target.node_count() != before) target.copy_source_info(matmul, made);
    cloner.set(moved.product, made.output(0));
    for (Index r = 0; r < moved.steps.results.size(); ++r) {
      cloner.set(node.output(static_cast<int>(r)), made.output(static_cast<int>(r) + 1));
    }
    for (int k = 0; moved.rounding != nullptr && k < 2; ++k)
      cloner.set(moved.rounding->output(k), made.output(k + 2));
  }

  const Program& program_;
  const Consumers consumers_;
  std::unordered_set<const Node*> updates_;
  mutable std::size_t steps_ = 0;
  std::unordered_set<const Node*> products_;      // products that are fused with their steps
  std::unordered_map<const Node*, Moved> moved_;  // keyed by the node of the steps
};

}  // namespace

Module move_epilogues(Module module, const PassOptions& pass) {
  for (const char* op : {"matmul_fused", "quantized_matmul_fused"}) {
    if (module.graph->ops().find(op) == nullptr) return module;
  }
  CloneOptions options;
  options.steps = pass.steps;
  options.copy_first = [&](Cloner& cloner) {
    const Epilogues epilogues(module.program);
    pass.count(epilogues.steps());
    epilogues.copy(cloner);
  };
  return clone_program(module.program, options);
}

}  // namespace weft
