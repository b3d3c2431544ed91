// Fourier transforms, windows and filter banks.
#include <cmath>
#include <functional>
#include <numbers>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kLargestBank = std::int64_t{1} << 26;
constexpr double kTurn = 2 * std::numbers::pi;

// Returns a value as a constant if it is known, so that tables are not computed in every run.
Value as_constant(NodeImport& n, Value v) {
  const auto known = n.known(v);
  return known ? n.graph().constant(*known) : v;
}

// A complex tensor. `im` may be undefined if it is 0.
struct Complex {
  Value re, im;
};

Complex complex_product(const Complex& x, const Complex& y, Value (*product)(Value, Value)) {
  if (!x.im.defined()) return {product(x.re, y.re), product(x.re, y.im)};
  return {product(x.re, y.re) - product(x.im, y.im), product(x.re, y.im) + product(x.im, y.re)};
}

// Returns exp(sign * 2 pi i j k / length) for 0 <= j < rows, 0 <= k < columns.
Complex roots_of_unity(NodeImport& n, const Dim& rows, const Dim& columns, const Dim& length,
                       double sign, DType dtype) {
  Graph& graph = n.graph();
  const Shape shape{rows, columns};
  const Value size = dim_value(graph, length);
  // The product modulo the length is exact, unlike the angle of the product.
  const Value product = iota(graph, shape, 0) * iota(graph, shape, 1);
  const Value rest = cast(product - product / size * size, DType::f64);
  const Value angles = rest * (sign * kTurn) / cast(size, DType::f64);
  return {as_constant(n, cast(cos(angles), dtype)), as_constant(n, cast(sin(angles), dtype))};
}

// Returns the largest divisor of a constant length that is at most its square root, or 1. Short
// transforms are cheaper as one product.
std::int64_t short_factor(const Dim& length) {
  if (!length.is_constant() || length.constant() <= 64) return 1;
  std::int64_t factor = 1;
  for (std::int64_t i = 2; i <= length.constant() / i; ++i) {
    if (length.constant() % i == 0) factor = i;
  }
  return factor;
}

Complex map_parts(const Complex& x, const std::function<Value(Value)>& function) {
  return {function(x.re), x.im.defined() ? function(x.im) : Value()};
}

// Discrete Fourier transform along the last axis: a product with a matrix of roots of unity. A long
// transform of length a * b is computed as transforms of length a and b (Cooley and Tukey 1965).
Complex fourier_transform(NodeImport& n, const Complex& x, double sign) {
  const Dim length = x.re.size(-1);
  const DType dtype = x.re.dtype();
  const std::int64_t factor = short_factor(length);
  if (factor == 1) {
    return complex_product(x, roots_of_unity(n, length, length, length, sign, dtype),
                           [](Value a, Value b) { return matmul(a, b); });
  }
  const std::int64_t other = length.constant() / factor;
  const auto split = [&](Value v) {
    Shape shape = v.shape();
    shape[shape.rank() - 1] = factor;
    shape.push_back(other);
    return transpose(reshape(v, shape));  // [..., other, factor]
  };
  const auto swapped = [](Value v) { return transpose(v); };
  Complex y = fourier_transform(n, map_parts(x, split), sign);
  y = complex_product(y, roots_of_unity(n, other, factor, length, sign, dtype),
                      [](Value a, Value b) { return a * b; });
  y = fourier_transform(n, map_parts(y, swapped), sign);
  return map_parts(y, [&](Value v) { return reshape(transpose(v), x.re.shape()); });
}

struct TransformOptions {
  bool inverse = false;
  bool one_sided = false;  // the first half of the frequencies
};

// Transforms x [..., length, 1 or 2], whose last axis contains real and imaginary parts ->
// [..., frequencies, 2].
Value transformed(NodeImport& n, Value x, const TransformOptions& options) {
  const Dim length = x.size(-2);
  const bool real = x.size(-1) == Dim(1);
  if (!real && x.size(-1) != Dim(2)) n.unsupported("numbers of " + x.size(-1).str() + " parts");
  const Complex parts{select(x, -1, 0), real ? Value() : select(x, -1, 1)};
  const Complex y = fourier_transform(n, parts, options.inverse ? 1 : -1);
  Value result = stack({y.re, y.im}, -1);
  if (options.one_sided) result = slice(result, -2, {.end = floor_div(length, 2) + 1});
  return options.inverse ? result / dim_value(n.graph(), length, x.dtype()) : result;
}

// Truncates an axis or pads it with zeros.
Value with_length(Value x, int axis, const Dim& length) {
  const Dim size = x.size(axis);
  if (size == length) return x;
  if (Dim::provably_le(length, size)) return slice(x, axis, {.end = length});
  std::vector<std::pair<Dim, Dim>> pads(static_cast<std::size_t>(x.rank()));
  pads[static_cast<std::size_t>(axis)].second = length - size;
  return pad(x, pads);
}

std::vector<ImportedValue> discrete_fourier_transform(NodeImport& n) {
  const Value x = widened(n.input(0));
  const int rank = x.rank();
  const int axis = n.opset() < 20 ? n.axis("axis", 1, rank)
                                  : n.normalised_axis(n.has(2) ? n.known_integer(2) : -2, rank);
  const TransformOptions options{.inverse = n.flag("inverse"), .one_sided = n.flag("onesided")};
  if (options.inverse && options.one_sided) n.unsupported("inverse and onesided together");
  if (axis == rank - 1) n.unsupported("the axis of real and imaginary parts as axis");
  Value y = n.has(1) ? with_length(x, axis, n.size(1)) : x;
  if (axis != rank - 2) y = transpose(y, axis, -2);
  y = transformed(n, y, options);
  return {cast(axis != rank - 2 ? transpose(y, axis, -2) : y, n.input(0).dtype())};
}

// Transforms overlapping frames of a signal [batch, length, 1 or 2].
std::vector<ImportedValue> short_time_fourier_transform(NodeImport& n) {
  Value x = widened(n.input(0));
  if (x.rank() == 2) x = unsqueeze(x, -1);
  const std::int64_t step = n.known_integer(1);
  const Value window = n.has(2) ? cast(n.buffer(2), x.dtype()) : Value();
  if (step < 1) n.unsupported("frame_step = " + std::to_string(step));
  const Dim length = n.has(3) ? n.size(3) : window.defined() ? window.size(0) : x.size(1);
  const bool one_sided = n.flag("onesided", true);
  const Dim frames = floor_div(x.size(1) - length, step) + 1;
  const Shape shape{frames, length};
  const Value index = iota(n.graph(), shape, 0) * step + iota(n.graph(), shape, 1);
  Value y = take(x, index, 1);  // [batch, frames, length, 1 or 2]
  if (window.defined()) y = y * unsqueeze(window, -1);
  y = transformed(n, y, {.one_sided = one_sided});
  return {cast(y, n.input(0).dtype())};
}

// Windows: sums of cosines. The coefficients are those of cos(2 pi k i / size).
std::vector<ImportedValue> cosine_window(NodeImport& n,
                                         std::initializer_list<double> coefficients) {
  const Dim size = n.size(0);
  const bool periodic = n.flag("periodic", true);
  const DType dtype = dtype_attribute(n, "output_datatype", DType::f32);
  const Value angles = arange(n.graph(), size, DType::f64) * kTurn /
                       dim_value(n.graph(), periodic ? size : max(size - 1, 1), DType::f64);
  Value window = zeros_like(angles);
  int k = 0;
  for (const double coefficient : coefficients) window = window + coefficient * cos(angles * k++);
  return {as_constant(n, cast(window, dtype))};
}

std::vector<ImportedValue> hann_window(NodeImport& n) { return cosine_window(n, {0.5, -0.5}); }

std::vector<ImportedValue> hamming_window(NodeImport& n) {
  return cosine_window(n, {25.0 / 46, -21.0 / 46});
}

std::vector<ImportedValue> blackman_window(NodeImport& n) {
  return cosine_window(n, {0.42, -0.5, 0.08});
}

// Triangular filters whose corners are equally spaced on the mel scale [frequencies, filters].
std::vector<ImportedValue> mel_weight_matrix(NodeImport& n) {
  const std::int64_t filters = n.known_integer(0), length = n.known_integer(1);
  const auto sample_rate = static_cast<double>(n.known_integer(2));
  const double lowest = n.known_real(3), highest = n.known_real(4);
  const DType dtype = dtype_attribute(n, "output_datatype", DType::f32);
  const std::int64_t frequencies = length / 2 + 1;
  if (filters < 1 || length < 1 || sample_rate < 1) n.unsupported("sizes below 1");
  if (frequencies > kLargestBank / filters) n.unsupported("more than 2^26 weights");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(lowest),
               distance = (mel(highest) - low) / static_cast<double>(filters + 2);
  const auto corner = [&](std::int64_t i) {
    const double hertz = 700 * (std::pow(10, (low + distance * static_cast<double>(i)) / 2595) - 1);
    const double frequency = std::floor(static_cast<double>(length + 1) * hertz / sample_rate);
    if (!(std::abs(frequency) < 0x1p53)) n.unsupported("edges out of range");
    return static_cast<std::int64_t>(frequency);
  };
  Tensor weights = Tensor::zeros(DType::f64, {frequencies, filters});
  double* data = weights.mutable_data<double>();
  for (std::int64_t i = 0; i < filters; ++i) {
    const std::int64_t begin = corner(i), centre = corner(i + 1), end = corner(i + 2);
    for (std::int64_t j = std::max<std::int64_t>(begin, 0); j < std::min(end, frequencies); ++j) {
      const std::int64_t distance_to_corner = j < centre ? j - begin : end - j;
      const std::int64_t width = j < centre ? centre - begin : end - centre;
      data[j * filters + i] = static_cast<double>(distance_to_corner) / static_cast<double>(width);
    }
    if (centre >= 0 && centre < frequencies) data[centre * filters + i] = 1;
  }
  return {as_constant(n, cast(n.graph().constant(std::move(weights)), dtype))};
}

constexpr Operator kSignals[] = {
    {"DFT", 17, discrete_fourier_transform}, {"STFT", 17, short_time_fourier_transform},
    {"HannWindow", 17, hann_window},         {"HammingWindow", 17, hamming_window},
    {"BlackmanWindow", 17, blackman_window}, {"MelWeightMatrix", 17, mel_weight_matrix},
};

}  // namespace

std::span<const Operator> signal_operators() { return kSignals; }

}  // namespace weft::onnx
