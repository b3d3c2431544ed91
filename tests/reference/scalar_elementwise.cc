// Scalar models of elementwise ops and of tile programs, which are sequences of elementwise ops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/ops/fusion/tile_program.h"
#include "weft/tests/reference/elementwise.h"
#include "weft/tests/reference/random.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

Number integer_in(std::uint64_t value, DType dtype) {
  return number_of_integer(wrapped(static_cast<std::int64_t>(value), dtype));
}
Number truth(bool value) { return number_of_integer(value ? 1 : 0); }

std::int64_t low_end(DType dtype) {
  switch (dtype) {
    case DType::i64: return std::numeric_limits<std::int64_t>::min();
    case DType::i32: return std::numeric_limits<std::int32_t>::min();
    case DType::i8: return -128;
    default: return 0;
  }
}
std::int64_t high_end(DType dtype) {
  switch (dtype) {
    case DType::i64: return std::numeric_limits<std::int64_t>::max();
    case DType::i32: return std::numeric_limits<std::int32_t>::max();
    case DType::i8: return 127;
    default: return 255;
  }
}

Number integer_unary(const std::string& op, std::int64_t x, const Attributes& a, DType dtype) {
  const auto u = static_cast<std::uint64_t>(x);
  if (op == "neg") return integer_in(0 - u, dtype);
  if (op == "abs") return integer_in(x < 0 ? 0 - u : u, dtype);
  if (op == "square") return integer_in(u * u, dtype);
  if (op == "sign") return number_of_integer(x > 0 ? 1 : x < 0 ? -1 : 0);
  // clamp: the nearest integer of the dtype within [lo, hi].
  const Real lo = std::ceil(static_cast<Real>(a.real("lo")));
  const Real hi = std::floor(static_cast<Real>(a.real("hi")));
  Real y = std::fmax(static_cast<Real>(x), lo);
  y = std::fmin(y, hi);
  y = std::fmin(std::fmax(y, static_cast<Real>(low_end(dtype))),
                static_cast<Real>(high_end(dtype)));
  return number_of_integer(static_cast<std::int64_t>(y));
}

/// Arithmetic with a single rounding. For f32, computing in double is exact (53 >= 2 * 24 + 2
/// digits); for f64, this is the machine's arithmetic.
Number rounded_once(double value, DType dtype) { return rounded(number_of(value), dtype); }

Number float_unary(const std::string& op, double x, const Attributes& a, DType dtype) {
  if (op == "square") return rounded_once(x * x, dtype);
  if (op == "sqrt") return rounded_once(std::sqrt(x), dtype);
  if (op == "reciprocal") return rounded_once(1 / x, dtype);
  if (op == "isfinite") return truth(std::isfinite(x));
  if (op == "clamp") {
    if (std::isnan(x)) return number_of(x);
    const Real lo = rounded(number_of(a.real("lo")), dtype).value;
    const Real hi = rounded(number_of(a.real("hi")), dtype).value;
    return number_of(std::min(std::max(static_cast<Real>(x), lo), hi));
  }
  const Real y = unary_oracle(op)(x);
  for (const char* exact : {"neg", "abs", "sign", "relu", "floor", "ceil", "round"}) {
    if (op == exact) return number_of(y);
  }
  if (!std::isfinite(y)) return number_of(y);
  // Elementary functions are accurate to a few units in the last place. In the tails of gates the
  // rounding error of an argument is amplified, so their error is relative to x.
  Number n = approximate(y, 4, y, dtype);
  if (op.starts_with("gelu")) n.error += 1.2L * epsilon(dtype) * std::fabs(x);
  if (op == "silu") n.error += 0.1L * epsilon(dtype) * std::fabs(x);
  return n;
}

std::uint64_t integer_power(std::uint64_t base, std::int64_t exponent) {
  std::uint64_t result = 1;
  for (auto e = static_cast<std::uint64_t>(exponent); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

Number integer_binary(const std::string& op, std::int64_t a, std::int64_t b, DType dtype) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  if (op == "add") return integer_in(ua + ub, dtype);
  if (op == "sub") return integer_in(ua - ub, dtype);
  if (op == "mul") return integer_in(ua * ub, dtype);
  if (op == "maximum") return number_of_integer(std::max(a, b));
  if (op == "minimum") return number_of_integer(std::min(a, b));
  if (op == "div") {
    if (b == 0) throw DataError("scalar model: integer division by zero");
    return b == -1 ? integer_in(0 - ua, dtype)
                   : integer_in(static_cast<std::uint64_t>(a / b), dtype);
  }
  if (b < 0) throw DataError("scalar model: negative power of an integer");
  return integer_in(integer_power(ua, b), dtype);
}

Number float_binary(const std::string& op, double a, double b, DType dtype) {
  if (op == "add") return rounded_once(a + b, dtype);
  if (op == "sub") return rounded_once(a - b, dtype);
  if (op == "mul") return rounded_once(a * b, dtype);
  if (op == "div") return rounded_once(a / b, dtype);
  if (op == "pow") {
    const Real y = std::pow(static_cast<Real>(a), static_cast<Real>(b));
    if (!std::isfinite(y)) return number_of(y);
    return approximate(y, 4, y, dtype);
  }
  if (std::isnan(a) || std::isnan(b)) return number_of(NAN);
  return number_of(op == "maximum" ? std::max(a, b) : std::min(a, b));
}

bool compare(const std::string& op, const Number& a, const Number& b, DType dtype) {
  const auto holds = [&](auto x, auto y) {
    if (op == "equal") return x == y;
    if (op == "not_equal") return x != y;
    if (op == "less") return x < y;
    if (op == "less_equal") return x <= y;
    if (op == "greater") return x > y;
    return x >= y;
  };
  return is_floating(dtype) ? holds(a.value, b.value) : holds(a.integer, b.integer);
}

Number convert(const Number& x, DType from, DType to) {
  if (to == DType::boolean) return truth(is_floating(from) ? !(x.value == 0) : x.integer != 0);
  if (is_floating(to)) return rounded(number_of(x.value), to);
  if (!is_floating(from)) return number_of_integer(wrapped(x.integer, to));
  if (std::isnan(x.value)) return number_of_integer(0);
  const Real whole = std::trunc(x.value);
  if (whole <= static_cast<Real>(low_end(to))) return number_of_integer(low_end(to));
  if (whole >= static_cast<Real>(high_end(to))) return number_of_integer(high_end(to));
  return number_of_integer(static_cast<std::int64_t>(whole));
}

bool is_comparison(const std::string& op) {
  return op == "equal" || op == "not_equal" || op.starts_with("less") || op.starts_with("greater");
}

/// Propagates the errors of the operands through a step. The error of the step grows by the change
/// of the result if operands change by their errors, one by one or jointly.
Number with_carried_error(const std::vector<Number>& operands, const std::vector<DType>& types,
                          const Number& at, DType result,
                          const std::function<Number(const std::vector<Number>&)>& f) {
  Number out = at;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Real error = operands[k].error;
    if (error == 0) continue;
    for (const int sign : {-1, 1}) {
      std::vector<Number> moved = operands;
      if (error == kAnyValue && types[k] != DType::boolean) {
        out.error = kAnyValue;
        return out;
      }
      if (error == kAnyValue) {
        moved[k].integer ^= 1;  // either value is possible
        moved[k].value = static_cast<Real>(moved[k].integer);
      } else {
        moved[k].value += sign * error;
      }
      const Number there = f(moved);
      const bool changed =
          is_floating(result) ? !(there.value == at.value) : there.integer != at.integer;
      if (!changed || (std::isnan(there.value) && std::isnan(at.value))) continue;
      if (!is_floating(result)) {
        out.error = kAnyValue;
        return out;
      }
      const Real distance = std::fabs(there.value - at.value);
      out.error += std::isfinite(distance) ? distance : kAnyValue;
    }
  }
  // Joint changes also matter, for example in x * x if x is hardly larger than its error.
  for (std::size_t corner = 0; corner < std::size_t{1} << operands.size(); ++corner) {
    if (out.error == 0 || !is_floating(result) || operands.size() < 2) break;
    std::vector<Number> moved = operands;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (operands[k].error == kAnyValue) continue;
      moved[k].value += (corner >> k & 1) != 0 ? operands[k].error : -operands[k].error;
    }
    const Real distance = std::fabs(f(moved).value - at.value);
    if (!std::isnan(distance)) out.error = std::max(out.error, distance);
  }
  return out;
}

void elementwise(const ScalarCall& call, std::vector<NumberTensor>& out) {
  std::vector<DType> types;
  Tensor key;
  std::size_t count = call.in.size();
  if (call.op.has(Trait::random)) {  // x, key
    key = call.in[1];
    count = 1;
  }
  for (std::size_t k = 0; k < count; ++k) types.push_back(call.in[k].dtype());
  for (std::int64_t i = 0; i < out[0].numel(); ++i) {
    std::vector<Number> operands;
    for (std::size_t k = 0; k < count; ++k) {
      operands.push_back(
          element(call.in[k], broadcast_position(i, call.in[k].sizes(), out[0].sizes)));
    }
    out[0].elements[static_cast<std::size_t>(i)] =
        scalar_elementwise(call.op, call.attributes, operands, types, out[0].dtype, key, i);
  }
}

std::vector<TileOperand> tile_operands(const ScalarCall& call, const std::string& text) {
  const std::vector<char> whole = whole_inputs(TileProgram::parse(text));
  std::vector<TileOperand> operands;
  for (const Tensor& t : call.in) {
    if (!t.defined()) continue;
    const bool is_key = whole.at(operands.size()) != 0;
    operands.push_back({is_key ? NumberTensor{} : numbers_of(t), is_key ? t : Tensor()});
  }
  return operands;
}

void fused(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::string& text = call.attributes.text("program");
  auto results = scalar_tile_program(text, tile_operands(call, text), out[0].sizes);
  for (std::size_t r = 0; r < out.size(); ++r) out[r].elements = std::move(results[r]);
}

/// Returns the shape of a program's steps, which is the shape to which the program's operands
/// broadcast.
Sizes steps_shape(const std::vector<TileOperand>& operands) {
  Sizes sizes;
  for (const TileOperand& o : operands) {
    if (!o.whole.defined()) sizes = broadcast_sizes(sizes, o.numbers.sizes);
  }
  return sizes;
}

void fused_reduce(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::string& text = call.attributes.text("program");
  const auto operands = tile_operands(call, text);
  const Sizes sizes = steps_shape(operands);
  const std::vector<Number> rows = scalar_tile_program(text, operands, sizes)[0];
  const std::size_t axes = call.attributes.integers("axes").size();
  std::int64_t length = 1;
  for (std::size_t i = sizes.size() - axes; i < sizes.size(); ++i) length *= sizes[i];
  for (std::int64_t r = 0; r < out[0].numel(); ++r) {
    const auto begin = rows.begin() + r * length;
    out[0].elements[static_cast<std::size_t>(r)] =
        scalar_reduction(call.attributes.text("reduction"), {begin, begin + length}, out[0].dtype);
  }
}

}  // namespace

Number scalar_elementwise(const OpRecord& op, const Attributes& attributes,
                          const std::vector<Number>& operands, const std::vector<DType>& types,
                          DType result, const Tensor& key, std::int64_t position) {
  const std::string& name = op.name;
  const DType dtype = types[0];
  const auto real = [&](std::size_t k) { return static_cast<double>(operands[k].value); };
  if (name == "where") return operands[0].integer != 0 ? operands[1] : operands[2];
  if (name == "cast") return convert(operands[0], dtype, result);
  if (name == "dropout") {
    const RandomStream stream{static_cast<std::uint64_t>(element(key, 0).integer),
                              static_cast<std::uint32_t>(attributes.integer("stream")),
                              static_cast<std::uint32_t>(element(key, 1).integer)};
    const double rate = attributes.real("rate");
    if (reference_bernoulli(stream, static_cast<std::uint64_t>(position), rate)) return {};
    const Real kept = operands[0].value / (1 - static_cast<Real>(rate));
    return approximate(kept, 2, kept, dtype);
  }
  if (name == "logical_not") return truth(operands[0].integer == 0);
  if (name == "logical_and") return truth(operands[0].integer != 0 && operands[1].integer != 0);
  if (name == "logical_or") return truth(operands[0].integer != 0 || operands[1].integer != 0);
  if (name == "logical_xor") return truth((operands[0].integer != 0) != (operands[1].integer != 0));
  if (is_comparison(name)) return truth(compare(name, operands[0], operands[1], dtype));
  if (operands.size() == 1) {
    return is_floating(dtype) ? float_unary(name, real(0), attributes, dtype)
                              : integer_unary(name, operands[0].integer, attributes, dtype);
  }
  return is_floating(dtype) ? float_binary(name, real(0), real(1), dtype)
                            : integer_binary(name, operands[0].integer, operands[1].integer, dtype);
}

std::vector<std::vector<Number>> scalar_tile_program(const std::string& text,
                                                     const std::vector<TileOperand>& operands,
                                                     const Sizes& sizes) {
  const TileProgram program = TileProgram::parse(text);
  std::vector<std::vector<Number>> results(program.results.size());
  for (std::int64_t i = 0; i < num_elements(sizes); ++i) {
    std::vector<Number> values;
    std::vector<DType> types;
    for (const TileOperand& o : operands) {
      types.push_back(o.numbers.dtype);
      values.push_back(o.whole.defined() ? Number{}
                                         : o.numbers.elements[static_cast<std::size_t>(
                                               broadcast_position(i, o.numbers.sizes, sizes))]);
    }
    for (const TileStep& step : program.steps) {
      std::vector<Number> in;
      std::vector<DType> in_types;
      Tensor key;
      for (std::size_t k = 0; k < step.operands.size(); ++k) {
        const auto v = static_cast<std::size_t>(step.operands[k]);
        if (reads_whole(*step.op, k)) {
          key = operands[v].whole;
          continue;
        }
        in.push_back(values[v]);
        in_types.push_back(types[v]);
      }
      DType type = in_types[step.op->name == "where" ? 1 : 0];
      if (step.op->name == "cast") type = step.attributes.dtype("dtype");
      if (is_comparison(step.op->name) || step.op->name == "isfinite") type = DType::boolean;
      const auto f = [&](const std::vector<Number>& at) {
        std::vector<Number> exact = at;
        for (Number& n : exact) n.error = 0;
        return scalar_elementwise(*step.op, step.attributes, exact, in_types, type, key, i);
      };
      Number y = with_carried_error(in, in_types, f(in), type, f);
      values.push_back(rounded(y, type));
      if (y.error > 0) values.back() = with_rounding(values.back(), type);
      types.push_back(type);
    }
    for (std::size_t r = 0; r < results.size(); ++r) {
      results[r].push_back(values[static_cast<std::size_t>(program.results[r])]);
    }
  }
  return results;
}

void add_elementwise_models(ScalarModels& models) {
  for (const char* name :
       {"neg",         "abs",        "sign",     "square",        "exp",         "log",
        "log1p",       "expm1",      "sqrt",     "rsqrt",         "reciprocal",  "sin",
        "cos",         "tanh",       "sigmoid",  "erf",           "relu",        "gelu_erf",
        "gelu_tanh",   "silu",       "softplus", "floor",         "ceil",        "round",
        "logical_not", "isfinite",   "clamp",    "add",           "sub",         "mul",
        "div",         "pow",        "maximum",  "minimum",       "equal",       "not_equal",
        "less",        "less_equal", "greater",  "greater_equal", "logical_and", "logical_or",
        "logical_xor", "where",      "cast",     "dropout",       "hardswish"}) {
    models[name] = elementwise;
  }
}

void add_fused_models(ScalarModels& models) {
  models["fused"] = fused;
  models["fused_reduce"] = fused_reduce;
}

}  // namespace weft::testing
