#include "weft/tests/reference/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"
#include "weft/tests/reference/in_double.h"
#include "weft/tests/reference/interpreter.h"

namespace weft::testing {
namespace {

// A definition may use other custom ops, which have no scalar model.
std::vector<Tensor> model_or_kernel(const NodeUse& use) {
  return has_scalar_model(use.node.op()) ? scalar_rule(use)
                                         : evaluate_op(use.node.op(), use.inputs, use.attributes);
}

// Returns one tensor per output. The tensor is undefined if the output has no definition.
std::vector<Tensor> defined(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                            const std::vector<Tensor>& inputs, const Attributes& attributes) {
  Graph graph(ops);
  Feed feed;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.emplace_back();
    if (!inputs[i].defined()) continue;
    operands.back() =
        graph.input(fmt::format("in{}", i), {inputs[i].dtype(), Shape(inputs[i].sizes())});
    feed[operands.back()] = inputs[i];
  }
  const Node& node = graph.apply(op, operands, attributes);
  std::vector<Tensor> results;
  for (const Value& v : op.definition(node, node.inputs(), graph)) {
    results.push_back(v.defined() ? interpret({v}, feed, {}, model_or_kernel)[0] : Tensor());
  }
  return results;
}

double largest_finite(const Tensor& t) {
  double most = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (std::isfinite(t.at(i))) most = std::max(most, std::abs(t.at(i)));
  }
  return most;
}

double farthest(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double off = std::abs(a.at(i) - b.at(i));
    if (std::isfinite(off)) most = std::max(most, off);
  }
  return most;
}

std::optional<std::string> difference(const Tensor& got, const Tensor& want, double allowed) {
  if (got.sizes() != want.sizes()) {
    return fmt::format("its sizes are {}, but {} according to its definition",
                       to_string(got.sizes()), to_string(want.sizes()));
  }
  for (std::int64_t i = 0; i < want.numel(); ++i) {
    const double g = got.at(i), w = want.at(i);
    if (g == w || (std::isnan(g) && std::isnan(w)) || std::abs(g - w) <= allowed) continue;
    return fmt::format("element {} of {} is {}, but {} by its definition (+- {:.2g})", i,
                       want.numel(), g, w, allowed);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference_from_definition(const std::shared_ptr<const OpSet>& ops,
                                                      const OpRecord& op,
                                                      const std::vector<Tensor>& inputs,
                                                      const Attributes& attributes,
                                                      const std::vector<Tensor>& results) {
  constexpr double kSingle = 2e-5, kDouble = 1e-10;
  const std::vector<Tensor> own = defined(ops, op, inputs, attributes);
  std::vector<Tensor> exact = own;
  try {
    exact = defined(ops, op, in_double(inputs), in_double(attributes));
  } catch (const Error&) {
    // The definition does not support double precision.
  }
  for (std::size_t o = 0; o < results.size() && o < own.size(); ++o) {
    if (!own[o].defined()) continue;
    double allowed = 0;
    if (is_floating(results[o].dtype())) {
      const double units = results[o].dtype() == DType::f64 ? kDouble : kSingle;
      allowed = units * largest_finite(exact[o]) + std::numeric_limits<float>::min();
      if (own[o].sizes() == exact[o].sizes()) allowed += 4 * farthest(own[o], exact[o]);
    }
    if (const auto found = difference(results[o], exact[o], allowed)) {
      return fmt::format("output {}: {}", o, *found);
    }
  }
  return std::nullopt;
}

}  // namespace weft::testing
