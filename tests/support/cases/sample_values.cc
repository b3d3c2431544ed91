#include "weft/tests/support/cases/sample_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "weft/ops/make_kernel.h"

namespace weft::testing {
namespace {

struct Range {
  double low = -1.5, high = 1.5;
};

// Returns the range of the finite elements of a tensor.
std::optional<Range> range_of(const Tensor& t) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; t.defined() && i < t.numel(); ++i) {
    if (!std::isfinite(t.at(i))) continue;
    range.low = std::min(range.low, t.at(i));
    range.high = std::max(range.high, t.at(i));
  }
  return range.low <= range.high ? std::optional(range) : std::nullopt;
}

Range range_of_input(std::size_t i, const OpSample& original,
                     const std::vector<OpSample>& samples) {
  const auto of = [&](const OpSample& s) {
    return i < s.inputs.size() ? range_of(s.inputs[i]) : std::nullopt;
  };
  if (const auto own = of(original)) return *own;
  for (const OpSample& s : samples) {
    if (const auto range = of(s)) return *range;
  }
  return {};
}

double special_float(Draw& draw, Values values) {
  using Limits = std::numeric_limits<float>;
  static constexpr double kSpecial[] = {Limits::quiet_NaN(),
                                        Limits::infinity(),
                                        -Limits::infinity(),
                                        0.0,
                                        -0.0,
                                        Limits::denorm_min(),
                                        -3 * Limits::denorm_min(),
                                        1.0,
                                        -1.0};
  static constexpr double kHuge[] = {
      Limits::min(), Limits::max(), -Limits::max(),         65504.0, 65520.0,
      0.5,           2147483648.0,  -9223372036854775808.0, 88.8,    -104.0};
  return values == Values::wild && draw.one_in(2) ? draw.pick(kHuge) : draw.pick(kSpecial);
}

Tensor floats(DType dtype, const Sizes& sizes, Range range, Draw& draw, Values values) {
  if (values != Values::spread && draw.one_in(10)) {
    // Values for tensors whose elements are all equal, because passes look for such tensors.
    static constexpr double kSame[] = {0, -0.0, 1, -1, 2, 0.5, 3};
    const bool special = values != Values::tame && draw.one_in(3);
    return Tensor::full(dtype, sizes, special ? special_float(draw, values) : draw.pick(kSame));
  }
  Tensor t = Tensor::empty(DType::f64, sizes);
  double* const to = t.mutable_data<double>();
  const std::int64_t n = t.numel();
  if (values == Values::spread) {
    if (range.low == range.high) range = {range.low - 0.5, range.high + 0.5};
    // The centres of n equal intervals, shuffled and shifted slightly.
    const double step =
        (range.high - range.low) / static_cast<double>(std::max<std::int64_t>(n, 1));
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = range.low + step * (static_cast<double>(i) + 0.3 + 0.4 * draw.unit());
    }
    for (std::int64_t i = n; i > 1; --i) std::swap(to[i - 1], to[draw.below(i)]);
  } else {
    const bool specials = values == Values::wild || values == Values::special;
    const std::int64_t period = specials ? draw.pick(std::array{1, 2, 5, 30, 30}) : 0;
    const bool all_special = period == 1;
    for (std::int64_t i = 0; i < n; ++i) {
      const bool special = all_special || (period > 0 && draw.below(period) == 0);
      to[i] = special ? special_float(draw, values)
                      : range.low + (range.high - range.low) * draw.unit();
    }
  }
  return t.to(dtype);
}

template <class T>
std::int64_t extreme(std::int64_t bound, Draw& draw) {
  using Limits = std::numeric_limits<T>;
  const std::int64_t choices[] = {
      Limits::max(),     Limits::min(),     -1,     bound, bound + 1, Limits::max() - 1,
      Limits::min() + 1, Limits::max() / 2, -bound, 0};
  return draw.pick(choices);
}

// Returns integers in [0, bound), or from the whole range of the dtype if they are not meant as
// indices.
Tensor integers(DType dtype, const Sizes& sizes, std::int64_t bound, bool wild, Draw& draw) {
  Tensor t = Tensor::empty(dtype, sizes);
  const int extremes = wild ? (draw.one_in(2) ? 2 : 16) : 0;
  if (draw.one_in(10)) {
    const std::int64_t same =
        draw.below(std::max<std::int64_t>(std::min<std::int64_t>(bound, 3), 1));
    return Tensor::full(dtype, sizes,
                        static_cast<double>(dtype == DType::boolean ? draw.below(2) : same));
  }
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < t.numel(); ++i) t.mutable_data<bool>()[i] = draw.one_in(2);
    } else if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < t.numel(); ++i) {
        const std::int64_t value = draw.one_in(extremes)
                                       ? extreme<T>(bound, draw)
                                       : draw.below(std::max<std::int64_t>(bound, 1));
        t.mutable_data<T>()[i] = static_cast<T>(value);
      }
    }
  });
  return t;
}

// Returns all sizes that occur; each may be the bound of an index.
std::vector<std::int64_t> sizes_of(const OpSample& sample) {
  std::vector<std::int64_t> all = {1, 2, 3};
  for (const Tensor& t : sample.inputs) {
    if (t.defined()) all.insert(all.end(), t.sizes().begin(), t.sizes().end());
  }
  for (const auto& [name, value] : sample.attributes) {
    if (const auto* d = std::get_if<Dim>(&value)) all.push_back(d->constant());
  }
  return all;
}

// Returns true if the op's data check accepts the integers of the sample.
bool passes_check(const OpRecord& op, const OpSample& sample) {
  if (op.kernel == nullptr || !is_legal(op, sample)) return true;
  try {
    KernelRequest request;
    request.attributes = op.complete(sample.attributes);
    std::vector<const void*> inputs;
    for (const Tensor& t : sample.inputs) {
      request.inputs.push_back(t.defined() ? OperandSpec{t.dtype(), t.sizes(), true}
                                           : OperandSpec{DType::f32, {}, false});
      inputs.push_back(t.defined() ? t.raw() : nullptr);
    }
    const std::vector<ValueType> types = output_types(op, sample);
    for (const ValueType& type : types) {
      request.outputs.push_back({type.dtype, type.shape.constant(), true});
    }
    std::vector<DType> dtypes;
    for (const OperandSpec& spec : request.inputs) dtypes.push_back(spec.dtype);
    check_data(make_kernel(op, request), dtypes, inputs.data());
    return true;
  } catch (const DataError&) {
    return false;
  } catch (const Error&) {
    return true;  // an error that other integers would not avoid
  }
}

}  // namespace

void draw_values(const OpRecord& op, const OpSample& original, const std::vector<OpSample>& samples,
                 OpSample& sample, Draw& draw, Values values) {
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    Tensor& t = sample.inputs[i];
    if (!t.defined() || !is_floating(t.dtype())) continue;
    t = floats(t.dtype(), t.sizes(), range_of_input(i, original, samples), draw, values);
  }
  const auto draw_integers = [&](bool wild, int attempt) {
    const auto bounds = sizes_of(sample);
    for (Tensor& t : sample.inputs) {
      if (!t.defined() || is_floating(t.dtype())) continue;
      std::int64_t bound = attempt < 4 ? draw.pick(bounds) : attempt == 4 ? 2 : 1;
      if (wild && draw.one_in(4)) bound = std::numeric_limits<std::int8_t>::max();
      t = integers(t.dtype(), t.sizes(), bound, wild, draw);
    }
  };
  if ((values == Values::wild || values == Values::special) && draw.one_in(4))
    return draw_integers(true, 0);
  for (int attempt = 0; attempt < 6; ++attempt) {
    draw_integers(false, attempt);
    if (passes_check(op, sample)) return;
  }
}

}  // namespace weft::testing
