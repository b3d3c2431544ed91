#include "weft/testing/close.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace weft::testing {
namespace {

// The histogram starts with one bin for all errors below 1e-16.
constexpr int kMinusDecades = 17;

std::string index_text(const Tensor& t, std::int64_t element) {
  std::string text;
  for (int axis = t.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = t.size(axis);
    text = fmt::format("{}{}{}", element % size, text.empty() ? "" : ", ", text);
    element /= size;
  }
  return "[" + text + "]";
}

std::string type_text(const Tensor& t) {
  return t.defined() ? fmt::format("{}{}", dtype_name(t.dtype()), to_string(t.sizes()))
                     : "undefined";
}

// Returns the distance from |x| to the next larger number of the dtype; 1 for integers.
double ulp(double x, DType dtype) {
  int digits = 0, least = 0;
  switch (dtype) {
    case DType::f64: digits = 53, least = -1074; break;
    case DType::f32: digits = 24, least = -149; break;
    case DType::f16: digits = 11, least = -24; break;
    case DType::bf16: digits = 8, least = -133; break;
    default: return 1;
  }
  if (x == 0) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(x) - digits + 1, least));
}

class Comparison {
 public:
  Comparison(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance)
      : actual_(actual), expected_(expected), tolerance_(tolerance) {
    for (std::int64_t i = 0; i < expected.numel(); ++i) compare(i);
  }

  Outcome outcome() const {
    if (wrong_ == 0) return Outcome::pass();
    std::string text = fmt::format(
        "{} of {} elements of {} are not close (allowed: {:g} + {:g} |expected|{})", wrong_,
        expected_.numel(), type_text(actual_), tolerance_.absolute, tolerance_.relative,
        tolerance_.ulps > 0 ? fmt::format(", or {:g} ulps", tolerance_.ulps) : "");
    text += "\n  first:    " + place(first_);
    if (worst_ >= 0 && worst_ != first_) text += "\n  largest:  " + place(worst_);
    if (worst_relative_ >= 0 && worst_relative_ != worst_ && worst_relative_ != first_) {
      text += "\n  relative: " + place(worst_relative_);
    }
    return Outcome::fail(text + histogram());
  }

 private:
  void compare(std::int64_t i) {
    const double a = actual_.at(i), e = expected_.at(i);
    const bool same = a == e || (std::isnan(a) && std::isnan(e) && tolerance_.nan_is_close_to_nan);
    double error = 0;
    bool close = same;
    if (!same) {
      error = std::abs(a - e);
      if (std::isfinite(error)) {
        close = error <= tolerance_.absolute + tolerance_.relative * std::abs(e) ||
                error <= tolerance_.ulps * ulp(e, expected_.dtype());
        if (error > farthest_) farthest_ = error, worst_ = i;
        if (e != 0 && error / std::abs(e) > relative_) {
          relative_ = error / std::abs(e);
          worst_relative_ = i;
        }
      }
    }
    count(error);
    if (close) return;
    if (wrong_++ == 0) first_ = i;
  }

  void count(double error) {
    if (error == 0) {
      ++exact_;
    } else if (!std::isfinite(error)) {
      ++infinite_;
    } else {
      const int decade = static_cast<int>(std::floor(std::log10(error)));
      ++decades_[static_cast<std::size_t>(std::clamp(decade + kMinusDecades, 0, 23))];
    }
  }

  std::string place(std::int64_t i) const {
    const double a = actual_.at(i), e = expected_.at(i), error = std::abs(a - e);
    std::string text = fmt::format("{} is {}, expected {}", index_text(expected_, i), a, e);
    if (!std::isfinite(error)) return text;
    text += fmt::format(" (error {:.3g}", error);
    if (e != 0) text += fmt::format(", relative {:.3g}", error / std::abs(e));
    const bool floating = is_floating(expected_.dtype());
    return text +
           (floating ? fmt::format(", {:.3g} ulps)", error / ulp(e, expected_.dtype())) : ")");
  }

  std::string histogram() const {
    std::string text = fmt::format("\n  errors:   {} x 0", exact_);
    for (std::size_t d = 0; d < decades_.size(); ++d) {
      if (decades_[d] == 0) continue;
      const int decade = static_cast<int>(d) - kMinusDecades;
      text += d == 0 ? fmt::format(", {} x below 1e{}", decades_[d], decade + 1)
                     : fmt::format(", {} x 1e{}", decades_[d], decade);
    }
    return text + (infinite_ > 0 ? fmt::format(", {} x not finite", infinite_) : "");
  }

  const Tensor &actual_, &expected_;
  const Tolerance tolerance_;
  std::int64_t wrong_ = 0, first_ = -1, worst_ = -1, worst_relative_ = -1;
  double farthest_ = 0, relative_ = 0;
  std::int64_t exact_ = 0, infinite_ = 0;
  std::array<std::int64_t, 24> decades_ = {};
};

Outcome same_sizes(const Tensor& actual, const Tensor& expected) {
  if (actual.defined() && expected.defined() && actual.sizes() == expected.sizes()) {
    return Outcome::pass();
  }
  return Outcome::fail(
      fmt::format("the tensor is {}, expected {}", type_text(actual), type_text(expected)));
}

}  // namespace

Tolerance Tolerance::of(DType dtype) {
  switch (dtype) {
    case DType::f64: return {.absolute = 1e-7, .relative = 1e-7};
    case DType::f32: return {.absolute = 1e-5, .relative = 1.3e-6};
    case DType::f16: return {.absolute = 1e-5, .relative = 1e-3};
    case DType::bf16: return {.absolute = 1e-5, .relative = 1.6e-2};
    default: return {};
  }
}

Outcome expect_close(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  if (Outcome sizes = same_sizes(actual, expected); !sizes) return sizes;
  return Comparison(actual, expected, tolerance).outcome();
}

Outcome expect_close(const Tensor& actual, const Tensor& expected) {
  if (Outcome sizes = same_sizes(actual, expected); !sizes) return sizes;
  return expect_close(actual, expected, Tolerance::of(expected.dtype()));
}

Outcome expect_same_bits(const Tensor& actual, const Tensor& expected) {
  if (Outcome sizes = same_sizes(actual, expected); !sizes) return sizes;
  if (actual.dtype() != expected.dtype()) {
    return Outcome::fail(
        fmt::format("the tensor is {}, expected {}", type_text(actual), type_text(expected)));
  }
  const std::size_t size = dtype_size(expected.dtype());
  std::int64_t wrong = 0, first = -1;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    if (std::memcmp(actual.raw() + at, expected.raw() + at, size) == 0) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return Outcome::pass();
  const auto bits = [&](const Tensor& t) {
    std::string text = "0x";
    for (std::size_t b = size; b-- > 0;) {
      text += fmt::format(
          "{:02x}", std::to_integer<int>(t.raw()[static_cast<std::size_t>(first) * size + b]));
    }
    return text;
  };
  return Outcome::fail(fmt::format(
      "{} of {} elements of {} have different bits\n  first: {} is {} ({}), expected {} ({})",
      wrong, expected.numel(), type_text(expected), index_text(expected, first), actual.at(first),
      bits(actual), expected.at(first), bits(expected)));
}

}  // namespace weft::testing
