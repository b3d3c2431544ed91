// Programs that are written as ONNX files and read again compute the same results and gradients.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/onnx/export_programs.h"

namespace weft::testing {
namespace {

// Returns a description of the difference, or "". The tolerance is relative to the largest number.
std::string difference(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.dtype() != expected.dtype() || actual.sizes() != expected.sizes()) {
    return fmt::format("{}{} instead of {}{}", dtype_name(actual.dtype()),
                       to_string(actual.sizes()), dtype_name(expected.dtype()),
                       to_string(expected.sizes()));
  }
  double largest = 0, worst = 0;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    const double a = actual.at(i), e = expected.at(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    if (!std::isfinite(a) || !std::isfinite(e)) return fmt::format("{} instead of {}", a, e);
    worst = std::max(worst, std::abs(a - e));
  }
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    if (std::isfinite(expected.at(i))) largest = std::max(largest, std::abs(expected.at(i)));
  }
  return worst <= tolerance * largest ? "" : fmt::format("an error of {}", worst / largest);
}

// Returns a program that computes the gradients of a weighted sum of all floating outputs with
// respect to the floating inputs. Inputs without influence have the gradient 0.
Program gradient_program(const Program& program) {
  Value total;
  for (const auto& [name, value] : program.outputs()) {
    if (!is_floating(value.dtype())) continue;
    const Value part = cast(sum(sin(cast(value, DType::f64))), DType::f64);
    total = total.defined() ? total + part : part;
  }
  Program result("gradients");
  if (!total.defined()) return result;
  std::vector<Value> inputs;
  for (const Value& v : program.inputs()) {
    if (is_floating(v.dtype())) inputs.push_back(v);
  }
  const std::vector<Value> g = gradients(total, inputs, {.unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < g.size(); ++i) {
    result.output(inputs[i].node().attributes().text("name"), g[i]);
  }
  return result;
}

// Writes a program, reads it again, and returns the differences of the results, or "".
std::string reimport(const Program& program, Session& session, const NamedTensors& feeds,
                     std::int64_t opset, bool with_gradients) {
  const TemporaryFolder folder("onnx");
  const Results expected = session.run(program, feeds);
  write_onnx(folder / "model.onnx", program, *session.store(), {.opset = opset});
  const OnnxModel model = read_onnx(folder / "model.onnx");
  const Program& again = model.checkpoint.program("predict");
  NamedTensors used;
  for (const auto& [name, tensor] : feeds) {
    if (model.checkpoint.graph().find_input(name).defined()) used.emplace_back(name, tensor);
  }
  Session other(model.checkpoint.graph(), model.checkpoint.store());
  std::string wrong;
  const auto compare = [&](const Program& a, const Program& b) {
    const Results results = session.run(a, feeds), others = other.run(b, used);
    for (const auto& [name, value] : a.outputs()) {
      const std::string problem = difference(others[name], results[name], 2e-5);
      if (!problem.empty()) wrong += fmt::format("{} {}: {}\n", a.name(), name, problem);
    }
  };
  compare(program, again);
  if (with_gradients) compare(gradient_program(program), gradient_program(again));
  return wrong;
}

BOOST_AUTO_TEST_SUITE(onnx_reimport)

BOOST_AUTO_TEST_CASE(programs_have_the_same_results_and_gradients) {
  for (const ExportProgram& from : export_programs()) {
    for (const std::int64_t opset : {16, 23}) {
      BOOST_TEST_CONTEXT(from.name << " in opset " << opset) {
        Graph g;
        NamedTensors feeds;
        const Program program = build_program(from, g, feeds);
        Session session(g, {.threads = 1});
        BOOST_TEST(reimport(program, session, feeds, opset, from.differentiable) == "");
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
