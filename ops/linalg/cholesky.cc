// The Cholesky factorisation, and the op that checks whether a factorisation has succeeded.
#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/linalg/matrix_list.h"
#include "weft/ops/sample_data.h"
#include "weft/ops/samples.h"

namespace weft {
namespace {

constexpr std::string_view kIndefinite = "not positive definite", kSingular = "singular";

std::vector<ValueType> infer_cholesky(const InferContext& c) {
  require_square(c, 0, "x");
  return {c.input(0), {DType::i64, list_shape(c.shape(0))}};
}

double cholesky_flops(double rows, double) { return rows * rows * rows / 3 + rows * rows; }

template <class T>
Kernel make_cholesky(const KernelRequest& r) {
  if (!writes(r)) return {};
  const MatrixList list = matrix_list(r.inputs[0].sizes);
  const std::int64_t n = list.rows;
  const double flops = cholesky_flops(static_cast<double>(n), 0);
  return unit_kernel(
      list.count, flops, {{n, n}}, [n](const KernelRun& run, std::int64_t unit, double* scratch) {
        const std::int64_t failed = kernels::cholesky(
            run.in<T>(0) + unit * n * n, n, part_of_output<T>(run, 0, unit * n * n), scratch);
        if (run.outputs[1] != nullptr) run.out<std::int64_t>(1)[unit] = failed;
      });
}

Kernel cholesky_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_cholesky<float>(r) : make_cholesky<double>(r);
}

Cost cholesky_cost(const KernelRequest& r) { return factorisation_cost(r, cholesky_flops); }

// Returns diagonally dominant matrices, so that matrices perturbed for finite differences have
// Cholesky factors as well.
Tensor definite(const Sizes& sizes, std::uint64_t seed) {
  Tensor t = sample_uniform(sizes, seed, -0.25, 0.25);
  const std::int64_t n = sizes.back();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (i / n % n == i % n) t.mutable_data<float>()[i] += static_cast<float>(n);
  }
  return t;
}

std::vector<OpSample> cholesky_samples() {
  return {
      {{definite({4, 4}, 1)}, {}},
      {{definite({2, 3, 3}, 2)}, {}},
      {{definite({3, 1, 2, 2}, 3)}, {}},
      {{sample_uniform({5, 1, 1}, 4, 0.5, 2)}, {}},
      {{sample_uniform({2, 3, 3}, 5, 0.5, 2)}, {}},  // not positive definite
      {{definite({40, 40}, 6)}, {}},
      {{sample_uniform({0, 3, 3}, 7)}, {}},
      {{sample_uniform({2, 0, 0}, 8)}, {}},
  };
}

std::vector<OpErrorSample> cholesky_errors() {
  return {{{{DType::f32, {3, 4}}}, {}, "the rows and columns of x: 3 and 4 differ"},
          {{{DType::f32, {3}}}, {}, "x must have at least 2 axes, but f32[3] has 1"},
          {{{DType::i32, {3, 3}}}, {}, "x must be f32 or f64, but is i32"}};
}

std::vector<ValueType> infer_pivots(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_min_rank(0, 2, "x");
  c.require_dtype(1, DType::i64, "failed");
  c.require_shape(1, list_shape(c.shape(0)), "failed");
  const std::string& problem = c.attributes().text("problem");
  if (problem != kIndefinite && problem != kSingular) {
    throw ArgumentError(
        fmt::format("problem must be '{}' or '{}', but is '{}'", kIndefinite, kSingular, problem));
  }
  return {c.input(0)};
}

Kernel pivots_kernel(const KernelRequest& r) {
  Kernel kernel;
  kernel.phases.push_back(clone_phase(r.inputs[0], 0));
  kernel.check = [list = r.inputs[1].sizes, count = r.inputs[1].numel(),
                  singular = r.attributes.text("problem") == kSingular](const KernelRun& run) {
    const auto* const failed = run.in<std::int64_t>(1);
    const std::int64_t* const first =
        std::find_if(failed, failed + count, [](std::int64_t pivot) { return pivot >= 0; });
    if (first == failed + count) return;
    const std::string which = list.empty() ? "" : " " + index_text(first - failed, list);
    if (singular) {
      throw DataError(fmt::format(
          "the triangular matrix{} is singular: element {} of its diagonal is 0", which, *first));
    }
    throw DataError(fmt::format(
        "the matrix{} is not positive definite: pivot {} of its Cholesky factor is not a "
        "positive number",
        which, *first));
  };
  return kernel;
}

std::vector<OpSample> pivots_samples() {
  const auto fine = [](const Sizes& sizes) { return Tensor::full(DType::i64, sizes, -1); };
  const Attributes indefinite{{"problem", std::string(kIndefinite)}};
  const Attributes singular{{"problem", std::string(kSingular)}};
  return {{{sample_uniform({3, 4}, 1), fine({})}, indefinite},
          {{sample_uniform({2, 3, 3}, 2), fine({2})}, singular},
          {{sample_uniform({2, 0, 3, 1}, 3), fine({2, 0})}, singular}};
}

std::vector<OpErrorSample> pivots_errors() {
  const ValueType x{DType::f32, {2, 3, 3}}, failed{DType::i64, {2}};
  const Attributes singular{{"problem", std::string(kSingular)}};
  return {{{x, failed},
           {{"problem", std::string("odd")}},
           "problem must be 'not positive definite' or 'singular', but is 'odd'"},
          {{x, {DType::i64, {3}}}, singular, "failed must have shape [2], but has [3]"},
          {{x, {DType::f32, {2}}}, singular, "failed must be i64, but is f32"},
          {{{DType::f32, {3}}, failed}, singular, "x must have at least 2 axes"}};
}

}  // namespace

void CholeskyOps::add(OpSet& ops) {
  OpRecord cholesky;
  cholesky.name = "cholesky";
  cholesky.doc =
      "For each matrix in x [..., n, n], out is the lower triangular matrix L with L L^T = (x + "
      "x^T) / 2, and failed is -1. If a matrix is not positive definite, out is zeros and failed "
      "is "
      "the index of the first pivot that is not a positive number. f32 is computed in double.";
  cholesky.inputs = {{"x"}};
  cholesky.outputs = {"out", "failed"};
  cholesky.infer = infer_cholesky;
  cholesky.kernel = cholesky_kernel;
  cholesky.cost = cholesky_cost;
  ops.add(std::move(cholesky));

  OpRecord pivots;
  pivots.name = "require_pivots";
  pivots.doc =
      "Returns x [..., n, m] if all elements of failed [...] are -1. Otherwise a data error "
      "names the first matrix whose factorisation failed, and its pivot. Gradients are checked "
      "in the same way.";
  pivots.inputs = {{"x"}, {"failed"}};
  pivots.attributes = {{"problem", std::string(), true}};
  pivots.inplace = {{0, 0}};
  pivots.infer = infer_pivots;
  pivots.kernel = pivots_kernel;
  pivots.cost = movement_cost;
  ops.add(std::move(pivots));
}

void CholeskyOps::add(OpSamples& all) {
  all.add("cholesky", cholesky_samples, cholesky_errors);
  all.add("require_pivots", pivots_samples, pivots_errors);
}

}  // namespace weft
