// Compares attention and all its gradients with the scalar model.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "weft/ops/op.h"
#include "weft/tests/reference/attention.h"
#include "weft/tests/samples/sample_data.h"

namespace weft::testing {

/// `tolerance` is relative to the largest magnitude in `expected`, or absolute if that is below 1.
inline void check_close(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                        const char* what) {
  BOOST_REQUIRE_EQUAL(static_cast<std::size_t>(actual.numel()), expected.size());
  double scale = 1;
  for (const double e : expected) {
    if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = actual.at(static_cast<std::int64_t>(i));
    if (a == expected[i]) continue;  // -inf
    BOOST_REQUIRE_MESSAGE(std::abs(a - expected[i]) <= tolerance * scale,
                          what << "[" << i << "] is " << a << ", expected " << expected[i]);
  }
}

/// Returns a copy of the rows of k or v that `rows`, [B] or [B, C], selects: [B, Hkv, Lk, D]. Rows
/// that do not exist are 0.
inline Tensor joined_rows(const Tensor& x, const Tensor& rows) {
  const std::int64_t columns = rows.rank() == 2 ? rows.size(1) : 1, heads = x.size(1);
  const std::int64_t keys = x.size(2);
  Tensor joined = Tensor::zeros(x.dtype(), {rows.size(0), heads, keys * columns, x.size(3)});
  const auto bytes = static_cast<std::size_t>(keys * x.size(3)) * dtype_size(x.dtype());
  for (std::int64_t n = 0; n < rows.numel() * heads; ++n) {
    const std::int64_t head = n % heads, at = n / heads, row = integer_at(rows, at);
    if (row < 0 || row >= x.size(0) || bytes == 0) continue;
    const std::int64_t to = (at / columns * heads + head) * columns + at % columns;
    std::memcpy(
        static_cast<std::byte*>(joined.mutable_raw()) + static_cast<std::size_t>(to) * bytes,
        static_cast<const std::byte*>(x.raw()) +
            static_cast<std::size_t>(row * heads + head) * bytes,
        bytes);
  }
  return joined;
}

/// Compares attention, its gradients and lse with the scalar model. `in` contains up to 16
/// operands. With kv_rows, the gradients are those for copies of the rows. With ring buffers, only
/// the outputs are compared.
inline void check_attention(std::vector<Tensor> in, const Attributes& attributes,
                            double tolerance) {
  in.resize(16);
  const auto out = evaluate_op(builtin_ops()->at("attention"), in, attributes);
  if (attributes.find("ring") != nullptr && attributes.dim("ring") != Dim(0)) {
    const auto r = reference_attention(in, attributes);
    check_close(out[0], r.out, tolerance, "out");
    check_close(out[1], r.lse, tolerance, "lse");
    return;
  }
  if (in[13].defined()) {
    for (const std::size_t i : {1, 2}) in[i] = joined_rows(in[i], in[13]);
    in[13] = Tensor();
    const auto copied = evaluate_op(builtin_ops()->at("attention"), in, attributes);
    BOOST_REQUIRE(bitwise_equal(out[0], copied[0]));
    BOOST_REQUIRE(bitwise_equal(out[1], copied[1]));
  }
  const Tensor g = sample_uniform(out[0].sizes(), 21).to(in[0].dtype());
  const Tensor g_lse = sample_uniform(out[1].sizes(), 22).to(in[0].dtype());
  std::vector<Tensor> grad_in = {g, out[0], out[1]};
  grad_in.insert(grad_in.end(), in.begin(), in.begin() + 13);
  grad_in.push_back(g_lse);
  grad_in.push_back(in[14]);
  grad_in.push_back(in[15]);
  const auto grads = evaluate_op(builtin_ops()->at("attention_grad"), grad_in, attributes);
  const auto r = reference_attention(in, attributes, g, g_lse);
  check_close(out[0], r.out, tolerance, "out");
  check_close(out[1], r.lse, tolerance, "lse");
  check_close(grads[0], r.dq, tolerance, "dq");
  check_close(grads[1], r.dk, tolerance, "dk");
  check_close(grads[2], r.dv, tolerance, "dv");
  check_close(grads[3], r.dbias, tolerance, "dbias");
  check_close(grads[4], r.doffset_bias, tolerance, "doffset_bias");
  check_close(grads[5], r.drow_bias, tolerance, "drow_bias");
  check_close(grads[6], r.dcol_bias, tolerance, "dcol_bias");
  BOOST_REQUIRE_EQUAL(grads.size(), in[14].defined() ? 8 : 7);
  if (in[14].defined()) check_close(grads[7], r.dsinks, tolerance, "dsinks");
}

/// Returns random q, k and v, and 13 absent operands.
inline std::vector<Tensor> attention_operands(std::int64_t b, std::int64_t h, std::int64_t hkv,
                                              std::int64_t lq, std::int64_t lk, std::int64_t d,
                                              std::int64_t dv) {
  std::vector<Tensor> in = {sample_uniform({b, h, lq, d}, 1), sample_uniform({b, hkv, lk, d}, 2),
                            sample_uniform({b, hkv, lk, dv}, 3)};
  in.resize(16);
  return in;
}

/// Returns the message of the data error of attention with these operands.
inline std::string attention_data_error(const std::vector<Tensor>& in, bool causal = true) {
  try {
    evaluate_op(builtin_ops()->at("attention"), in, {{"scale", 1.0}, {"causal", causal}});
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

inline Tensor ints(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace weft::testing
