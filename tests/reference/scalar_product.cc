// Scalar models of matrix products: plain products, products fused with elementwise steps, and
// products with quantised weights and activations.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "weft/core/error.h"
#include "weft/ops/quantized/quantized.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

/// Returns true if partial sums of terms with this total magnitude can overflow.
bool overflows(Real magnitude, DType dtype) { return dtype == DType::f32 && !(magnitude < 1e38L); }

Tensor magnitudes(const Tensor& t) {
  Tensor m = t.to(DType::f64).clone();
  for (std::int64_t i = 0; i < m.numel(); ++i) m.mutable_data<double>()[i] = std::fabs(t.at(i));
  return m;
}

/// Computes the product a b with the error bound of a sum of k terms.
void multiply(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
              Precision precision, NumberTensor& out) {
  const Tensor product = reference_matmul(a, b, transpose_a, transpose_b);
  const Tensor magnitude = reference_matmul(magnitudes(a), magnitudes(b), transpose_a, transpose_b);
  const Real k = static_cast<Real>(a.size(transpose_a ? -2 : -1));
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const Real m = magnitude.at(i);
    Number& n = out.elements[static_cast<std::size_t>(i)];
    n = approximate(product.at(i), 4 + 2 * std::sqrt(k), m, out.dtype);
    n.error += precision_error(precision, out.dtype) * m;
    if (overflows(m, out.dtype)) n.error = kAnyValue;
  }
}

void matmul(const ScalarCall& call, std::vector<NumberTensor>& out) {
  multiply(call.in[0], call.in[1], call.attributes.flag("transpose_a"),
           call.attributes.flag("transpose_b"), call.precision, out[0]);
}

/// Calls body(group, first row, end row) for every group.
template <class Body>
void for_each_group(const Tensor& sizes, std::int64_t rows, const Body& body) {
  std::int64_t begin = 0;
  for (std::int64_t group = 0; group < sizes.numel(); ++group) {
    const std::int64_t size = element(sizes, group).integer;
    if (size < 0 || size > rows - begin) throw DataError("scalar model: bad group size");
    body(group, begin, begin + size);
    begin += size;
  }
}

/// Returns an f64 copy of consecutive elements.
Tensor part(const Tensor& t, std::int64_t first, Sizes sizes) {
  Tensor copy = Tensor::zeros(DType::f64, std::move(sizes));
  for (std::int64_t i = 0; i < copy.numel(); ++i) copy.mutable_data<double>()[i] = t.at(first + i);
  return copy;
}
Tensor rows_of(const Tensor& t, std::int64_t begin, std::int64_t end) {
  return part(t, begin * t.size(1), {end - begin, t.size(1)});
}

/// Computes the product of one group and stores it in `out`, starting with row `first_row`.
void multiply_group(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
                    Precision precision, std::int64_t first_row, NumberTensor& out) {
  NumberTensor product{out.dtype, {a.size(transpose_a ? 1 : 0), b.size(transpose_b ? 0 : 1)}, {}};
  product.elements.resize(static_cast<std::size_t>(product.sizes[0] * product.sizes[1]));
  multiply(a, b, transpose_a, transpose_b, precision, product);
  std::copy(product.elements.begin(), product.elements.end(),
            out.elements.begin() + first_row * product.sizes[1]);
}

void grouped_matmul(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor &x = call.in[0], &w = call.in[1];
  for_each_group(call.in[2], x.size(0), [&](std::int64_t e, std::int64_t begin, std::int64_t end) {
    const Sizes sizes = {w.size(1), w.size(2)};
    multiply_group(rows_of(x, begin, end), part(w, e * num_elements(sizes), sizes), false,
                   call.attributes.flag("transpose_w"), call.precision, begin, out[0]);
  });
}

void grouped_outer(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor &a = call.in[0], &b = call.in[1];
  for_each_group(call.in[2], a.size(0), [&](std::int64_t e, std::int64_t begin, std::int64_t end) {
    multiply_group(rows_of(a, begin, end), rows_of(b, begin, end), true, false, call.precision,
                   e * a.size(1), out[0]);
  });
}

/// Applies the steps of an epilogue to out[0]. Their operands start at index `first`.
void matmul_fused(const ScalarCall& call, std::vector<NumberTensor>& out) {
  matmul(call, out);
  scalar_epilogue(call, 2, out);
}

/// Returns the integer of weight W[i][j], stored in the layout that ops/quantized/quantized.h
/// defines.
std::int64_t weight_level(const Tensor& q, std::int64_t inputs, std::int64_t i, std::int64_t j) {
  const std::int64_t panel = j / kQuantizedPanel, lane = j % kQuantizedPanel;
  if (q.dtype() == DType::i8) {
    const std::int64_t blocks = (inputs + 3) / 4;
    return element(q, ((panel * blocks + i / 4) * kQuantizedPanel + lane) * 4 + i % 4).integer;
  }
  const std::int64_t groups = (inputs + kQuantizedGroup - 1) / kQuantizedGroup;
  const std::int64_t at = ((panel * 4 * groups + i / 8) * kQuantizedPanel + lane) * 4 + i % 8 / 2;
  const std::int64_t byte = element(q, at).integer;
  const std::int64_t half = i % 2 == 0 ? byte & 15 : byte >> 4;
  return half >= 8 ? half - 16 : half;
}

/// Returns the scale of weight W[i][j].
Real weight_scale(const Tensor& scale, std::int64_t inputs, std::int64_t i, std::int64_t j) {
  const std::int64_t panel = j / kQuantizedPanel, lane = j % kQuantizedPanel;
  if (scale.dtype() != DType::f16) return element(scale, panel * kQuantizedPanel + lane).value;
  const std::int64_t groups = (inputs + kQuantizedGroup - 1) / kQuantizedGroup;
  return element(scale, (panel * groups + i / kQuantizedGroup) * kQuantizedPanel + lane).value;
}

Real weight(const Tensor& q, const Tensor& scale, std::int64_t inputs, std::int64_t i,
            std::int64_t j) {
  return static_cast<Real>(weight_level(q, inputs, i, j)) * weight_scale(scale, inputs, i, j);
}

/// Returns the position of output j of a matrix in a stack. The panels of all matrices follow one
/// another.
std::int64_t stacked_output(std::int64_t matrix, std::int64_t outputs, std::int64_t j) {
  return matrix * ((outputs + kQuantizedPanel - 1) / kQuantizedPanel) * kQuantizedPanel + j;
}

void dequantize(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t inputs = call.attributes.integer("inputs");
  const std::int64_t outputs = call.attributes.integer("outputs");
  const bool transposed = call.attributes.flag("transposed");
  const std::int64_t matrices = call.in[0].rank() == 5 ? call.in[0].size(0) : 1;
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      for (std::int64_t j = 0; j < outputs; ++j) {
        const std::int64_t at = transposed ? j * inputs + i : i * outputs + j;
        out[0].elements[static_cast<std::size_t>(matrix * inputs * outputs + at)] = number_of(
            weight(call.in[0], call.in[1], inputs, i, stacked_output(matrix, outputs, j)));
      }
    }
  }
}

void quantized_take(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t inputs = call.attributes.integer("inputs");
  const std::int64_t outputs = call.attributes.integer("outputs");
  for (std::int64_t row = 0; row < call.in[2].numel(); ++row) {
    const std::int64_t j = element(call.in[2], row).integer;
    if (j < 0 || j >= outputs) throw DataError("scalar model: index out of range");
    for (std::int64_t i = 0; i < inputs; ++i) {
      out[0].elements[static_cast<std::size_t>(row * inputs + i)] =
          number_of(weight(call.in[0], call.in[1], inputs, i, j));
    }
  }
}

/// Computes rows [begin, end) of a product with one matrix of a stack.
void multiply_quantized(const ScalarCall& call, std::int64_t matrix, std::int64_t begin,
                        std::int64_t end, std::vector<NumberTensor>& out) {
  const Tensor& x = call.in[0];
  const bool transpose = call.attributes.flag("transpose");
  // The sizes of the product. For transposed weights, the sizes of the stored matrix are swapped.
  const std::int64_t inputs = x.size(-1), outputs = call.attributes.integer("outputs");
  for (std::int64_t r = begin; r < end; ++r) {
    Real extreme = 0;
    for (std::int64_t i = 0; i < inputs; ++i)
      extreme = std::max(extreme, std::fabs(static_cast<Real>(x.at(r * inputs + i))));
    for (std::int64_t j = 0; j < outputs; ++j) {
      Real sum = 0, magnitude = 0, absolute = 0;
      for (std::int64_t i = 0; i < inputs; ++i) {
        const Real w =
            transpose
                ? weight(call.in[1], call.in[2], outputs, j, stacked_output(matrix, inputs, i))
                : weight(call.in[1], call.in[2], inputs, i, stacked_output(matrix, outputs, j));
        sum += x.at(r * inputs + i) * w;
        absolute += std::fabs(x.at(r * inputs + i) * w);
        // If there are few rows, each row is quantised to bytes with a single scale
        // (quantized_dot.h), so its largest element determines the error.
        magnitude += extreme * std::fabs(w);
      }
      Number& n = out[0].elements[static_cast<std::size_t>(r * outputs + j)];
      n = approximate(sum, 4 + 2 * std::sqrt(static_cast<Real>(inputs)), magnitude, out[0].dtype);
      // With many rows, the precision of the program determines how activations are rounded.
      n.error += precision_error(call.precision, out[0].dtype) * absolute;
      // Sums of quantised steps can overflow before they are multiplied by their scale, and partial
      // sums of products with large scales can overflow to opposite infinities, whose sum is NaN.
      const Real steps = 128 * extreme * static_cast<Real>(inputs);
      const DType dtype = out[0].dtype;
      if (std::isfinite(extreme) && (overflows(steps, dtype) || overflows(magnitude, dtype)))
        n.error = kAnyValue;
    }
  }
}

void quantized_matmul(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t outputs = call.attributes.integer("outputs");
  multiply_quantized(call, 0, 0, outputs == 0 ? 0 : out[0].numel() / outputs, out);
}

void quantized_grouped_matmul(const ScalarCall& call, std::vector<NumberTensor>& out) {
  for_each_group(call.in[3], call.in[0].size(0),
                 [&](std::int64_t group, std::int64_t begin, std::int64_t end) {
                   multiply_quantized(call, group, begin, end, out);
                 });
}

void quantized_matmul_fused(const ScalarCall& call, std::vector<NumberTensor>& out) {
  quantized_matmul(call, out);
  scalar_epilogue(call, 3, out);
}

// -- Rows of bytes --------------------------------------------------------------------------------

/// A row of integers and their step, in the arithmetic of T, which is the dtype of x.
template <class T>
struct ByteRow {
  T step = 0;
  std::vector<int> levels;
};
template <class T>
ByteRow<T> byte_row(const ScalarCall& call, std::int64_t row) {
  const std::int64_t n = call.in[0].size(-1);
  const T* x = call.in[0].data<T>() + row * n;
  bool nan = false;
  T most = 0;
  for (std::int64_t i = 0; i < n; ++i) nan = nan || std::isnan(x[i]);
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::fabs(x[i]));
  T step = most / 127, inverse = 127 / most;
  if (call.has(1)) {
    step = call.in[1].data<T>()[0], inverse = 1 / step;
    nan = nan || !(step >= T(0x1p-100) && step <= T(0x1p100));
  } else if (std::isinf(most)) {
    nan = true;
  } else if (most < T(0x1p-100)) {
    step = inverse = 0;
  }
  ByteRow<T> result{nan ? T(NAN) : step, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    const T level = nan ? 0 : std::nearbyint(std::clamp<T>(x[i] * inverse, -127, 127));
    result.levels.push_back(static_cast<int>(level));
  }
  return result;
}

template <class T>
void fake_quantize_as(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t n = call.in[0].size(-1);
  for (std::int64_t row = 0; row * n < out[0].numel(); ++row) {
    const ByteRow<T> bytes = byte_row<T>(call, row);
    for (std::int64_t i = 0; i < n; ++i) {
      out[0].elements[static_cast<std::size_t>(row * n + i)] =
          number_of(static_cast<Real>(bytes.step) * bytes.levels[static_cast<std::size_t>(i)]);
    }
  }
}
void fake_quantize(const ScalarCall& call, std::vector<NumberTensor>& out) {
  call.in[0].dtype() == DType::f32 ? fake_quantize_as<float>(call, out)
                                   : fake_quantize_as<double>(call, out);
}

void quantize_rows(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t n = call.in[0].size(-1);
  for (std::int64_t row = 0; row < out[1].numel(); ++row) {
    const ByteRow<float> bytes = byte_row<float>(call, row);
    out[1].elements[static_cast<std::size_t>(row)] = number_of(bytes.step);
    for (std::int64_t i = 0; i < n; ++i) {
      out[0].elements[static_cast<std::size_t>(row * n + i)] =
          number_of_integer(bytes.levels[static_cast<std::size_t>(i)]);
    }
  }
}

void pack_int8_rows(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t size = call.in[0].size(-1), rows = out[0].numel() / (size + 4);
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto [scale, levels] = byte_row<float>(call, r);
    Number* to = out[0].elements.data() + r * (size + 4);
    for (std::int64_t i = 0; i < size; ++i)
      to[i] = number_of_integer(levels[static_cast<std::size_t>(i)]);
    std::array<std::int8_t, 4> bytes;
    std::memcpy(bytes.data(), &scale, 4);
    for (std::size_t i = 0; i < 4; ++i) {
      Number& n = to[size + static_cast<std::int64_t>(i)];
      n = number_of_integer(bytes[i]);
      if (std::isnan(scale)) n.error = kAnyValue;  // all NaNs are equal
    }
  }
}

void integer_matmul(const ScalarCall& call, std::vector<NumberTensor>& out);

/// Multiplies the windows of images as rows.
void integer_conv(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor& images = call.in[0];
  const Attributes& a = call.attributes;
  const auto &kernel = a.integers("kernel"), &stride = a.integers("stride");
  const auto &padding = a.integers("padding"), &dilation = a.integers("dilation");
  const std::int64_t height = images.size(1), width = images.size(2), channels = images.size(3);
  const std::int64_t out_height = out[0].sizes[1], out_width = out[0].sizes[2];
  const std::int64_t inputs = kernel[0] * kernel[1] * channels;
  Tensor rows = Tensor::empty(DType::i8, {out[0].sizes[0], out_height, out_width, inputs});
  for (std::int64_t at = 0; at < rows.numel(); ++at) {
    const std::int64_t row = at / inputs, c = at % channels, tap = at % inputs / channels;
    const std::int64_t y =
        row / out_width % out_height * stride[0] - padding[0] + tap / kernel[1] * dilation[0];
    const std::int64_t x = row % out_width * stride[1] - padding[1] + tap % kernel[1] * dilation[1];
    const std::int64_t n = row / out_width / out_height;
    const bool inside = y >= 0 && y < height && x >= 0 && x < width;
    std::int64_t level = call.has(4) ? element(call.in[4], 0).integer : 0;
    if (inside) level = element(images, ((n * height + y) * width + x) * channels + c).integer;
    rows.mutable_data<std::int8_t>()[at] = static_cast<std::int8_t>(level);
  }
  std::vector<Tensor> operands(call.in.begin(), call.in.end());
  operands[0] = rows;
  integer_matmul(
      {.op = call.op,
       .in = operands,
       .attributes = {{"outputs", a.integer("outputs")}, {"kernel", std::vector<std::int64_t>()}}},
      out);
}

/// Computes the bits that the record specifies: exact sums, and single roundings of float.
void integer_matmul(const ScalarCall& call, std::vector<NumberTensor>& out) {
  if (!call.attributes.integers("kernel").empty()) return integer_conv(call, out);
  const Tensor& levels = call.in[0];
  const Tensor scale = call.has(3) ? call.in[3] : Tensor();
  const std::int64_t inputs = levels.size(-1), outputs = call.attributes.integer("outputs");
  const bool grouped = call.has(3) && scale.dtype() == DType::f16;
  const std::int64_t zero = call.has(4) ? element(call.in[4], 0).integer : 0;
  for (std::int64_t at = 0; at < out[0].numel() && inputs > 0; ++at) {
    const std::int64_t r = at / outputs, j = at % outputs;
    const float step = call.has(1) ? call.in[1].data<float>()[r] : 1;
    float total = 0;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < inputs; ++i) {
      const std::int64_t level = element(levels, r * inputs + i).integer - zero;
      sum += level * weight_level(call.in[2], inputs, i, j);
      const bool last = i + 1 == inputs || (i + 1) % kQuantizedGroup == 0;
      if (!grouped || !last) continue;
      const float part =
          static_cast<float>(sum) * static_cast<float>(weight_scale(scale, inputs, i, j));
      total += part;
      sum = 0;
    }
    if (!call.has(3)) {
      out[0].elements[static_cast<std::size_t>(at)] = number_of_integer(sum);
      continue;
    }
    const float product = static_cast<float>(sum) * step;
    const float y =
        grouped ? total * step : product * static_cast<float>(weight_scale(scale, inputs, 0, j));
    out[0].elements[static_cast<std::size_t>(at)] = number_of(y);
  }
}

void integer_matmul_fused(const ScalarCall& call, std::vector<NumberTensor>& out) {
  integer_matmul(call, out);
  scalar_epilogue(call, 5, out);
  if (!call.attributes.flag("quantize")) return;
  Tensor first = Tensor::empty(DType::f32, out[1].sizes);
  for (std::int64_t i = 0; i < first.numel(); ++i) {
    const Number& n = out[1].elements[static_cast<std::size_t>(i)];
    first.mutable_data<float>()[i] = static_cast<float>(n.value);
  }
  const std::vector<Tensor> operands = {first, Tensor()};
  std::vector<NumberTensor> rounded(out.end() - 2, out.end());
  quantize_rows({.op = call.op, .in = operands, .attributes = {}}, rounded);
  std::move(rounded.begin(), rounded.end(), out.end() - 2);
}

}  // namespace

NumberTensor unpacked_int8_rows(const Tensor& packed) {
  Sizes sizes = packed.sizes();
  const std::int64_t width = sizes.back(), size = width - 4, rows = packed.numel() / width;
  sizes.back() = size;
  NumberTensor result{DType::f32, sizes, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int8_t* row = packed.data<std::int8_t>() + r * width;
    float scale = 0;
    std::memcpy(&scale, row + size, 4);
    for (std::int64_t i = 0; i < size; ++i)
      result.elements.push_back(number_of(static_cast<Real>(row[i]) * scale));
  }
  return result;
}

void scalar_epilogue(const ScalarCall& call, std::size_t first, std::vector<NumberTensor>& out) {
  const std::string& text = call.attributes.text("program");
  std::vector<TileOperand> operands = {{out[0], {}}};
  // A product is rounded to its dtype before the steps.
  for (Number& n : operands[0].numbers.elements) {
    n = with_rounding(rounded(n, out[0].dtype), out[0].dtype);
  }
  for (std::size_t i = first; i < call.in.size(); ++i) {
    if (!call.has(i)) continue;
    // A key is an i64 operand with sizes [2], independent of the steps.
    const bool key = call.in[i].dtype() == DType::i64 && call.in[i].sizes() == Sizes{2};
    NumberTensor numbers{call.in[i].dtype(), key ? Sizes{} : call.in[i].sizes(), {}};
    for (std::int64_t k = 0; k < call.in[i].numel(); ++k) {
      numbers.elements.push_back(element(call.in[i], k));
    }
    operands.push_back({std::move(numbers), key ? call.in[i] : Tensor()});
  }
  auto results = scalar_tile_program(text, operands, out[0].sizes);
  for (std::size_t r = 0; r < results.size(); ++r) out[r + 1].elements = std::move(results[r]);
}

void add_product_models(ScalarModels& models) {
  models["matmul"] = matmul;
  models["grouped_matmul"] = grouped_matmul;
  models["grouped_outer"] = grouped_outer;
  models["matmul_fused"] = matmul_fused;
  models["fake_quantize"] = fake_quantize;
  models["quantize_rows"] = quantize_rows;
  models["integer_matmul"] = integer_matmul;
  models["integer_matmul_fused"] = integer_matmul_fused;
  models["dequantize"] = dequantize;
  models["quantized_take"] = quantized_take;
  models["pack_int8_rows"] = pack_int8_rows;
  models["unpack_int8_rows"] = [](const ScalarCall& call, std::vector<NumberTensor>& out) {
    out[0] = unpacked_int8_rows(call.in[0]);
  };
  models["quantized_matmul"] = quantized_matmul;
  models["quantized_grouped_matmul"] = quantized_grouped_matmul;
  models["quantized_matmul_fused"] = quantized_matmul_fused;
}

}  // namespace weft::testing
