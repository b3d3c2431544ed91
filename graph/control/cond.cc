#include "weft/graph/control/cond.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/control/body.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

std::vector<std::string> input_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("x{}", i));
  return names;
}

std::string label(const std::string& name) { return fmt::format("function '{}'", name); }

std::vector<Value> outputs_of(Node& node) {
  std::vector<Value> outputs;
  for (int i = 0; i < node.output_count(); ++i) outputs.push_back(node.output(i));
  return outputs;
}

// Adds a node of op `op` with these bodies. Reserves enough stream numbers for the body with the
// most random draws.
Node& apply_bodies(Graph& graph, std::string_view op, const std::vector<Value>& inputs,
                   const std::vector<Value>& operands, Attributes attributes,
                   const std::vector<std::string>& bodies, SourceLocation loc) {
  std::int64_t streams = 0;
  for (const std::string& body : bodies) {
    streams = std::max(streams, stream_count(graph, graph.function(body)));
  }
  if (streams > 0) attributes.set("stream", graph.reserve_streams(streams));
  Node& node = graph.apply(op, inputs, std::move(attributes), loc);
  try {
    for (const std::string& body : bodies) {
      require_of_operands(graph, graph.function(body), types_of(operands), loc);
    }
  } catch (const Error& error) {
    graph.fail(error, op, inputs, loc);
  }
  return node;
}

}  // namespace

std::vector<Value> cond(Arg predicate, const std::vector<Value>& operands,
                        const FunctionBuilder& then, const FunctionBuilder& otherwise,
                        const CondOptions& options, SourceLocation loc) {
  Value flag = predicate.value("cond");
  Graph& graph = flag.graph().building();
  flag = graph.capture(flag, "the predicate of cond", loc);
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string what = fmt::format("cond '{}': operand {}", options.name, i);
    inputs.push_back(graph.capture(operands[i], what, loc));
  }
  Graph::Undo undo(graph);
  BodyBuilder bodies(graph, types_of(inputs), input_names(inputs.size()),
                     {.name = "x", .first = inputs.size()}, loc);
  const std::string a = options.name + ".then", b = options.name + ".else";
  bodies.build(a, label(a), then);
  bodies.build(b, label(b), otherwise);
  BodyBuilder::Result result = bodies.finish(std::vector<bool>(inputs.size(), false));
  inputs.insert(inputs.end(), result.operands.begin(), result.operands.end());
  const std::string yes = add_body(graph, std::move(result.bodies[0]), loc),
                    no = add_body(graph, std::move(result.bodies[1]), loc);
  std::vector<Value> all = {flag};
  all.insert(all.end(), inputs.begin(), inputs.end());
  Node& node =
      apply_bodies(graph, "cond", all, inputs, {{"then", yes}, {"else", no}}, {yes, no}, loc);
  undo.keep();
  return outputs_of(node);
}

std::vector<Value> while_loop(Graph& around, const std::vector<Value>& carries,
                              const FunctionBuilder& condition, const FunctionBuilder& body,
                              std::int64_t limit, const WhileOptions& options, SourceLocation loc) {
  Graph& graph = around.building();
  std::vector<Value> inputs;
  const auto add = [&](const std::vector<Value>& values) {
    for (const Value& v : values) {
      const std::string what =
          fmt::format("while_loop '{}': operand {}", options.name, inputs.size());
      inputs.push_back(graph.capture(v, what, loc));
    }
  };
  add(carries);
  add(options.operands);
  // The input after the carries is the step number: a carry if the body draws random numbers.
  const std::size_t count = inputs.size(), first_operand = carries.size();
  std::vector<ValueType> types = types_of(inputs);
  std::vector<std::string> names = input_names(count);
  const auto place = static_cast<std::ptrdiff_t>(first_operand);
  types.insert(types.begin() + place, ValueType{DType::i64, {}});
  names.insert(names.begin() + place, "step");
  const auto without_step = [&](const FunctionBuilder& callback) {
    return [&](Graph& inside, const std::vector<Value>& given) {
      std::vector<Value> rest = given;
      rest.erase(rest.begin() + place);
      return callback(inside, rest);
    };
  };
  Graph::Undo undo(graph);
  BodyBuilder bodies(graph, types, names, {.name = "x", .first = count}, loc);
  const std::string first = options.name + ".condition", second = options.name + ".body";
  bodies.build(first, label(first), without_step(condition));
  if (bodies.body(0).body->draws()) {
    throw GraphError(
        fmt::format("while_loop '{}': the condition draws random numbers; draw them "
                    "in the body and carry them\n  {}",
                    options.name, graph.describe_source(loc)));
  }
  bodies.build(second, label(second), without_step(body));
  bodies.add_captures();
  Function& step = bodies.body(1);
  const std::vector<bool> keys = drawn_keys(step, first_operand + 1);
  // A wrong number of outputs is reported later.
  const bool counts = step.outputs.size() == carries.size() &&
                      std::find(keys.begin(), keys.end(), true) != keys.end();
  if (counts) step.outputs.push_back(step.inputs[first_operand] + 1);
  std::vector<bool> removable(types.size(), false);
  removable[first_operand] = true;
  BodyBuilder::Result result =
      bodies.finish(removable, counts ? std::optional(first_operand) : std::nullopt);
  if (counts) inputs.insert(inputs.begin() + place, graph.scalar(DType::i64, 0, loc));
  inputs.insert(inputs.end(), result.operands.begin(), result.operands.end());
  const std::string test = add_body(graph, std::move(result.bodies[0]), loc),
                    run = add_body(graph, std::move(result.bodies[1]), loc);
  Node& node = apply_bodies(graph, "while_loop", inputs, inputs,
                            {{"condition", test},
                             {"body", run},
                             {"carries", static_cast<std::int64_t>(carries.size() + counts)},
                             {"limit", limit}},
                            {test, run}, loc);
  undo.keep();
  std::vector<Value> outputs = outputs_of(node);
  outputs.resize(carries.size());
  return outputs;
}

}  // namespace weft
