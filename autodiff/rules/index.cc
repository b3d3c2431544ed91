#include "weft/graph/functions/index.h"
#include "weft/ops/builtin.h"

#include "weft/autodiff/narrow.h"
#include "weft/autodiff/rule.h"
#include "weft/autodiff/rules/joined_rows.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

int axis_of(const GradientContext& c) { return static_cast<int>(c.attributes().integer("axis")); }

std::vector<Value> take_rule(const GradientContext& c) {
  const Value g = widened(c.cotangent());
  const Value nothing = zeros(c.graph(), g.dtype(), c.input(0).shape());
  return {index_add(nothing, c.input(1), g, axis_of(c))};
}

std::vector<Value> index_add_rule(const GradientContext& c) {
  const Value g = c.cotangent();
  return {g, Value(), c.needs(2) ? take(g, c.input(1), axis_of(c)) : Value()};
}

std::vector<Value> take_along_axis_rule(const GradientContext& c) {
  const Value g = widened(c.cotangent());
  const Value nothing = zeros(c.graph(), g.dtype(), c.input(0).shape());
  return {scatter_add(nothing, c.input(1), g, axis_of(c))};
}

std::vector<Value> scatter_add_rule(const GradientContext& c) {
  const Value g = c.cotangent();
  return {g, Value(), c.needs(2) ? take_along_axis(g, c.input(1), axis_of(c)) : Value()};
}

// All elements of x and src that equal the result share its gradient equally.
std::vector<Value> extreme_rule(const GradientContext& c, Value (*gather)(Arg, Arg, int),
                                Value (*scatter)(Arg, Arg, Arg, int)) {
  const Value x = c.input(0), index = c.input(1), src = c.input(2), out = c.output();
  const int axis = axis_of(c);
  const auto equals = [&](const Value& a, const Value& b) {
    return c.graph().apply("cast", {apply_binary("equal", a, b)}, {{"dtype", x.dtype()}}).output(0);
  };
  const Value own = equals(x, out), chosen = equals(src, gather(out, index, axis));
  const Value share = apply_binary("div", c.cotangent(), scatter(own, index, chosen, axis));
  return {c.needs(0) ? apply_binary("mul", own, share) : Value(), Value(),
          c.needs(2) ? apply_binary("mul", chosen, gather(share, index, axis)) : Value()};
}

std::vector<Value> index_extreme_rule(const GradientContext& c) {
  return extreme_rule(c, take, index_add);
}

std::vector<Value> scatter_extreme_rule(const GradientContext& c) {
  return extreme_rule(c, take_along_axis, scatter_add);
}

std::vector<Value> dynamic_slice_rule(const GradientContext& c) {
  return {dynamic_update_slice(zeros_like(c.input(0)), c.cotangent(), c.input(1))};
}

std::vector<Value> dynamic_update_slice_rule(const GradientContext& c) {
  const Value g = c.cotangent(), update = c.input(1), start = c.input(2);
  return {c.needs(0) ? dynamic_update_slice(g, zeros_like(update), start) : Value(),
          c.needs(1) ? dynamic_slice(g, start, update.shape()) : Value()};
}

std::vector<Value> tensor_scatter_rule(const GradientContext& c) {
  const Value g = c.cotangent(), update = c.input(1), start = c.input(2), rows = c.input(3);
  const int axis = axis_of(c);
  const bool circular = c.attributes().flag("circular");
  Value block;
  if (c.needs(1)) {
    Shape column(std::vector<Dim>(static_cast<std::size_t>(update.rank()), Dim(1)));
    column[0] = update.size(0);
    const auto within = [&](Value entry) {
      if (!circular) return entry;
      const Value size = maximum(dim_value(c.graph(), g.size(axis), entry.dtype()), 1);
      return entry - entry / size * size;
    };
    const Value place = iota(c.graph(), update.shape(), axis, start.dtype());
    const Value from = within(place + reshape(within(start), column));
    if (rows.defined() && rows.rank() == 2) {
      const Value entry =
          unsqueeze(start, 1) + iota(c.graph(), {update.size(axis)}, 0, start.dtype());
      const Value length = maximum(dim_value(c.graph(), g.size(axis), start.dtype()), 1);
      column[axis] = update.size(axis);
      block = masked_fill(take_along_axis(joined_rows(g, rows, axis), from, axis),
                          reshape(take_along_axis(equal(rows, -1), entry / length, 1), column), 0);
    } else {
      block = take_along_axis(rows.defined() ? take(g, rows, 0) : g, from, axis);
    }
  }
  return {c.needs(0) ? tensor_scatter(g, zeros_like(update), start,
                                      {.axis = axis, .rows = rows, .circular = circular})
                     : Value(),
          block};
}

}  // namespace

void IndexOps::add(RuleSet& rules) {
  rules.add("take", take_rule);
  rules.add("index_add", index_add_rule);
  rules.add("take_along_axis", take_along_axis_rule);
  rules.add("scatter_add", scatter_add_rule);
  rules.add("index_max", index_extreme_rule);
  rules.add("index_min", index_extreme_rule);
  rules.add("scatter_max", scatter_extreme_rule);
  rules.add("scatter_min", scatter_extreme_rule);
  rules.add("dynamic_slice", dynamic_slice_rule);
  rules.add("dynamic_update_slice", dynamic_update_slice_rule);
  rules.add("tensor_scatter", tensor_scatter_rule);
}

}  // namespace weft
