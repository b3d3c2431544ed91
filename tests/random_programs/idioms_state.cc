// State that programs keep between runs: decoder caches, optimizer moments, counters, and variables
// that exchange values.
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/attention.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/tests/random_programs/idioms.h"

namespace weft::testing {
namespace {

/// Writes the keys and values for some new positions into a cache, at an input position, and
/// attends to them.
bool decoding(Builder& b) {
  RandomSource& random = b.random();
  const auto& symbols = b.graph().symbols();
  const Dim fresh =
      !symbols.empty() && random.chance(0.7) ? Dim(random.pick(symbols)) : Dim(random.below(3));
  std::int64_t most = 0;  // maximum number of new positions per run
  for (const Bindings& run : b.bindings()) most = std::max(most, Shape{fresh}.evaluate(run)[0]);
  const std::int64_t batch = random.from(1, 2), heads = random.from(1, 2),
                     depth = random.pick({1, 2, 4}), room = random.from(0, 5),
                     capacity = most + room;
  const Shape entries{batch, heads, fresh, depth};
  const DType dtype = random.chance(0.7) ? DType::f32 : DType::bf16;
  const VariableKind kind = random.chance(0.5) ? VariableKind::cache : VariableKind::buffer;
  const Value keys = b.state(kind, dtype, {batch, heads, capacity, depth});
  const Value values = b.state(kind, dtype, {batch, heads, capacity, depth});
  const Value place = b.leaf(DType::i64, {}, Tensor::of<std::int64_t>({2}, {0, room}));
  const Value k = b.leaf(DType::f32, entries), v = b.leaf(DType::f32, entries),
              q = b.leaf(DType::f32, entries);
  if (!place.defined() || !k.defined() || !v.defined() || !q.defined()) return false;
  const Value none = b.graph().scalar(DType::i64, 0);
  const Value start = stack({none, none, place, none});
  const Value new_keys = dynamic_update_slice(keys, cast(k, dtype), start);
  const Value new_values = dynamic_update_slice(values, cast(v, dtype), start);
  const Value starts = broadcast_to(place, Shape{batch});
  AttentionOptions options;
  options.q_start = starts;
  options.causal = random.chance(0.7);
  if (random.chance(0.6)) options.lengths = starts + dim_value(b.graph(), fresh);
  attention(q, cast(new_keys, DType::f32), cast(new_values, DType::f32), options);
  if (!b.evaluate_new(true)) return false;
  b.update(keys, new_keys);
  b.update(values, new_values);
  return true;
}

/// An optimizer with momentum, in some cases with a decaying mean of squares, a step and a counter.
bool optimizer(Builder& b) {
  RandomSource& random = b.random();
  const Shape shape{any_size(random), any_size(random)};
  const Value w = b.state(VariableKind::parameter, DType::f32, shape);
  const Value m = b.state(VariableKind::optimizer, DType::f32, shape);
  const Value steps = b.state(VariableKind::optimizer, DType::i64, {});
  Value g = b.leaf(DType::f32, shape);
  if (!g.defined()) return false;
  if (random.chance(0.5)) g = g * tanh(w);
  const Value moment = m * 0.9 + g * 0.1;
  Value direction = random.chance(0.5) ? moment : sign(moment);
  if (random.chance(0.4)) {
    const Value s = b.state(VariableKind::optimizer, DType::f32, shape);
    const Value squares = abs(s) * 0.99 + square(g) * 0.01;
    direction = moment / (sqrt(squares) + 0.5);
    b.update(s, squares);
  }
  const Value next = w - direction * 0.05 - (random.chance(0.5) ? w * 0.01 : w * 0.0);
  if (!b.evaluate_new(true)) return false;
  b.update(w, next);
  b.update(m, moment);
  b.update(steps, steps + 1);
  return b.evaluate_new(true);
}

/// Two or three variables that exchange their values or slices of them.
bool swapped_variables(Builder& b) {
  RandomSource& random = b.random();
  const DType dtype = b.any_dtype();
  const std::int64_t rows = random.from(1, 5);
  const Shape shape{rows, any_size(random)};
  std::vector<Value> vs;
  for (std::int64_t i = random.from(2, 3); i > 0; --i)
    vs.push_back(b.state(VariableKind::buffer, dtype, shape));
  for (std::size_t i = 0; i < vs.size(); ++i) {
    Value next = vs[(i + 1) % vs.size()];
    const auto dice = random.below(8);
    if (dice == 0) next = flip(vs[i], 0);
    if (dice == 1) next = reshape(transpose(reshape(vs[i], Shape{shape[1], shape[0]})), shape);
    if (dice == 2)
      next = concat({slice(vs[i], 0, {.begin = Dim(1)}), slice(next, 0, {.end = Dim(1)})});
    if (dice == 3 && is_floating(dtype)) next = vs[i] + next;
    if (dice == 4) next = optimization_barrier(next);
    if (!b.evaluate_new(true)) return false;
    if (dice != 5) b.update(vs[i], next);
  }
  return true;
}

/// Chains of steps from variables to their new values. Each step could be done in place if no other
/// node read the value that it overwrites. Some values are read again, also by other chains.
bool chains(Builder& b) {
  RandomSource& random = b.random();
  const DType dtype = random.chance(0.8) ? DType::f32 : b.any_dtype();
  const std::int64_t rows = any_size(random), width = random.from(1, 4);
  const Shape shape{rows, width}, other{width, rows};
  std::vector<Value> variables, now;
  for (std::int64_t i = random.from(1, 4); i > 0; --i) {
    variables.push_back(b.state(VariableKind::buffer, dtype, shape));
    now.push_back(variables.back());
  }
  std::vector<Value> all = now;
  for (std::int64_t steps = random.from(2, 10); steps > 0; --steps) {
    Value& v = now[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(now.size())))];
    const Tensor ids = Tensor::of<std::int64_t>({2}, {0, rows - 1});
    switch (random.below(9)) {
      case 0: v = v + random.pick(now); break;
      case 1: v = random.pick(now) * 2; break;
      case 2: v = maximum(v, random.pick(all)); break;
      case 3: v = reshape(reshape(v, other) + reshape(random.pick(now), other), shape); break;
      case 4: v = transpose(reshape(v, other)); break;
      case 5: {
        const Value at = b.leaf(DType::i64, {2}, ids), src = b.leaf(dtype, {2, width});
        if (at.defined() && src.defined()) v = index_add(v, at, src);
        break;
      }
      case 6: {
        const Value start = b.leaf(DType::i64, {2}, Tensor::of<std::int64_t>({2}, {0, 0}));
        if (start.defined())
          v = dynamic_update_slice(v, slice(random.pick(all), 0, {.end = Dim(1)}), start);
        break;
      }
      case 7: v = where(v < random.pick(now), v, random.pick(all)); break;
      default: v = abs(v); break;
    }
    all.push_back(v);
    if (random.chance(0.2)) sum(v);
  }
  if (!b.evaluate_new(true)) return false;
  for (const Value& v : variables) {
    if (random.chance(0.85)) b.update(v, random.chance(0.7) ? random.pick(now) : random.pick(all));
  }
  return true;
}

}  // namespace

std::vector<Idiom> state_idioms() {
  return {decoding, optimizer, swapped_variables, chains, chains};
}

}  // namespace weft::testing
