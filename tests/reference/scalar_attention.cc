// Scalar models of attention and its gradient: tests/reference/attention.h together with data
// checks and error bounds for kernels.
#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/tests/reference/attention.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

Real largest_of(const Tensor& t) {
  Real m = 0;
  for (std::int64_t i = 0; t.defined() && i < t.numel(); ++i)
    m = std::max(m, std::fabs(static_cast<Real>(t.at(i))));
  return m;
}

struct Range {
  std::int64_t begin = 0, end = 0;
};

/// Returns the range of the keys that any query of a row sees, without the mask.
Range visible_keys(const std::vector<Tensor>& in, const Attributes& attributes, std::int64_t keys,
                   std::int64_t b) {
  const auto given = [&](std::size_t i) { return i < in.size() && in[i].defined(); };
  const std::int64_t queries = in[0].size(2), window = attributes.integer("window"),
                     chunk = attributes.integer("chunk");
  const std::int64_t start = given(11) ? integer_at(in[11], b) : keys - queries;
  const std::int64_t length = given(10) ? std::min(keys, integer_at(in[10], b)) : keys;
  Range range{keys, 0};
  for (std::int64_t i = 0; i < queries; ++i) {
    const auto p = static_cast<long double>(start) + static_cast<long double>(i);
    for (std::int64_t j = 0; j < length; ++j) {
      const long double distance = p - static_cast<long double>(j);
      if (attributes.flag("causal") && distance < 0) continue;
      if (window > 0 && std::fabs(distance) >= static_cast<long double>(window)) continue;
      if (chunk > 0 &&
          std::floor(p / static_cast<long double>(chunk)) != static_cast<long double>(j / chunk))
        continue;
      range = {std::min(range.begin, j), std::max(range.end, j + 1)};
    }
  }
  return range;
}

void check_data(const std::vector<Tensor>& in, const Attributes& attributes) {
  const auto given = [&](std::size_t i) { return i < in.size() && in[i].defined(); };
  const std::int64_t batch = in[0].size(0), queries = in[0].size(2), size = in[1].size(2);
  const Dim ring = attributes.dim("ring");
  const bool table = given(13) && in[13].rank() == 2;
  const std::int64_t keys = ring != Dim(0) ? ring.constant() : table ? size * in[13].size(1) : size;
  const auto require = [](bool legal, const char* what) {
    if (!legal) throw DataError(std::string("scalar model: ") + what);
  };
  if (given(15)) {
    const std::int64_t last = in[15].numel() - 1;
    require(last >= 0 && integer_at(in[15], 0) == 0 && integer_at(in[15], last) == queries,
            "the ends of the offsets");
    for (std::int64_t t = 0; t < last; ++t)
      require(integer_at(in[15], t) <= integer_at(in[15], t + 1), "descending offsets");
  }
  for (std::int64_t b = 0; b < batch; ++b) {
    if (given(13) && !table) {
      const std::int64_t row = element(in[13], b).integer;
      require(row >= 0 && row < in[1].size(0), "kv_rows");
    }
    if (given(10)) {
      const std::int64_t length = element(in[10], b).integer;
      require(length >= 0 && length <= keys, "lengths");
    }
    const Range visible = visible_keys(in, attributes, keys, b);
    if (ring != Dim(0) && size < keys && visible.begin < visible.end) {
      require(integer_at(in[10], b) - visible.begin <= size, "a ring buffer");
    }
    for (std::int64_t j = visible.begin; table && j < visible.end; ++j) {
      const std::int64_t row = integer_at(in[13], b * in[13].size(1) + j / size);
      require(row >= 0 && row < in[1].size(0), "kv_rows");
    }
    if (!given(11)) continue;
    const std::int64_t start = element(in[11], b).integer;
    require(start >= 0, "q_start is negative");
    if (attributes.flag("causal")) require(start <= keys - queries, "cache overflow");
    if (given(5) && queries > 0)
      require(start <= in[5].size(1) - (queries - 1 + keys), "offset_bias is too short");
  }
  for (const std::size_t index : {std::size_t{7}, std::size_t{9}}) {
    if (!given(index)) continue;
    for (std::int64_t n = 0; n < in[index].numel(); ++n) {
      const std::int64_t i = element(in[index], n).integer;
      require(i >= 0 && i < in[index - 1].size(3), "an index");
    }
  }
}

/// Returns the relative error of a probability, caused by the errors of the score in the
/// exponential and of the sum.
Real probability_error(const std::vector<Tensor>& in, const Attributes& attributes, DType dtype,
                       Precision precision) {
  const Real depth = static_cast<Real>(in[0].size(3)), keys = static_cast<Real>(in[1].size(2));
  const Real product = depth * largest_of(in[0]) * largest_of(in[1]) *
                       std::fabs(static_cast<Real>(attributes.real("scale")));
  Real score = product;
  for (const std::size_t bias : {3, 5, 6, 8}) {
    if (bias < in.size()) score += largest_of(in[bias]);
  }
  const Real inexact = precision_error(precision, dtype);
  return epsilon(dtype) * (32 + 4 * score + 2 * std::sqrt(keys)) + 2 * inexact * (1 + product);
}

void fill(NumberTensor& out, const std::vector<double>& values, Real error) {
  for (std::size_t i = 0; i < out.elements.size() && i < values.size(); ++i) {
    out.elements[i] = number_of(values[i]);
    // The lse of a query without visible keys is -inf. Numbers out of range may have any value.
    const bool known = std::isfinite(error) && error < 1e15L && !std::isnan(values[i]);
    out.elements[i].error = !known ? kAnyValue : std::isfinite(values[i]) ? error : 0;
  }
}

Real kept(const Attributes& attributes) {
  return 1 / (1 - static_cast<Real>(attributes.real("dropout")));
}

void forward(const ScalarCall& call, std::vector<NumberTensor>& out) {
  check_data(call.in, call.attributes);
  const ReferenceAttention r = reference_attention(call.in, call.attributes);
  const Real relative = probability_error(call.in, call.attributes, out[0].dtype, call.precision);
  fill(out[0], r.out, relative * largest_of(call.in[2]) * kept(call.attributes));
  fill(out[1], r.lse, relative);
}

void backward(const ScalarCall& call, std::vector<NumberTensor>& out) {
  std::vector<Tensor> in(
      call.in.begin() + 3,
      call.in.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(16, call.in.size())));
  in.resize(16);
  if (call.has(17)) in[14] = call.in[17];
  if (call.has(18)) in[15] = call.in[18];
  check_data(in, call.attributes);
  const Tensor g_lse = call.has(16) ? call.in[16] : Tensor();
  const ReferenceAttention r =
      reference_attention(in, call.attributes, call.in[0], g_lse, call.in[1], call.in[2]);
  // If the given lse does not match these scores, the resulting probabilities can have any
  // magnitude.
  Real share = 1;
  const ReferenceAttention f = reference_attention(in, call.attributes);
  for (std::size_t i = 0; i < f.lse.size(); ++i) {
    const Real given = call.in[2].at(static_cast<std::int64_t>(i));
    if (std::isfinite(f.lse[i]) && std::isfinite(given))
      share = std::max(share, std::exp(static_cast<Real>(f.lse[i]) - given));
  }
  // Such probabilities can overflow in the kernel, and infinity times zero is NaN.
  if (share > 1e15L) share = INFINITY;
  const Real relative = probability_error(in, call.attributes, out[0].dtype, call.precision) +
                        epsilon(out[0].dtype) * largest_of(call.in[2]);
  const Real cotangent = largest_of(call.in[0]), depth = static_cast<Real>(in[2].size(3));
  const Real values = std::max(largest_of(in[2]) * kept(call.attributes), largest_of(call.in[1]));
  const Real ds = share * (2 * depth * cotangent * values + largest_of(g_lse));
  const Real scale = std::fabs(static_cast<Real>(call.attributes.real("scale")));
  const Real queries = static_cast<Real>(in[0].size(2) * in[0].size(1));
  const Real error = 2 * relative * ds;
  fill(out[0], r.dq, error * scale * largest_of(in[1]));
  fill(out[1], r.dk, error * scale * largest_of(in[0]) * queries);
  fill(out[2], r.dv, 2 * relative * share * cotangent * kept(call.attributes) * queries);
  const Real rows = queries * static_cast<Real>(in[0].size(0));
  fill(out[3], r.dbias, error * rows);
  fill(out[4], r.doffset_bias, error * rows);
  fill(out[5], r.drow_bias, error);
  fill(out[6], r.dcol_bias, error * queries);
  if (call.has(17)) fill(out[7], r.dsinks, error * rows);
}

// Keys and values may be rows of int8.
void narrow(const ScalarCall& call, std::vector<NumberTensor>& out) {
  std::vector<Tensor> in = call.in;
  for (const std::size_t i : {1, 2}) {
    if (in[i].dtype() == DType::i8) in[i] = to_tensor(unpacked_int8_rows(in[i]));
  }
  within_reach(forward)({call.op, in, call.attributes, call.precision}, out);
}

}  // namespace

void add_attention_models(ScalarModels& models) {
  models["attention"] = within_reach(forward);
  models["attention_narrow"] = narrow;
  models["attention_grad"] = models["attention_grad_narrow"] = within_reach(backward);
}

}  // namespace weft::testing
