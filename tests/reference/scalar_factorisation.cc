// Scalar models of Cholesky factors, triangular solves, QR and singular values: textbook loops in
// long double, with error bounds for computations in double that depend on the condition of the
// matrix.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

// The kernels for both dtypes compute in double.
const Real kUnit = epsilon(DType::f64);
// Results with a relative error bound larger than this are not checked.
constexpr Real kMaxCheckedError = 1e-3L;

/// One matrix of a batch.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<Real> x;

  Matrix(std::int64_t r, std::int64_t c)
      : rows(r), columns(c), x(static_cast<std::size_t>(r * c)) {}
  Real& at(std::int64_t i, std::int64_t j) { return x[static_cast<std::size_t>(i * columns + j)]; }
  Real at(std::int64_t i, std::int64_t j) const {
    return x[static_cast<std::size_t>(i * columns + j)];
  }
  Real norm() const {
    Real sum = 0;
    for (const Real v : x) sum += v * v;
    return std::sqrt(sum);
  }
};

struct List {
  std::int64_t count, rows, columns;
  explicit List(const Sizes& sizes)
      : count(num_elements(Sizes(sizes.begin(), sizes.end() - 2))),
        rows(sizes[sizes.size() - 2]),
        columns(sizes.back()) {}
};

Matrix matrix_of(const Tensor& t, const List& list, std::int64_t which) {
  Matrix m(list.rows, list.columns);
  for (std::size_t i = 0; i < m.x.size(); ++i) {
    m.x[i] = element(t, which * list.rows * list.columns + static_cast<std::int64_t>(i)).value;
  }
  return m;
}

/// Sets matrix `which` of an output. Every element has the error bound `error`.
void put(NumberTensor& out, std::int64_t which, const Matrix& m, Real error) {
  for (std::size_t i = 0; i < m.x.size(); ++i) {
    Number n = number_of(m.x[i]);
    n.error = error;
    out.elements[static_cast<std::size_t>(which) * m.x.size() + i] = n;
  }
}

/// Returns the inverse of a lower triangular matrix.
Matrix inverse_of_lower(const Matrix& l) {
  Matrix inverse(l.rows, l.rows);
  for (std::int64_t c = 0; c < l.rows; ++c) {
    for (std::int64_t i = c; i < l.rows; ++i) {
      Real sum = i == c ? 1 : 0;
      for (std::int64_t k = c; k < i; ++k) sum -= l.at(i, k) * inverse.at(k, c);
      inverse.at(i, c) = sum / l.at(i, i);
    }
  }
  return inverse;
}

void cholesky(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const List list(call.in[0].sizes());
  const std::int64_t n = list.rows;
  for (std::int64_t which = 0; which < list.count; ++which) {
    const Matrix x = matrix_of(call.in[0], list, which);
    Matrix l(n, n);
    std::int64_t failed = -1;
    bool clear = true;
    Real error = 0;
    for (std::int64_t i = 0; i < n && failed < 0; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        Real sum = (x.at(i, j) + x.at(j, i)) / 2;
        for (std::int64_t k = 0; k < j; ++k) sum -= l.at(i, k) * l.at(j, k);
        if (j < i) {
          l.at(i, j) = sum / l.at(j, j);
          continue;
        }
        // The leading block, used for a bound on the rounding error of the pivot.
        Matrix leading(i, i);
        for (std::int64_t r = 0; r < i; ++r) {
          for (std::int64_t c = 0; c <= r; ++c) leading.at(r, c) = l.at(r, c);
        }
        const Real inverse = inverse_of_lower(leading).norm();
        const Real condition = (1 + inverse * inverse * x.norm());
        const Real off = 8 * kUnit * static_cast<Real>(n) * x.norm() * condition * condition;
        clear = clear && std::fabs(sum) > 2 * off;
        if (!(sum > 0)) failed = i;
        if (failed < 0) l.at(i, i) = std::sqrt(sum);
        error = std::max(error, off / std::sqrt(std::fabs(sum)) * condition);
      }
    }
    if (failed >= 0) std::fill(l.x.begin(), l.x.end(), 0), error = 0;
    if (!clear || !(error < kMaxCheckedError * (1 + l.norm()))) error = kAnyValue;
    put(out[0], which, l, error);
    Number pivot = number_of_integer(failed);
    if (!clear) pivot.error = kAnyValue;
    out[1].elements[static_cast<std::size_t>(which)] = pivot;
  }
}

void require_pivots(const ScalarCall& call, std::vector<NumberTensor>& out) {
  for (std::int64_t i = 0; i < call.in[1].numel(); ++i) {
    if (element(call.in[1], i).integer >= 0) throw DataError("scalar model: a pivot failed");
  }
  out[0] = numbers_of(call.in[0]);
}

void triangular_solve(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const List square(call.in[0].sizes()), list(call.in[1].sizes());
  const bool upper = call.attributes.flag("upper"), transpose = call.attributes.flag("transpose");
  const bool unit = call.attributes.flag("unit_diagonal"), backward = upper != transpose;
  const std::int64_t n = list.rows;
  for (std::int64_t which = 0; which < list.count; ++which) {
    const Matrix t = matrix_of(call.in[0], square, which), b = matrix_of(call.in[1], list, which);
    std::int64_t failed = -1;
    for (std::int64_t i = n - 1; i >= 0 && !unit; --i) failed = t.at(i, i) == 0 ? i : failed;
    out[1].elements[static_cast<std::size_t>(which)] = number_of_integer(failed);
    for (std::int64_t c = 0; c < list.columns; ++c) {
      std::vector<Number> x(static_cast<std::size_t>(n));
      for (std::int64_t step = 0; step < n && failed < 0; ++step) {
        const std::int64_t i = backward ? n - 1 - step : step;
        Real sum = b.at(i, c), error = kUnit * std::fabs(sum);
        for (std::int64_t k = backward ? i + 1 : 0; k < (backward ? n : i); ++k) {
          const Real factor = transpose ? t.at(k, i) : t.at(i, k);
          const Number& known = x[static_cast<std::size_t>(k)];
          sum -= factor * known.value;
          error += std::fabs(factor) *
                   (known.error + kUnit * static_cast<Real>(n + 2) * std::fabs(known.value));
        }
        const Real pivot = unit ? 1 : t.at(i, i);
        Number& result = x[static_cast<std::size_t>(i)];
        result = number_of(sum / pivot);
        result.error = error / std::fabs(pivot) + 2 * kUnit * std::fabs(result.value);
        if (!std::isfinite(result.value)) result.error = kAnyValue;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        out[0].elements[static_cast<std::size_t>((which * n + i) * list.columns + c)] =
            x[static_cast<std::size_t>(i)];
      }
    }
  }
}

// Gram-Schmidt with reorthogonalisation: all projections are subtracted twice.
void qr(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const List list(call.in[0].sizes());
  const std::int64_t m = list.rows, n = list.columns;
  if (m < n) throw ShapeError("scalar model: more columns than rows");
  for (std::int64_t which = 0; which < list.count; ++which) {
    const Matrix x = matrix_of(call.in[0], list, which);
    Matrix q = x, r(n, n), lower(n, n);
    for (std::int64_t c = 0; c < n; ++c) {
      for (int twice = 0; twice < 2; ++twice) {
        for (std::int64_t k = 0; k < c; ++k) {
          Real inner = 0;
          for (std::int64_t i = 0; i < m; ++i) inner += q.at(i, k) * q.at(i, c);
          for (std::int64_t i = 0; i < m; ++i) q.at(i, c) -= inner * q.at(i, k);
          r.at(k, c) += inner;
        }
      }
      Real square = 0;
      for (std::int64_t i = 0; i < m; ++i) square += q.at(i, c) * q.at(i, c);
      r.at(c, c) = std::sqrt(square);
      for (std::int64_t i = 0; i < m; ++i) q.at(i, c) /= r.at(c, c);
      for (std::int64_t k = 0; k <= c; ++k) lower.at(c, k) = r.at(k, c);
    }
    const Real condition = n == 0 ? 1 : x.norm() * inverse_of_lower(lower).norm();
    Real error = 32 * kUnit * static_cast<Real>(m) * condition;
    if (!(error < kMaxCheckedError)) error = kAnyValue;
    put(out[0], which, q, error);
    put(out[1], which, r, error == kAnyValue ? error : error * x.norm());
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j)
        out[1].elements[static_cast<std::size_t>((which * n + i) * n + j)] = {};
    }
  }
}

/// One-sided Jacobi method: rotates pairs of columns of `a`, and the same columns of `v`, until the
/// columns of `a` are orthogonal.
void rotate_columns(Matrix& a, Matrix& v) {
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < 100; ++sweep) {
    rotated = false;
    for (std::int64_t p = 0; p < a.columns; ++p) {
      for (std::int64_t q = p + 1; q < a.columns; ++q) {
        Real pp = 0, qq = 0, pq = 0;
        for (std::int64_t i = 0; i < a.rows; ++i) {
          pp += a.at(i, p) * a.at(i, p);
          qq += a.at(i, q) * a.at(i, q);
          pq += a.at(i, p) * a.at(i, q);
        }
        if (!(std::fabs(pq) > 1e-18L * std::sqrt(pp * qq))) continue;
        rotated = true;
        const Real angle = std::atan2(2 * pq, qq - pp) / 2;
        const Real c = std::cos(angle), s = std::sin(angle);
        for (Matrix* m : {&a, &v}) {
          for (std::int64_t i = 0; i < m->rows; ++i) {
            const Real x = m->at(i, p), y = m->at(i, q);
            m->at(i, p) = c * x - s * y;
            m->at(i, q) = s * x + c * y;
          }
        }
      }
    }
  }
}

Matrix transposed(const Matrix& m) {
  Matrix t(m.columns, m.rows);
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.columns; ++j) t.at(j, i) = m.at(i, j);
  }
  return t;
}

// The sign of the singular vectors for one singular value, and whether rounding could change it.
struct Sign {
  Real sign = 1;
  bool sure = true;
};
Sign sign_of(const Matrix& u, std::int64_t column, Real error) {
  Real largest = 0, other = 0;  // the largest element, and the largest negated element
  for (std::int64_t i = 0; i < u.rows; ++i) {
    largest = std::max(largest, u.at(i, column));
    other = std::max(other, -u.at(i, column));
  }
  return {largest >= other ? 1.0L : -1.0L, std::fabs(largest - other) > 4 * error};
}

void svd(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const List list(call.in[0].sizes());
  const bool wide = list.rows < list.columns;
  const std::int64_t k = std::min(list.rows, list.columns);
  for (std::int64_t which = 0; which < list.count; ++which) {
    const Matrix x = matrix_of(call.in[0], list, which);
    Matrix a = wide ? transposed(x) : x, v(k, k);
    for (std::int64_t i = 0; i < k; ++i) v.at(i, i) = 1;
    rotate_columns(a, v);
    std::vector<Real> s(static_cast<std::size_t>(k));
    std::vector<std::int64_t> order(s.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t c = 0; c < k; ++c) {
      Real square = 0;
      for (std::int64_t i = 0; i < a.rows; ++i) square += a.at(i, c) * a.at(i, c);
      s[static_cast<std::size_t>(c)] = std::sqrt(square);
    }
    const auto value = [&](std::int64_t c) { return s[static_cast<std::size_t>(c)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t p, std::int64_t q) { return value(p) > value(q); });
    const Real norm = x.norm(), off = 64 * kUnit * static_cast<Real>(a.rows) * norm;
    for (std::int64_t c = 0; c < k; ++c) {
      const std::int64_t from = order[static_cast<std::size_t>(c)];
      Number number = number_of(value(from));
      number.error = off;
      out[1].elements[static_cast<std::size_t>(which * k + c)] = number;
      // The angular error of a vector is the error divided by the distance to the next singular
      // value. That distance is bounded by the value itself, because 0 may be the singular value of
      // further vectors and because the left vector is divided by the value.
      Real gap = value(from);
      for (std::int64_t o = 0; o < k; ++o) {
        if (o != from) gap = std::min(gap, std::fabs(value(from) - value(o)));
      }
      Real error = gap > 0 ? off / gap : kAnyValue;
      Matrix left(a.rows, 1), right(k, 1);
      for (std::int64_t i = 0; i < a.rows; ++i) left.at(i, 0) = a.at(i, from) / value(from);
      for (std::int64_t i = 0; i < k; ++i) right.at(i, 0) = v.at(i, from);
      const Matrix &u = wide ? right : left, &vt = wide ? left : right;
      const Sign sign = sign_of(u, 0, error);
      if (!sign.sure || !(error < kMaxCheckedError)) error = kAnyValue;
      const auto put_element = [&](NumberTensor& to, std::int64_t at, Real element) {
        Number n = number_of(sign.sign * element);
        n.error = error;
        to.elements[static_cast<std::size_t>(at)] = n;
      };
      for (std::int64_t i = 0; i < list.rows; ++i)
        put_element(out[0], (which * list.rows + i) * k + c, u.at(i, 0));
      for (std::int64_t i = 0; i < list.columns; ++i)
        put_element(out[2], (which * k + c) * list.columns + i, vt.at(i, 0));
    }
  }
}

}  // namespace

void add_factorisation_models(ScalarModels& models) {
  models["cholesky"] = within_reach(cholesky);
  models["require_pivots"] = require_pivots;
  models["triangular_solve"] = within_reach(triangular_solve);
  models["qr"] = within_reach(qr);
  models["svd"] = within_reach(svd);
}

}  // namespace weft::testing
