#include "weft/tests/random_programs/trace.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace weft::testing {
namespace {

std::string kind_of(const Error& e) {
  if (dynamic_cast<const DataError*>(&e) != nullptr) return "DataError";
  if (dynamic_cast<const ShapeError*>(&e) != nullptr) return "ShapeError";
  if (dynamic_cast<const DTypeError*>(&e) != nullptr) return "DTypeError";
  if (dynamic_cast<const ArgumentError*>(&e) != nullptr) return "ArgumentError";
  if (dynamic_cast<const StateError*>(&e) != nullptr) return "StateError";
  if (dynamic_cast<const GraphError*>(&e) != nullptr) return "GraphError";
  return "Error";
}

NamedTensors copies(const Results& results) {
  NamedTensors all;
  for (const auto& [name, tensor] : results) all.emplace_back(name, tensor.clone());
  return all;
}

}  // namespace

std::string describe(const Error& e) { return kind_of(e) + ": " + e.what(); }

bool same(const Tensor& a, const Tensor& b) {
  if (bitwise_equal(a, b)) return true;
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes() || !is_floating(a.dtype())) return false;
  const std::size_t size = dtype_size(a.dtype());
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(a.raw() + at, b.raw() + at, size) == 0) continue;
    if (!(std::isnan(a.at(i)) && std::isnan(b.at(i)))) return false;
  }
  return true;
}

std::string first_difference(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype() || got.sizes() != expected.sizes())
    return fmt::format("{} instead of {}", got.type_str(), expected.type_str());
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    const double x = got.at(i), y = expected.at(i);
    if (!(x == y) && !(std::isnan(x) && std::isnan(y)))
      return fmt::format("element {} of {} is {} instead of {}", i, got.numel(), x, y);
  }
  return "bits differ";
}

Tensor find_tensor(const NamedTensors& list, const std::string& name) {
  for (const auto& [key, tensor] : list) {
    if (key == name) return tensor;
  }
  return {};
}

DimValues dims_of(const CaseRun& run, const Graph& graph) {
  DimValues dims;
  for (const auto& [name, size] : run.dims) {
    for (const SymbolPtr& s : graph.symbols()) {
      if (s->name == name) {
        dims.emplace_back(name, size);
        break;
      }
    }
  }
  return dims;
}

NamedTensors feeds_of(const CaseRun& run, const Graph& graph) {
  NamedTensors feeds;
  for (const auto& [name, tensor] : run.feeds) {
    if (graph.find_input(name).defined()) feeds.emplace_back(name, tensor);
  }
  return feeds;
}

void set_variables(Session& session, const NamedTensors& variables) {
  for (const auto& [name, tensor] : variables) {
    if (session.graph().has_variable(name)) session.set_value(name, tensor);
  }
}

NamedTensors variables_of(Session& session, const Program& program) {
  NamedTensors values;
  for (const Variable& v : program.variables())
    values.emplace_back(v.name(), session.value(v.name()));
  return values;
}

void run_into(Trace& trace, Session& session, const Program& program, const Case& c,
              std::size_t first, const std::vector<std::string>& fetch) {
  for (std::size_t r = first; r < c.runs.size(); ++r) {
    try {
      const Results results = session.run(
          program, c.runs[r].feeds, {.fetch = fetch, .dims = dims_of(c.runs[r], session.graph())});
      trace.steps.push_back({copies(results), variables_of(session, program), {}});
    } catch (const Error& e) {
      trace.error = describe(e);
      return;
    }
  }
}

}  // namespace weft::testing
