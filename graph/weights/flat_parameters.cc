#include "weft/graph/weights/flat_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/run/session.h"

namespace weft {
namespace {

// Describes element `i` of a list of values for messages: its name if it is a variable.
std::string element_text(const Value& value, std::size_t i) {
  if (value.defined() && value.node().op().name == "variable")
    return fmt::format("parameter '{}'", Variable(value).name());
  return fmt::format("value {}", i);
}

// Checks the values and returns the dtype of their vector.
DType vector_dtype(std::string_view function, const std::vector<Value>& values,
                   SourceLocation loc) {
  if (values.empty()) {
    throw ArgumentError(
        fmt::format("{}: the parameter list is empty\n  at {}", function, loc.str()));
  }
  bool equal = true, any_f64 = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined()) {
      throw ArgumentError(fmt::format("{}: {} is undefined\n  at {}", function,
                                      element_text(values[i], i), loc.str()));
    }
    values[0].graph().check_owned(values[i], function, loc);
    const DType dtype = values[i].dtype();
    if (!is_floating(dtype)) {
      throw DTypeError(fmt::format("{}: {} is {}, but must have a floating-point dtype\n  at {}",
                                   function, element_text(values[i], i), values[i].type().str(),
                                   loc.str()));
    }
    equal = equal && dtype == values[0].dtype();
    any_f64 = any_f64 || dtype == DType::f64;
  }
  if (equal) return values[0].dtype();
  return any_f64 ? DType::f64 : DType::f32;
}

std::vector<Value> values_of(const std::vector<Variable>& parameters) {
  return {parameters.begin(), parameters.end()};
}

// The sizes of a parameter, which are constant.
Sizes sizes_of_parameter(const Variable& parameter) { return parameter.shape().evaluate({}); }

std::vector<std::int64_t> counts_of(const std::vector<Variable>& parameters) {
  std::vector<std::int64_t> counts;
  for (const Variable& p : parameters) counts.push_back(num_elements(sizes_of_parameter(p)));
  return counts;
}

std::int64_t total_of(const std::vector<std::int64_t>& counts) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  return total;
}

void check_session(std::string_view function, Session& session,
                   const std::vector<Variable>& parameters, SourceLocation loc) {
  session.graph().check_owned(parameters[0].value(), function, loc);
}

}  // namespace

Value flatten_parameters(const std::vector<Value>& values, SourceLocation loc) {
  const DType dtype = vector_dtype("flatten_parameters", values, loc);
  const Graph::Frame frame(values[0].graph(), "flatten_parameters", loc);
  std::vector<Value> parts;
  for (const Value& v : values) parts.push_back(cast(reshape(v, {Dim(-1)}), dtype));
  return parts.size() == 1 ? parts[0] : concat(parts, 0, loc);
}

Value flatten_parameters(const std::vector<Variable>& parameters, SourceLocation loc) {
  return flatten_parameters(values_of(parameters), loc);
}

Value flatten_parameters(std::initializer_list<Variable> parameters, SourceLocation loc) {
  return flatten_parameters(std::vector<Variable>(parameters), loc);
}

Value flatten_parameters(std::initializer_list<Value> values, SourceLocation loc) {
  return flatten_parameters(std::vector<Value>(values), loc);
}

std::vector<Value> unflatten_parameters(Value vector, const std::vector<Variable>& parameters,
                                        SourceLocation loc) {
  vector_dtype("unflatten_parameters", values_of(parameters), loc);
  Graph& graph = parameters[0].graph();
  graph.check_owned(vector, "unflatten_parameters", loc);
  const std::vector<std::int64_t> counts = counts_of(parameters);
  const std::int64_t total = total_of(counts);
  if (!is_floating(vector.dtype())) {
    throw DTypeError(
        fmt::format("unflatten_parameters: the vector is {}, but must have a floating-point "
                    "dtype\n  at {}",
                    vector.type().str(), loc.str()));
  }
  if (vector.rank() != 1 || (vector.size(0).is_constant() && vector.size(0).constant() != total)) {
    throw ShapeError(fmt::format(
        "unflatten_parameters: the vector is {}, but the {} parameters have {} elements\n  at {}",
        vector.type().str(), parameters.size(), total, loc.str()));
  }
  const Graph::Frame frame(graph, "unflatten_parameters", loc);
  if (!vector.size(0).is_constant()) graph.require(vector.size(0) == Dim(total), loc);
  std::vector<Value> result;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::int64_t end = begin + counts[i];
    const Value part = slice(vector, 0, {.begin = Dim(begin), .end = Dim(end)});
    result.push_back(cast(reshape(part, parameters[i].shape()), parameters[i].dtype()));
    begin = end;
  }
  return result;
}

Tensor flat_parameters(Session& session, const std::vector<Variable>& parameters,
                       SourceLocation loc) {
  const DType dtype = vector_dtype("flat_parameters", values_of(parameters), loc);
  check_session("flat_parameters", session, parameters, loc);
  Tensor vector = Tensor::empty(dtype, {total_of(counts_of(parameters))});
  std::byte* out = vector.mutable_raw();
  for (const Variable& p : parameters) {
    const Tensor part = session.value(p.name()).to(dtype);
    if (part.bytes() > 0) std::memcpy(out, part.raw(), part.bytes());
    out += part.bytes();
  }
  return vector;
}

void set_flat_parameters(Session& session, const std::vector<Variable>& parameters,
                         const Tensor& vector, SourceLocation loc) {
  vector_dtype("set_flat_parameters", values_of(parameters), loc);
  check_session("set_flat_parameters", session, parameters, loc);
  const std::vector<std::int64_t> counts = counts_of(parameters);
  const std::int64_t total = total_of(counts);
  if (!vector.defined()) {
    throw ArgumentError("set_flat_parameters: the vector is undefined\n  at " + loc.str());
  }
  if (!is_floating(vector.dtype())) {
    throw DTypeError(fmt::format(
        "set_flat_parameters: the vector is {}, but must have a floating-point dtype\n  at {}",
        vector.type_str(), loc.str()));
  }
  if (vector.rank() != 1 || vector.numel() != total) {
    throw ShapeError(
        fmt::format("set_flat_parameters: the vector is {}, but the {} parameters have {} elements"
                    "\n  at {}",
                    vector.type_str(), parameters.size(), total, loc.str()));
  }
  std::vector<VariableStore::NewValue> values;
  const std::size_t width = dtype_size(vector.dtype());
  std::size_t offset = vector.byte_offset();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Variable& p = parameters[i];
    // Initialises the variable first, as otherwise the store would count it as loaded by the user
    // and reject other variables without a value.
    if (!session.store()->contains(p.name())) session.value(p.name());
    const Tensor part =
        Tensor::view(vector.dtype(), sizes_of_parameter(p), vector.buffer(), offset);
    offset += static_cast<std::size_t>(counts[i]) * width;
    const Tensor converted = part.dtype() == p.dtype() ? part.clone() : part.to(p.dtype());
    values.push_back({p.name(), p.info().kind, converted});
  }
  session.store()->assign(std::move(values));
}

}  // namespace weft
