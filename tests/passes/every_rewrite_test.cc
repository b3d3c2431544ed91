// Passes must not change any bit. The tests apply every elementwise op, and also reductions,
// movements, casts and products, to every elementwise op in every supported dtype, on values for
// which rewrites are likely to be wrong (ends of ranges, both zeros, infinities, NaN, denormals).
// The tests do not depend on a list of rewrites, so new rewrites are tested automatically.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"

namespace weft {
namespace {

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                             DType::i32, DType::i8,  DType::u8,   DType::boolean};

template <class T>
Tensor integers() {
  using Limits = std::numeric_limits<T>;
  return Tensor::of<T>(
      {9}, std::vector<T>{Limits::min(), static_cast<T>(Limits::min() + 1), static_cast<T>(-1), 0,
                          1, 2, 5, static_cast<T>(Limits::max() - 1), Limits::max()});
}

// Returns values for which rewrites are likely to be wrong.
Tensor extremes(DType dtype) {
  switch (dtype) {
    case DType::i64: return integers<std::int64_t>();
    case DType::i32: return integers<std::int32_t>();
    case DType::i8: return integers<std::int8_t>();
    case DType::u8: return integers<std::uint8_t>();
    case DType::boolean: return Tensor::of<double>({2}, {0, 1}).to(DType::boolean);
    default: break;
  }
  const double inf = std::numeric_limits<double>::infinity();
  const double tiny = dtype == DType::f64   ? 0x1p-1074
                      : dtype == DType::f32 ? 0x1p-149
                      : dtype == DType::f16 ? 0x1p-24
                                            : 0x1p-133;
  const double huge = dtype == DType::f64   ? std::numeric_limits<double>::max()
                      : dtype == DType::f32 ? std::numeric_limits<float>::max()
                      : dtype == DType::f16 ? 65504
                                            : 0x1.fep127;
  return Tensor::of<double>({14}, {0.0, -0.0, 1, -1, 0.5, -2.5, 3, tiny, -tiny, huge, -huge, inf,
                                   -inf, std::nan("")})
      .to(dtype);
}

// Repeats a tensor `times` times, either as a whole or element by element, to form all pairs with
// the values of another tensor.
Tensor spread(const Tensor& t, std::int64_t times, bool each) {
  const std::size_t size = dtype_size(t.dtype());
  Tensor out = Tensor::empty(t.dtype(), {t.numel() * times});
  auto* to = static_cast<std::byte*>(out.mutable_raw());
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::int64_t from = each ? i / times : i % t.numel();
    std::memcpy(to + static_cast<std::size_t>(i) * size,
                t.raw() + static_cast<std::size_t>(from) * size, size);
  }
  return out;
}

// Returns true if the elements are equal in every bit, or within `tolerance` for sums in a
// different order.
bool same(const Tensor& a, const Tensor& b, std::int64_t i, double tolerance) {
  const std::size_t size = dtype_size(a.dtype());
  const auto at = [&](const Tensor& t) { return t.raw() + static_cast<std::size_t>(i) * size; };
  if (std::equal(at(a), at(a) + size, at(b))) return true;
  // The sign and payload of a NaN may differ.
  if (!is_floating(a.dtype())) return false;
  return (std::isnan(a.at(i)) && std::isnan(b.at(i))) ||
         std::abs(a.at(i) - b.at(i)) <= tolerance * std::max(1.0, std::abs(b.at(i)));
}

// Values of one program with their descriptions.
struct Cases {
  Graph g;
  NamedTensors feeds;
  Program program{"p"};
  std::vector<std::string> texts;
  DType dtype;
  Value x, y, flag;  // all pairs of extreme values, and a condition

  explicit Cases(DType d) : dtype(d) {
    const Tensor values = extremes(d);
    const std::int64_t n = values.numel();
    feed("x", spread(values, n, false));
    feed("y", spread(values, n, true));
    Tensor bits = Tensor::empty(DType::boolean, {n * n});
    for (std::int64_t i = 0; i < n * n; ++i) bits.mutable_data<bool>()[i] = i % 3 == 0;
    feed("flag", std::move(bits));
    x = g.find_input("x"), y = g.find_input("y"), flag = g.find_input("flag");
  }
  void feed(const std::string& name, Tensor t) {
    g.input(name, ValueType{t.dtype(), Shape(t.sizes())});
    feeds.emplace_back(name, std::move(t));
  }
  void add(const Value& v, std::string text) {
    program.output("v" + std::to_string(texts.size()), v);
    texts.push_back(std::move(text));
  }
  // Returns the result, or an undefined value if the op does not accept the operands.
  Value apply(const OpRecord& op, std::vector<Value> operands, const Attributes& attributes) {
    try {
      return g.apply(op, std::move(operands), attributes).output(0);
    } catch (const Error&) {
      return {};
    }
  }
  void check(double tolerance = -1) {
    if (texts.empty()) return;
    Session plain(g, {.threads = 1, .passes = false}), session(g, {.threads = 1});
    const auto expected = plain.run(program, feeds), actual = session.run(program, feeds);
    for (std::size_t k = 0; k < texts.size(); ++k) {
      const std::string name = "v" + std::to_string(k);
      const Tensor &e = expected[name], &a = actual[name];
      for (std::int64_t i = 0; i < e.numel(); ++i) {
        if (same(e, a, i, tolerance)) continue;
        BOOST_ERROR(dtype_name(dtype) << ": " << texts[k] << " at " << i << ": " << a.at(i)
                                      << " with passes, " << e.at(i) << " without");
        break;
      }
    }
  }
};

struct Step {
  const OpRecord* op;
  Attributes attributes;
  std::string text;
};

// Returns every elementwise op with the attributes of its samples, and casts to every dtype.
std::vector<Step> elementwise_steps() {
  std::vector<Step> steps;
  for (const OpRecord* op : builtin_ops()->all()) {
    if (!op->has(Trait::elementwise) || op->has(Trait::random) || op->outputs.size() != 1) continue;
    if (op->name == "cast") {
      for (const DType d : kDTypes) {
        steps.push_back({op, {{"dtype", d}}, "cast to " + std::string(dtype_name(d))});
      }
      continue;
    }
    std::vector<Attributes> seen;
    for (const OpSample& sample : op->samples()) {
      const Attributes attributes = op->complete(sample.attributes);
      if (std::find(seen.begin(), seen.end(), attributes) != seen.end()) continue;
      seen.push_back(attributes);
      steps.push_back({op, attributes, op->name});
      if (seen.size() == 3) break;
    }
  }
  return steps;
}

// Returns true if a run may fail because integers are divided by zero or have negative exponents.
bool may_fail(const Step& step, const Value& v) {
  return (step.op->name == "div" || step.op->name == "pow") && !is_floating(v.dtype());
}

// Applies the step with `v` at each operand position. The other operands are x, y, v or the
// condition.
std::vector<std::pair<Value, std::string>> uses(Cases& c, const Step& step, const Value& v,
                                                const std::string& text) {
  std::vector<std::pair<Value, std::string>> result;
  const std::size_t arity = step.op->inputs.size();
  if (may_fail(step, v)) return result;
  for (std::size_t place = 0; place < arity; ++place) {
    for (const bool flagged : {false, true}) {
      for (const Value& other : {c.x, c.y, v}) {
        std::vector<Value> operands(arity, other);
        operands[place] = v;
        if (flagged && place != 0) operands[0] = c.flag;
        const Value made = c.apply(*step.op, operands, step.attributes);
        if (!made.defined()) continue;
        const bool known = std::any_of(result.begin(), result.end(),
                                       [&](const auto& r) { return r.first == made; });
        if (!known) result.emplace_back(made, step.text + "(" + text + ")");
      }
    }
  }
  return result;
}

BOOST_AUTO_TEST_SUITE(every_rewrite)

BOOST_AUTO_TEST_CASE(pairs_of_elementwise_ops_keep_their_bits) {
  const std::vector<Step> steps = elementwise_steps();
  BOOST_TEST(steps.size() > 40u);
  for (const DType dtype : kDTypes) {
    for (const Step& first : steps) {
      Cases c(dtype);
      for (const auto& [v, text] : uses(c, first, c.x, "x")) {
        for (const Step& second : steps) {
          for (const auto& [w, whole] : uses(c, second, v, text)) c.add(w, whole);
        }
      }
      c.check();
    }
  }
}

BOOST_AUTO_TEST_CASE(constants_are_folded_only_if_no_bit_changes) {
  const std::vector<Step> steps = elementwise_steps();
  for (const DType dtype : kDTypes) {
    Cases c(dtype);
    const Tensor values = extremes(dtype);
    std::vector<std::pair<Value, std::string>> operands = {{c.x, "x"}};
    for (const Step& step : steps) {
      if (step.op->inputs.size() != 1) continue;
      for (auto& use : uses(c, step, c.x, "x")) operands.push_back(std::move(use));
    }
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      Tensor one = Tensor::empty(dtype, {});
      const std::size_t size = dtype_size(dtype);
      std::memcpy(one.mutable_raw(), values.raw() + static_cast<std::size_t>(i) * size, size);
      const Value constant = c.g.constant(one);
      const bool positive = one.at(0) > 0;
      for (const Step& step : steps) {
        if (step.op->inputs.size() != 2) continue;
        for (const auto& [v, text] : operands) {
          for (const bool left : {true, false}) {
            if (may_fail(step, v) && (left || !positive)) continue;
            const Value made =
                c.apply(*step.op, left ? std::vector{constant, v} : std::vector{v, constant}, {});
            if (made.defined()) {
              c.add(made, step.text + " of " + text + " and constant " + std::to_string(i));
            }
          }
        }
      }
    }
    c.check();
  }
}

BOOST_AUTO_TEST_CASE(reductions_keep_their_bits_after_every_op) {
  for (const DType dtype : kDTypes) {
    Cases c(dtype);
    const std::int64_t n = extremes(dtype).numel();
    for (const Step& step : elementwise_steps()) {
      for (const auto& [v, text] : uses(c, step, c.x, "x")) {
        const Value square = reshape(v, Shape{n, n});
        for (const char* name : {"sum", "mean", "max", "min", "prod", "logsumexp", "any", "all"}) {
          for (const std::vector<std::int64_t>& axes :
               {std::vector<std::int64_t>{1}, std::vector<std::int64_t>{0, 1}}) {
            const Value made =
                c.apply(c.g.ops().at(name), {square}, {{"axes", axes}, {"keepdims", false}});
            if (made.defined()) c.add(made, name + (" of " + text));
          }
        }
      }
    }
    c.check();
  }
}

BOOST_AUTO_TEST_CASE(movements_keep_their_bits) {
  const std::vector<std::pair<std::string, std::function<Value(Value)>>> moves = {
      {"reshape",
       [](Value v) {
         return reshape(v, Shape{v.size(0) * v.size(1), 1});
       }},
      {"same reshape", [](Value v) { return reshape(v, v.shape()); }},
      {"permute",
       [](Value v) {
         return permute(v, {1, 0});
       }},
      {"no permute",
       [](Value v) {
         return permute(v, {0, 1});
       }},
      {"broadcast",
       [](Value v) {
         return reshape(broadcast_to(v, Shape{2, v.size(0), v.size(1)}),
                        Shape{v.size(0) * 2, v.size(1)});
       }},
      {"slice",
       [](Value v) {
         return slice(v, {{0, v.size(0), 1}, {0, 1, 1}});
       }},
      {"whole slice",
       [](Value v) {
         return slice(v, {{}, {}});
       }},
      {"backwards",
       [](Value v) {
         return slice(v, {{{}, {}, -1}});
       }},
      {"flip", [](Value v) { return flip(v, 0); }},
      {"flip both",
       [](Value v) {
         return flip(v, {0, 1});
       }},
      {"no pad",
       [](Value v) {
         return pad(v, {{0, 0}, {0, 0}});
       }},
      {"pad",
       [](Value v) {
         return pad(v, {{1, 0}, {0, 2}}, {.value = 1});
       }},
      {"concat of one", [](Value v) { return concat({v}, 1); }},
      {"concat",
       [](Value v) {
         return concat({v, v}, 1);
       }},
      {"stop", [](Value v) { return stop_gradient(v); }}};
  for (const DType dtype : kDTypes) {
    Cases c(dtype);
    const std::int64_t n = extremes(dtype).numel();
    const Value start = reshape(c.x, Shape{n, n});
    for (const auto& [a, first] : moves) {
      for (const auto& [b, second] : moves) {
        for (const auto& [d, third] : moves)
          c.add(third(second(first(start))), d + "(" + b + "(" + a);
      }
    }
    c.check();
  }
}

BOOST_AUTO_TEST_CASE(broadcast_operands_keep_their_bits) {
  for (const DType dtype : kDTypes) {
    Cases c(dtype);
    const std::int64_t n = extremes(dtype).numel();
    const Value whole = reshape(c.x, Shape{n, n});
    const Value row = slice(whole, {{0, 1, 1}}), column = slice(whole, {{}, {2 % n, 2 % n + 1, 1}});
    const Value wide = broadcast_to(row, Shape{n, n}), tall = broadcast_to(column, Shape{n, n});
    for (const Step& step : elementwise_steps()) {
      if (step.op->inputs.size() != 2 || may_fail(step, c.x)) continue;
      for (const auto& [a, b] : std::vector<std::pair<Value, Value>>{
               {whole, wide}, {wide, whole}, {wide, tall}, {tall, wide}, {wide, wide}}) {
        const Value made = c.apply(*step.op, {a, b}, step.attributes);
        if (made.defined()) c.add(made, step.text + " of repeated operands");
      }
    }
    c.check();
  }
}

BOOST_AUTO_TEST_CASE(products_keep_their_bits_unless_passes_move_transposes_and_casts_into_them) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (const std::int64_t rows : {1, 3, 17}) {
      Cases exact(dtype), close(dtype);
      for (const bool wild : {false, true}) {
        const auto values = [&](std::int64_t m, std::int64_t k, double seed) {
          std::vector<double> v(static_cast<std::size_t>(m * k));
          for (std::size_t i = 0; i < v.size(); ++i) {
            v[i] = std::sin(seed + 1.7 * static_cast<double>(i));
          }
          if (wild)
            v[1] = std::nan(""), v[2] = -std::numeric_limits<double>::infinity(), v[3] = -0.0;
          return Tensor::of<double>({m, k}, v).to(dtype);
        };
        const std::string tag = wild ? " wild" : "";
        for (Cases* c : {&exact, &close}) {
          c->feed("a" + tag, values(rows, 9, 1));
          c->feed("at" + tag, values(9, rows, 2));
          c->feed("b" + tag, values(9, 11, 3));
          c->feed("bt" + tag, values(11, 9, 4));
        }
        for (const DType to : {dtype, DType::f32, DType::f64}) {
          const bool widened = to != dtype && dtype_size(dtype) == 2;
          for (int left = 0; left < 3; ++left) {
            for (int right = 0; right < 3; ++right) {
              Cases& c = left + right == 0 && !widened ? exact : close;
              const auto operand = [&](const std::string& name, int form) {
                if (form == 0) return cast(c.g.find_input(name + tag), to);
                const Value turned = c.g.find_input(name + "t" + tag);
                return form == 1 ? transpose(cast(turned, to)) : cast(transpose(turned), to);
              };
              const Value made =
                  c.apply(c.g.ops().at("matmul"), {operand("a", left), operand("b", right)}, {});
              if (!made.defined()) continue;
              c.add(made, "product as " + std::string(dtype_name(to)) + tag);
              c.add(relu(made * 2.0 + made), "product and steps" + tag);
            }
          }
        }
      }
      exact.check();
      close.check(1e-5);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
