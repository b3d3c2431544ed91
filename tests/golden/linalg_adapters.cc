// Adapters for the linear algebra golden cases.
#include "op_adapters.h"

namespace weft::golden {
namespace {

Value eye_mask(const Value& square) {
  const Dim& n = square.shape()[square.rank() - 1];
  Graph& g = square.graph();
  return equal(iota(g, {n, n}, 0), iota(g, {n, n}, 1));
}

// Returns the positive definite matrix x x^T + I/2.
Value definite(const Value& x) {
  const Value product = matmul(x, x, {.transpose_b = true});
  return product + where(eye_mask(product), full_like(product, 0.5), 0);
}

OpOutputs triangular_solve_case(const OpCase& c) {
  const Value t = where(eye_mask(c["t"]), abs(c["t"]) + 1, c["t"]);
  return {{"out", triangular_solve(t, c["b"],
                                   {.upper = c.attrs.at("upper").get<bool>(),
                                    .transpose = c.attrs.at("transpose").get<bool>()})}};
}

OpOutputs qr_case(const OpCase& c) {
  const QrFactors f = qr(c["x"]);
  return {{"q", f.q}, {"r", f.r}};
}

OpOutputs svd_case(const OpCase& c) {
  const auto [u, s, vt] = svd(c["x"]);
  const Dim rank = c.attrs.at("rank").get<std::int64_t>();
  const Value left = slice(u, -1, {.end = rank}) * unsqueeze(slice(s, -1, {.end = rank}), -2);
  return {{"s", s}, {"low_rank", matmul(left, slice(vt, -2, {.end = rank}))}};
}

}  // namespace

void add_linalg_adapters(std::map<std::string, OpAdapter>& adapters) {
  adapters["cholesky"] = [](const OpCase& c) {
    return OpOutputs{{"out", cholesky(definite(c["x"]))}};
  };
  adapters["cholesky_solve_spd"] = [](const OpCase& c) {
    return OpOutputs{{"out", cholesky_solve(cholesky(definite(c["x"])), c["b"])}};
  };
  adapters["qr"] = qr_case;
  adapters["svd"] = svd_case;
  adapters["triangular_solve"] = triangular_solve_case;
}

}  // namespace weft::golden
