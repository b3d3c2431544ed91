#include "weft/testing/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/ops/op.h"
#include "weft/tests/reference/interpreter.h"

namespace weft::testing {
namespace {

// The tensors of inputs and variables, and what the program's symbols are.
struct Start {
  Feed feed;
  Bindings bindings;
};

Start start_of(Graph& graph, const Program& program, const RunSetup& setup) {
  Session session(graph, {.seed = setup.seed, .threads = 1});
  set_variables(session, setup);
  session.initialise();
  Start start;
  const auto bind = [&](const Value& value, const Tensor& tensor) {
    start.feed[value] = tensor;
    for (int axis = 0; axis < value.rank(); ++axis) {
      if (const SymbolPtr s = value.shape()[axis].as_symbol()) {
        start.bindings.bind(s, tensor.size(axis));
      }
    }
  };
  for (const auto& [name, tensor] : setup.feeds) bind(graph.find_input(name), tensor);
  for (const auto& [name, size] : setup.dims) {
    start.bindings.bind(graph.dim(name).as_symbol(), size);
  }
  for (const Variable& v : program.variables()) {
    const Value read = v.value();
    bind(read, v.info().kind == VariableKind::cache
                   ? Tensor::zeros(read.dtype(), read.shape().evaluate(start.bindings))
                   : session.value(v.name()));
  }
  return start;
}

Outcome compare_session(Graph& graph, const Program& program, const RunSetup& setup,
                        const Feed& known, const Tolerance& tolerance) {
  Session session(graph, {.seed = setup.seed, .threads = 1, .verify = true});
  set_variables(session, setup);
  const Results results = session.run(program, setup.feeds, {.dims = setup.dims});
  for (const auto& [name, value] : program.outputs()) {
    const Outcome found = expect_close(results[name], known.at(value), tolerance);
    if (found) continue;
    NamedSizes sizes;
    for (const auto& [input, tensor] : setup.feeds) sizes.emplace_back(input, tensor.sizes());
    const auto plan = session.plan(program, sizes, {.dims = setup.dims});
    std::string in_place;
    for (const PlanStep& step : plan->steps) {
      if (step.inplace.empty() || step.node == nullptr) continue;
      in_place +=
          fmt::format("\n  {}, {}", step.node->op().name, step.node->graph().where(*step.node));
    }
    return Outcome::fail(
        fmt::format("output '{}' of a Session differs from what its nodes give one by one: {}\n"
                    "written in place are{}",
                    name, found.message(), in_place.empty() ? " none" : ":" + in_place));
  }
  return Outcome::pass();
}

}  // namespace

Outcome expect_reference(Graph& graph, const Program& program, const RunSetup& setup,
                         const Tolerance& tolerance) {
  auto [known, bindings] = start_of(graph, program, setup);
  for (Node* node : program.nodes()) {
    const OpRecord& op = node->op();
    if (known.contains(node->output(0))) continue;
    if (op.name == "input" || op.name == "variable") {
      return Outcome::fail(fmt::format("no tensor is given for {}", graph.where(*node)));
    }
    std::vector<Tensor> operands;
    for (const Value& v : node->inputs()) operands.push_back(v.defined() ? known.at(v) : Tensor());
    std::vector<Tensor> results;
    if (op.name == "constant") {
      results = {node->attributes().tensor("value")};
    } else if (op.has_bodies()) {
      for (const NumberTensor& t : interpret_node(*node, operands, bindings)) {
        results.push_back(to_tensor(t));
      }
    } else {
      results = evaluate_op(op, operands, node->attributes().evaluate(bindings));
      if (!op.has(Trait::random) && scalar_models().contains(op.name)) {
        const auto defined = interpret_node(*node, operands, bindings);
        for (std::size_t o = 0; o < results.size(); ++o) {
          const auto found = difference(results[o], defined[o]);
          if (!found) continue;
          return Outcome::fail(
              fmt::format("output {} of {}: {}\n  {}", o, op.name, *found, graph.where(*node)));
        }
      }
    }
    for (int o = 0; o < node->output_count(); ++o) {
      known[node->output(o)] = results[static_cast<std::size_t>(o)];
    }
  }
  return compare_session(graph, program, setup, known, tolerance);
}

}  // namespace weft::testing
