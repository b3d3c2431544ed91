// The Cholesky factorisation, and the op that checks whether a factorisation has succeeded.
#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/linalg/matrix_list.h"

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

}  // namespace weft
