// Values and gradients of all cases in <goldens>/ops match the reference, in float and double.
#include <fmt/core.h>

#include <boost/test/unit_test.hpp>

#include "golden_folder.h"
#include "op_adapters.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/run/session.h"

namespace weft::golden {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, Tensor>;

// Returns the tolerance for comparing double results with the double reference; only the order of
// summation may differ. If a case has a larger float tolerance (because its results are zero except
// for rounding), the double tolerance is larger by the same factor relative to double precision.
double double_tolerance(double float_tolerance) {
  return std::max(1e-11, float_tolerance * 0x1p-29);  // 2^-52 / 2^-23
}

struct Outcome {
  double error = 0;  // error of the float results relative to the largest reference value
  std::string problem;
};

void compare(Outcome& outcome, const Tensor& actual, const Tensors& data, const std::string& name,
             double tolerance, double floor, bool is_float) {
  const auto it = data.find(name);
  if (it == data.end()) {
    if (is_float) outcome.problem += name + " is missing in the file; ";
    return;
  }
  const Tensor& reference = it->second;
  if (!is_floating(reference.dtype())) {
    // Class indices and booleans must match exactly.
    for (std::int64_t i = 0; i < reference.numel(); ++i) {
      if (actual.sizes() != reference.sizes() || actual.at(i) != reference.at(i)) {
        outcome.problem += name + " differs; ";
        return;
      }
    }
    return;
  }
  const double error = relative_error(actual, reference, floor);
  if (is_float) outcome.error = std::max(outcome.error, error);
  if (!(error <= tolerance)) {
    outcome.problem += fmt::format("{} error={:.3g} tolerance={:.3g}; ", name, error, tolerance);
  }
}

Outcome run_case(OpAdapter adapter, const json& c, const Tensors& data, bool in_double) {
  const std::string id = c.at("id");
  const std::string suffix = in_double ? "64" : "";
  Graph g;
  OpCase op{g, c.at("attrs"), {}};
  NamedTensors feeds;
  const auto convert = [in_double](const Tensor& t) {
    return in_double && t.dtype() == DType::f32 ? t.to(DType::f64) : t;
  };
  for (const auto& [name, sizes] : c.at("inputs").items()) {
    const Tensor t = convert(data.at(id + ".in." + name));
    op.in[name] = g.input(name, {t.dtype(), Shape(t.sizes())});
    feeds.emplace_back(name, t);
  }
  const OpOutputs outputs = adapter(op);
  Program program("case");
  Value total;
  for (const auto& [name, value] : outputs) {
    program.output("out." + name, value);
    const auto cot = data.find(id + ".cot." + name);
    if (cot == data.end()) continue;
    const Tensor t = convert(cot->second);
    const Value cotangent = g.input("cot." + name, {t.dtype(), Shape(t.sizes())});
    feeds.emplace_back("cot." + name, t);
    const Value part = sum(value * cotangent);
    total = total.defined() ? total + part : part;
  }
  const auto wrt = c.at("grads_of").get<std::vector<std::string>>();
  if (!wrt.empty()) {
    std::vector<Value> values;
    for (const std::string& name : wrt) values.push_back(op.in.at(name));
    const auto grads = gradients(total, values, {.unreachable = Unreachable::zeros});
    for (std::size_t i = 0; i < wrt.size(); ++i) program.output("grad." + wrt[i], grads[i]);
  }
  Session session(g, {.threads = 2});
  const Results results = session.run(program, feeds);

  Outcome outcome;
  const double suggested = c.at("suggested_rel_to_max");
  const double tolerance = in_double ? double_tolerance(suggested) : suggested;
  const double floor = c.at("rel_to_max_floor");
  for (const auto& [name, sizes] : c.at("outputs").items()) {
    if (outputs.count(name) == 0) {
      outcome.problem += "no output " + name + "; ";
      continue;
    }
    compare(outcome, results["out." + name], data, id + ".out" + suffix + "." + name, tolerance,
            floor, !in_double);
  }
  for (const std::string& name : wrt) {
    compare(outcome, results["grad." + name], data, id + ".grad" + suffix + "." + name, tolerance,
            floor, !in_double);
  }
  return outcome;
}

void run_operation(const std::filesystem::path& path, const std::string& folder, Report& report) {
  const std::string op = path.stem().string();
  const auto adapter = op_adapters().find(op);
  const json description = read_json(path);
  const Tensors data = read_tensors(std::filesystem::path(path).replace_extension("safetensors"));
  for (const json& c : description.at("cases")) {
    const std::string name = folder + "/" + op + "/" + c.at("id").get<std::string>();
    if (adapter == op_adapters().end()) {
      report.fail(name, "no adapter for this operation");
      continue;
    }
    try {
      const Outcome f32 = run_case(adapter->second, c, data, false);
      const Outcome f64 = run_case(adapter->second, c, data, true);
      if (f32.problem.empty() && f64.problem.empty()) {
        report.ok(name, f32.error);
      } else {
        report.fail(name, f32.problem + (f64.problem.empty() ? "" : "double: " + f64.problem));
      }
    } catch (const std::exception& e) {
      report.fail(name, e.what());
    }
  }
}

BOOST_AUTO_TEST_CASE(operations_match_the_reference) {
  Report report;
  for (const auto& path : find_cases("ops", "*.json")) run_operation(path, "ops", report);
  if (const auto further = further_operations()) {
    for (const auto& path : find_cases("ops", "*.json", *further)) {
      // Skip operations of layers that Weft does not implement.
      if (!op_adapters().contains(path.stem().string())) {
        report.skip("goldens-loops/" + path.stem().string(), "no adapter for this operation");
        continue;
      }
      run_operation(path, "goldens-loops", report);
    }
  } else {
    fmt::print("goldens-loops: skipped (not found next to the project, or WEFT_GOLDENS is set)\n");
  }
  BOOST_TEST(report.finish("golden operations"));
}

}  // namespace
}  // namespace weft::golden
