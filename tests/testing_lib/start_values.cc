#include "weft/testing/start_values.h"

namespace weft::testing {

StartValues start_values(Graph& graph, const Program& program, const RunSetup& setup) {
  Session session(graph, {.seed = setup.seed, .threads = 1});
  set_variables(session, setup);
  session.initialise();
  StartValues start;
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

}  // namespace weft::testing
