// Scalar model of attention and its gradient in double precision. It evaluates the formulas of the
// op record pair by pair.
#pragma once

#include <cmath>
#include <vector>

#include "weft/core/random.h"
#include "weft/core/tensor.h"
#include "weft/ops/attribute.h"

namespace weft::testing {

/// Returns an element of an i32 or i64 tensor, without conversion to floating point.
inline std::int64_t integer_at(const Tensor& t, std::int64_t i) {
  return t.dtype() == DType::i32 ? t.data<std::int32_t>()[i] : t.data<std::int64_t>()[i];
}

struct ReferenceAttention {
  std::vector<double> out, lse;
  // Gradients for the cotangents g (of out) and g_lse (of lse). Empty if g is undefined.
  std::vector<double> dq, dk, dv, dbias, doffset_bias, drow_bias, dcol_bias, dsinks;
};

/// `in` contains the operands of the op. With kv_rows, the gradients are not supported. `g`
/// [B,H,Lq,Dv] and `g_lse` [B,H,Lq] may be undefined. The gradient uses the outputs `out` and `lse`
/// of the forward op if they are given, and computes them otherwise.
inline ReferenceAttention reference_attention(const std::vector<Tensor>& in,
                                              const Attributes& attributes, const Tensor& g = {},
                                              const Tensor& g_lse = {}, const Tensor& out = {},
                                              const Tensor& lse = {}) {
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  const auto given = [&](std::size_t i) { return i < in.size() && in[i].defined(); };
  const std::int64_t B = q.size(0), H = q.size(1), Lq = q.size(2), D = q.size(3), Hkv = k.size(1),
                     R = k.size(2), Dv = v.size(3);
  const bool circular = attributes.find("ring") && attributes.dim("ring") != Dim(0);
  const std::int64_t columns = given(13) && in[13].rank() == 2 ? in[13].size(1) : 1;
  const std::int64_t Lk = circular ? attributes.dim("ring").constant() : R * columns;
  const auto count = [&](std::size_t i) {
    return static_cast<std::size_t>(given(i) ? in[i].numel() : 0);
  };
  ReferenceAttention r;
  r.out.assign(static_cast<std::size_t>(B * H * Lq * Dv), 0);
  r.lse.assign(static_cast<std::size_t>(B * H * Lq), -INFINITY);
  r.dq.assign(count(0), 0);
  r.dk.assign(count(1), 0);
  r.dv.assign(count(2), 0);
  r.dbias.assign(count(3), 0);
  r.doffset_bias.assign(count(5), 0);
  r.drow_bias.assign(count(6), 0);
  r.dcol_bias.assign(count(8), 0);
  r.dsinks.assign(count(14), 0);
  const auto flag = [&](const char* n) {
    return attributes.find(n) != nullptr && attributes.flag(n);
  };
  const std::int64_t window = attributes.find("window") ? attributes.integer("window") : 0;
  const std::int64_t chunk = attributes.find("chunk") ? attributes.integer("chunk") : 0;
  const double cap = attributes.find("soft_cap") ? attributes.real("soft_cap") : 0;
  const double rate = attributes.find("dropout") ? attributes.real("dropout") : 0;
  const double scale = attributes.real("scale");
  RandomStream random;
  if (rate > 0) {
    const auto* key = in[12].data<std::int64_t>();
    random = {static_cast<std::uint64_t>(key[0]),
              static_cast<std::uint32_t>(attributes.integer("stream")),
              static_cast<std::uint32_t>(key[1])};
  }
  // Returns the position in an operand of shape [B|1, H|1, Lq|1, Lk|1].
  const auto broadcast = [](const Tensor& t, std::int64_t b, std::int64_t h, std::int64_t i,
                            std::int64_t j) {
    const std::int64_t at[] = {b, h, i, j};
    std::int64_t index = 0;
    for (int axis = 0; axis < 4; ++axis) {
      index = index * t.size(axis) + (t.size(axis) == 1 ? 0 : at[axis]);
    }
    return index;
  };
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      // The row of key j among the rows of k and v.
      const auto key_row = [&](std::int64_t j) {
        const std::int64_t column = columns == 1 ? 0 : j / R;
        const std::int64_t row = given(13) ? integer_at(in[13], b * columns + column) : b;
        return (row * Hkv + h / (H / Hkv)) * R + j % R;
      };
      for (std::int64_t i = 0; i < Lq; ++i) {
        const std::int64_t row = (b * H + h) * Lq + i;
        std::int64_t first = 0, last = Lk;  // the keys of the query's text
        for (std::int64_t t = 0; given(15) && t + 1 < in[15].numel(); ++t) {
          if (integer_at(in[15], t) > i) break;
          first = integer_at(in[15], t), last = integer_at(in[15], t + 1);
        }
        const std::int64_t start = given(11) ? integer_at(in[11], b) : Lk - Lq;
        // start and window can be as large as the largest integer; their sum is exact in long
        // double.
        const long double p = static_cast<long double>(start) + static_cast<long double>(i);
        const auto sees = [&](std::int64_t j) {
          if (j < first || j >= last) return false;
          const auto distance = p - static_cast<long double>(j);
          if (flag("causal") && distance < 0) return false;
          if (window > 0 && std::fabs(distance) >= static_cast<long double>(window)) return false;
          const auto size = static_cast<long double>(chunk);
          const auto begin = static_cast<long double>(first);
          if (chunk > 0 &&
              std::floor((p - begin) / size) != static_cast<long double>((j - first) / chunk))
            return false;
          return !given(10) || j < integer_at(in[10], b);
        };
        const auto offset_index = [&](std::int64_t j) {
          const std::int64_t T = in[5].size(1);
          return h * T + (given(11) ? j - (i + start) + T - Lk : j - i + Lq - 1);
        };
        const auto row_index = [&](std::int64_t j) {
          return row * in[6].size(3) + static_cast<std::int64_t>(in[7].at(i * Lk + j));
        };
        const auto col_index = [&](std::int64_t j) {
          return ((b * H + h) * Lk + j) * in[8].size(3) +
                 static_cast<std::int64_t>(in[9].at(i * Lk + j));
        };
        std::vector<double> s(static_cast<std::size_t>(Lk), -INFINITY), keep(s.size(), 1);
        std::vector<double> slope(s.size(), 1);
        const double sink = given(14) ? in[14].at(h) : -INFINITY;
        double max = sink, sum = 0;
        for (std::int64_t j = 0; j < Lk; ++j) {
          if (!sees(j)) continue;
          if (given(4) && in[4].at(broadcast(in[4], b, h, i, j)) == 0) continue;
          double score = 0;
          for (std::int64_t d = 0; d < D; ++d)
            score += q.at(row * D + d) * k.at(key_row(j) * D + d);
          score *= scale;
          if (cap > 0) {
            slope[static_cast<std::size_t>(j)] = 1 - std::pow(std::tanh(score / cap), 2);
            score = cap * std::tanh(score / cap);
          }
          if (given(3)) score += in[3].at(broadcast(in[3], b, h, i, j));
          if (given(5)) score += in[5].at(offset_index(j));
          if (given(6)) score += in[6].at(row_index(j));
          if (given(8)) score += in[8].at(col_index(j));
          s[static_cast<std::size_t>(j)] = score;
          max = std::max(max, score);
        }
        if (max == -INFINITY) continue;
        for (const double x : s) sum += std::exp(x - max);
        sum += std::exp(sink - max);
        r.lse[static_cast<std::size_t>(row)] = max + std::log(sum);
        double delta = g_lse.defined() ? -g_lse.at(row) : 0;
        for (std::int64_t j = 0; j < Lk; ++j) {
          const auto u = static_cast<std::size_t>(j);
          s[u] = lse.defined() ? std::exp(s[u] - lse.at(row)) : std::exp(s[u] - max) / sum;
          if (rate > 0) {
            const std::uint32_t word = random.word(static_cast<std::uint64_t>(row * Lk + j));
            keep[u] = static_cast<double>(word) >= rate * 0x1p32 ? 1 / (1 - rate) : 0;
          }
          if (columns > 1 && !sees(j)) continue;  // its row may not exist
          for (std::int64_t d = 0; d < Dv; ++d) {
            r.out[static_cast<std::size_t>(row * Dv + d)] +=
                keep[u] * s[u] * v.at(key_row(j) * Dv + d);
          }
        }
        if (!g.defined()) continue;
        for (std::int64_t d = 0; d < Dv; ++d) {
          const double o =
              out.defined() ? out.at(row * Dv + d) : r.out[static_cast<std::size_t>(row * Dv + d)];
          delta += g.at(row * Dv + d) * o;
        }
        for (std::int64_t j = 0; j < Lk; ++j) {
          const auto u = static_cast<std::size_t>(j);
          double dp = 0;
          for (std::int64_t d = 0; d < Dv; ++d) {
            dp += keep[u] * g.at(row * Dv + d) * v.at(key_row(j) * Dv + d);
            r.dv[static_cast<std::size_t>(key_row(j) * Dv + d)] +=
                keep[u] * s[u] * g.at(row * Dv + d);
          }
          const double ds = s[u] * (dp - delta), dx = scale * slope[u] * ds;
          for (std::int64_t d = 0; d < D; ++d) {
            r.dq[static_cast<std::size_t>(row * D + d)] += dx * k.at(key_row(j) * D + d);
            r.dk[static_cast<std::size_t>(key_row(j) * D + d)] += dx * q.at(row * D + d);
          }
          if (given(3)) r.dbias[static_cast<std::size_t>(broadcast(in[3], b, h, i, j))] += ds;
          if (given(5)) r.doffset_bias[static_cast<std::size_t>(offset_index(j))] += ds;
          if (given(6)) r.drow_bias[static_cast<std::size_t>(row_index(j))] += ds;
          if (given(8)) r.dcol_bias[static_cast<std::size_t>(col_index(j))] += ds;
        }
        if (given(14)) {
          const double shift = lse.defined() ? lse.at(row) : max + std::log(sum);
          r.dsinks[static_cast<std::size_t>(h)] -= std::exp(sink - shift) * delta;
        }
      }
    }
  }
  return r;
}

}  // namespace weft::testing
