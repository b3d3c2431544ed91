#include "weft/autodiff/retype.h"

#include <algorithm>

namespace weft {

Module retype(const Program& program, DType from, DType to) {
  CloneOptions options;
  options.map_dtype = [from, to](DType dtype) { return dtype == from ? to : dtype; };
  return clone_program(program, options);
}

Module program_in_double(const Program& program) {
  // The scales of quantised weights keep their dtype.
  const std::vector<Node*> nodes = program.nodes();
  const bool quantized = std::any_of(
      nodes.begin(), nodes.end(), [](const Node* node) { return node->op().name == "dequantize"; });
  CloneOptions options;
  options.map_dtype = [quantized](DType dtype) {
    const bool widened = quantized ? dtype == DType::f32 : is_floating(dtype);
    return widened ? DType::f64 : dtype;
  };
  return clone_program(program, options);
}

}  // namespace weft
