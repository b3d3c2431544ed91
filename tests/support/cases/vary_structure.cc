#include "weft/tests/support/cases/vary_structure.h"

#include <algorithm>
#include <array>

namespace weft::testing {
namespace {

struct AxisChange {
  bool add;
  std::int64_t at;    // a position beyond the end means the end
  std::int64_t size;  // size of the new axis
};

template <class List>
void change(List& list, const AxisChange& axis) {
  const auto count = static_cast<std::int64_t>(list.size());
  if (axis.add) {
    list.insert(list.begin() + std::min(axis.at, count), typename List::value_type(axis.size));
  } else if (count > 0) {
    list.erase(list.begin() + std::min(axis.at, count - 1));
  }
}

// Adapts axis numbers to the change.
void move_axes(std::vector<std::int64_t>& axes, const AxisChange& axis, bool is_order) {
  if (!axis.add && is_order) axes.erase(std::find(axes.begin(), axes.end(), axis.at));
  for (std::int64_t& a : axes) {
    if (a >= axis.at) a += axis.add ? 1 : -1;
  }
  if (axis.add && is_order) axes.insert(axes.begin() + axis.at, axis.at);
}

bool is_order_with(const std::vector<std::int64_t>& axes, std::int64_t at) {
  std::vector<std::int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return false;
  }
  return at < std::ssize(sorted);
}

}  // namespace

void vary_rank(OpSample& sample, Draw& draw) {
  const bool all = !draw.one_in(3);
  const AxisChange axis{.add = !draw.one_in(3),
                        .at = draw.one_in(2) ? 0 : draw.below(4),
                        .size = draw.pick(std::array{1, 1, 2, 3})};
  for (Tensor& t : sample.inputs) {
    if (!t.defined() || (!all && draw.one_in(2))) continue;
    Sizes sizes = t.sizes();
    change(sizes, axis);
    t = Tensor::zeros(t.dtype(), sizes);
  }
  if (draw.one_in(3)) return;
  Attributes changed = sample.attributes;
  for (const auto& [name, value] : sample.attributes) {
    if (const Shape* shape = std::get_if<Shape>(&value)) {
      std::vector<Dim> dims = shape->dims();
      change(dims, axis);
      if (!draw.one_in(4)) changed.set(name, Shape(dims));
    } else if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&value)) {
      std::vector<std::int64_t> moved = *axes;
      move_axes(moved, axis, is_order_with(moved, axis.at));
      changed.set(name, moved);
    } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
      if (*number >= axis.at && !draw.one_in(3)) changed.set(name, *number + (axis.add ? 1 : -1));
    }
  }
  sample.attributes = std::move(changed);
}

void vary_broadcasting(OpSample& sample, Draw& draw) {
  if (sample.inputs.empty()) return;
  Tensor& t = sample.inputs[static_cast<std::size_t>(draw.below(std::ssize(sample.inputs)))];
  if (!t.defined() || t.sizes().empty()) return;
  Sizes sizes = t.sizes();
  const std::int64_t at = draw.below(std::ssize(sizes));
  if (draw.one_in(4)) {
    sizes.erase(sizes.begin() + at);  // a missing axis also broadcasts
  } else {
    sizes[static_cast<std::size_t>(at)] = 1;
  }
  t = Tensor::zeros(t.dtype(), sizes);
}

void share_operands(OpSample& sample, Draw& draw) {
  for (std::size_t i = 1; i < sample.inputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Tensor &one = sample.inputs[j], &other = sample.inputs[i];
      if (!one.defined() || !other.defined() || one.dtype() != other.dtype() ||
          one.sizes() != other.sizes() || draw.one_in(3)) {
        continue;
      }
      sample.inputs[i] = one;
      break;
    }
  }
}

void break_structure(const OpRecord& op, OpSample& sample, Draw& draw) {
  const Attributes complete = op.complete(sample.attributes);
  switch (draw.below(5)) {
    case 0: sample.inputs.push_back(Tensor::zeros(DType::f32, {2})); break;
    case 1:
      if (!sample.inputs.empty()) sample.inputs.pop_back();
      break;
    case 2:
      if (!sample.inputs.empty())
        sample.inputs[static_cast<std::size_t>(draw.below(std::ssize(sample.inputs)))] = Tensor();
      break;
    case 3: sample.attributes.set("no_such_attribute", std::int64_t{1}); break;
    default: {
      static const std::array<Attribute, 8> kOthers = {
          Attribute(true),       Attribute(std::int64_t{1}),
          Attribute(1.5),        Attribute(std::string("x")),
          Attribute(DType::i32), Attribute(std::vector<std::int64_t>{0}),
          Attribute(Dim(2)),     Attribute(Shape(Sizes{2}))};
      if (complete.empty()) break;
      const auto chosen = complete.begin() + draw.below(static_cast<std::int64_t>(complete.size()));
      sample.attributes.set(chosen->first, draw.pick(kOthers));
    }
  }
}

}  // namespace weft::testing
