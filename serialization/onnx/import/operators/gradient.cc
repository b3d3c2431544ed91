// Gradient of ai.onnx.preview.training.
#include <fmt/format.h>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/functions/reduce.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {
namespace {

// The gradient of the sum of `y` at the values in the graph.
std::vector<ImportedValue> gradient(NodeImport& n) {
  const std::vector<std::string> xs = n.texts("xs").value_or(std::vector<std::string>());
  std::vector<std::string> names = xs;
  for (const std::string& name : n.texts("zs").value_or(std::vector<std::string>()))
    names.push_back(name);
  for (std::size_t i = 0; i < n.input_count(); ++i) {
    if (i >= names.size() || n.node().input(static_cast<int>(i)) != names[i])
      n.unsupported("operands other than the values that 'xs' and 'zs' name");
    n.input(i);
  }
  const std::string target = n.text("y", "");
  const ImportedValue& y = n.import().value(target);
  if (y.kind != ImportedValue::Kind::tensor)
    throw FormatError(fmt::format("'{}' is no tensor", excerpt(target)));
  std::vector<Value> wrt;
  for (std::size_t i = 0; i < xs.size(); ++i) wrt.push_back(n.input(i));
  const std::vector<Value> results = gradients(sum(y.tensor), wrt);
  return {results.begin(), results.end()};
}

constexpr Operator kGradient[] = {{"Gradient", 1, gradient}};

}  // namespace

std::span<const Operator> gradient_operators() { return kGradient; }

}  // namespace weft::onnx
