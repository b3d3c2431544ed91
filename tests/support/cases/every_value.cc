#include "weft/tests/support/cases/every_value.h"

#include <fmt/format.h>

namespace weft::testing {

EveryValue::EveryValue(const Program& given) : program(given), own_(given.outputs().size()) {
  for (Node* node : given.nodes()) {
    if (node->op().has(Trait::leaf)) continue;
    for (int o = 0; o < node->output_count(); ++o) {
      values.push_back(node->output(o));
      program.output(fmt::format("value {} of every node", values.size()), node->output(o));
    }
  }
}

std::string EveryValue::place(std::size_t i) const {
  const Node& node = values[i].node();
  return fmt::format("{}, {}", node.op().name, node.graph().where(node));
}

}  // namespace weft::testing
