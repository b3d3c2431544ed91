#include "weft/graph/passes/loop.h"

#include <fmt/format.h>

#include "weft/graph/ir/clone.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

using Index = std::size_t;

Function empty_like(const Function& like) {
  Function f;
  f.name = like.name;
  f.body = empty_copy(*like.body);
  return f;
}

Value new_input(Graph& body, const char* name, const ValueType& type) {
  for (int number = 0;; ++number) {
    const std::string chosen = fmt::format("{}{}", name, number);
    if (!body.find_input(chosen).defined()) return body.input(chosen, type, {});
  }
}

}  // namespace

Loop::Loop(const Node& from, const std::vector<Value>& inputs, Graph& to)
    : node(from), target(to), parts(scan_node(from)) {
  body = empty_like(*parts.function);
  Cloner cloner(*body.body);
  for (const Value& v : parts.function->inputs) body.inputs.push_back(cloner.copy(v));
  for (const Value& v : parts.function->outputs) body.outputs.push_back(cloner.copy(v));
  const auto begin = inputs.begin();
  const auto at = [&](Index i) { return begin + static_cast<std::ptrdiff_t>(i); };
  const Index operands = first_operand();
  parts.sequences.assign(at(carries()), at(operands));
  parts.operands.assign(at(operands), inputs.end());
  parts.carries.assign(begin, at(carries()));
  done.resize(body.outputs.size());
  for (Index o = 0; o < body.outputs.size(); ++o) result.push_back(static_cast<int>(o));
}

void Loop::rebuild(const std::vector<Value>& elements, const std::vector<Value>& operands,
                   const std::vector<Value>& outputs) {
  Function to = empty_like(body);
  Cloner cloner(*to.body);
  const Index first = body.inputs.size() - (parts.operands.size() - operands.size());
  for (Index i = 0; i < first; ++i) to.inputs.push_back(cloner.copy(body.inputs[i]));
  // Copies the old operands first, so that new inputs get names that are not in use.
  std::vector<Value> old_operands;
  for (Index i = first; i < body.inputs.size(); ++i) {
    old_operands.push_back(cloner.copy(body.inputs[i]));
  }
  for (const Value& v : elements) {
    to.inputs.push_back(new_input(*to.body, "hoisted", v.type()));
    cloner.set(v, to.inputs.back());
  }
  to.inputs.insert(to.inputs.end(), old_operands.begin(), old_operands.end());
  for (const Value& v : operands) {
    to.inputs.push_back(new_input(*to.body, "constant", v.type()));
    cloner.set(v, to.inputs.back());
  }
  for (const Value& v : outputs) to.outputs.push_back(cloner.copy(v));
  kept.push_back(std::move(body.body));
  body = std::move(to);
  changed = true;
}

std::vector<Value> Loop::finish() {
  std::vector<Value> results = done;
  const Node* made = nullptr;
  for (Index o = 0; o < results.size(); ++o) {
    if (results[o].defined()) continue;
    if (made == nullptr) {
      made = &apply_scan(target, add_body(target, std::move(body), {}), parts, {});
    }
    results[o] = Value(const_cast<Node*>(made), result[o]);
  }
  return results;
}

}  // namespace weft
