// matmul: products of matrices over broadcast batch axes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/gemm.h"
#include "weft/ops/sample_data.h"

namespace weft {
namespace {

using kernels::GemmProblem;
using kernels::MatrixView;

Shape batch_axes(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.begin(), shape.end() - 2));
}

std::vector<ValueType> infer_matmul(const InferContext& c) {
  c.require_floating(0, "a");
  c.require_min_rank(0, 2, "a");
  c.require_min_rank(1, 2, "b");
  c.require_same_dtype(0, 1);
  if (const std::string& own = c.attributes().text("precision"); !own.empty()) parse_precision(own);
  const bool ta = c.attributes().flag("transpose_a"), tb = c.attributes().flag("transpose_b");
  const Shape &a = c.shape(0), &b = c.shape(1);
  const int ra = a.rank(), rb = b.rank();
  const int axis_a = ta ? ra - 2 : ra - 1, axis_b = tb ? rb - 1 : rb - 2;
  c.require_equal(a[axis_a], b[axis_b],
                  fmt::format("the summed axes of a (axis {}) and b (axis {})", axis_a, axis_b));
  Shape out = c.broadcast(batch_axes(a), batch_axes(b));
  out.push_back(a[ta ? ra - 1 : ra - 2]);
  out.push_back(b[tb ? rb - 2 : rb - 1]);
  return {{c.dtype(0), std::move(out)}};
}

// The work of one matmul, split into tiles of C by its sizes alone.
struct Plan {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::vector<std::int64_t> a_offsets, b_offsets;  // one per product
  std::int64_t row_tiles = 1, column_tiles = 1;

  std::int64_t products() const { return static_cast<std::int64_t>(a_offsets.size()); }
  std::int64_t tiles() const { return products() * row_tiles * column_tiles; }
  double multiply_adds() const {
    return static_cast<double>(products()) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Rows and columns of a tile are multiples of these, so that register blocks are full on every CPU.
constexpr std::int64_t kRowMultiple = 12, kColumnMultiple = 64;

// Tiles are as large as the cache blocks of gemm() allow, since every tile packs its operands;
// halved while there are too few of them to feed many workers and each is still worth sending to
// one.
void choose_tiles(Plan& plan) {
  std::int64_t rows = std::min<std::int64_t>(plan.m, 240);
  std::int64_t columns = std::min<std::int64_t>(plan.n, 512);
  const auto count = [&] {
    return plan.products() * divide_up(plan.m, rows) * divide_up(plan.n, columns);
  };
  while (rows > 0 && columns > 0 && count() < 16 && rows * columns * plan.k > (1 << 20)) {
    if (columns > kColumnMultiple && (columns >= 2 * rows || rows <= 4 * kRowMultiple)) {
      columns = divide_up(columns, 2 * kColumnMultiple) * kColumnMultiple;
    } else if (rows > 4 * kRowMultiple) {
      rows = divide_up(rows, 2 * kRowMultiple) * kRowMultiple;
    } else {
      break;
    }
  }
  plan.row_tiles = rows == 0 ? 1 : divide_up(plan.m, rows);
  plan.column_tiles = columns == 0 ? 1 : divide_up(plan.n, columns);
}

Plan make_plan(const KernelRequest& request) {
  const Sizes &a = request.inputs[0].sizes, &b = request.inputs[1].sizes;
  const Sizes& out = request.outputs[0].sizes;
  Plan plan;
  plan.transpose_a = request.attributes.flag("transpose_a");
  plan.transpose_b = request.attributes.flag("transpose_b");
  plan.m = out[out.size() - 2];
  plan.n = out[out.size() - 1];
  plan.k = a[plan.transpose_a ? a.size() - 2 : a.size() - 1];

  const Sizes batch(out.begin(), out.end() - 2);
  const Sizes batch_b(b.begin(), b.end() - 2);
  std::int64_t products = num_elements(batch);
  if (!plan.transpose_a && num_elements(batch_b) == 1) {
    // One matrix b for all rows of all matrices a: a single tall product.
    plan.m *= products;
    products = 1;
  }
  if (products == 1) {
    plan.a_offsets = plan.b_offsets = {0};
  } else {
    const auto offsets = [&](const Sizes& sizes, std::vector<std::int64_t>& result) {
      const std::int64_t matrix = sizes[sizes.size() - 1] * sizes[sizes.size() - 2];
      for (std::int64_t p = 0; p < products; ++p) {
        std::int64_t rest = p, stride = 1, index = 0;
        for (std::size_t back = 0; back < batch.size(); ++back) {
          const std::int64_t size = batch[batch.size() - 1 - back], i = rest % size;
          rest /= size;
          if (back + 2 >= sizes.size()) continue;
          const std::int64_t own = sizes[sizes.size() - 3 - back];
          if (own != 1) index += i * stride;
          stride *= own;
        }
        result.push_back(index * matrix);
      }
    };
    offsets(a, plan.a_offsets);
    offsets(b, plan.b_offsets);
  }
  choose_tiles(plan);
  return plan;
}

template <class T>
Kernel make_kernel(Plan made) {
  const auto plan = std::make_shared<const Plan>(std::move(made));
  Kernel kernel;
  Phase phase;
  if (plan->products() * plan->m * plan->n == 0) {
    phase.body = [](const KernelRun&, std::int64_t) {};  // C has no elements
    kernel.phases.push_back(std::move(phase));
    return kernel;
  }
  const std::int64_t tile_rows = divide_up(plan->m, plan->row_tiles) + kRowMultiple;
  const std::int64_t tile_columns = divide_up(plan->n, plan->column_tiles) + kColumnMultiple;
  kernel.slot_scratch = kernels::gemm_scratch_bytes(sizeof(T), std::min(plan->m, tile_rows),
                                                    std::min(plan->n, tile_columns), plan->k);
  const double tile_work = plan->multiply_adds() / static_cast<double>(plan->tiles());
  phase.chunks = chunk_count(plan->tiles(), static_cast<std::int64_t>(5e5 / (tile_work + 1)));
  phase.cost_ns = plan->multiply_adds() / (sizeof(T) == 4 ? 40 : 20);
  phase.body = [plan, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(plan->tiles(), chunks, chunk);
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const auto product = static_cast<std::size_t>(tile / (plan->row_tiles * plan->column_tiles));
      const auto rows = chunk_range(plan->m, plan->row_tiles,
                                    tile / plan->column_tiles % plan->row_tiles, kRowMultiple);
      const auto columns =
          chunk_range(plan->n, plan->column_tiles, tile % plan->column_tiles, kColumnMultiple);
      MatrixView<T> a{run.in<T>(0) + plan->a_offsets[product],
                      plan->transpose_a ? plan->m : plan->k, 1};
      MatrixView<T> b{run.in<T>(1) + plan->b_offsets[product],
                      plan->transpose_b ? plan->k : plan->n, 1};
      if (plan->transpose_a) a = a.transposed();
      if (plan->transpose_b) b = b.transposed();
      GemmProblem<T> gemm;
      gemm.m = rows.end - rows.begin;
      gemm.n = columns.end - columns.begin;
      gemm.k = plan->k;
      gemm.a = a.from(rows.begin, 0);
      gemm.b = b.from(0, columns.begin);
      gemm.c = run.out<T>(0) + static_cast<std::int64_t>(product) * plan->m * plan->n +
               rows.begin * plan->n + columns.begin;
      gemm.c_stride = plan->n;
      kernels::gemm(gemm, run.slot_scratch);
    }
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel matmul_kernel(const KernelRequest& request) {
  Plan plan = make_plan(request);
  return request.inputs[0].dtype == DType::f32 ? make_kernel<float>(std::move(plan))
                                               : make_kernel<double>(std::move(plan));
}

Cost matmul_cost(const KernelRequest& request) {
  const Sizes& a = request.inputs[0].sizes;
  const std::int64_t k = a[a.size() - (request.attributes.flag("transpose_a") ? 2 : 1)];
  const std::int64_t elements =
      request.inputs[0].numel() + request.inputs[1].numel() + request.outputs[0].numel();
  return {.flops = 2.0 * static_cast<double>(request.outputs[0].numel()) * static_cast<double>(k),
          .bytes = static_cast<double>(elements) *
                   static_cast<double>(dtype_size(request.inputs[0].dtype))};
}

std::vector<OpSample> matmul_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](Sizes a, Sizes b, bool ta = false, bool tb = false) {
    samples.push_back({{sample_uniform(std::move(a), 21), sample_uniform(std::move(b), 22)},
                       {{"transpose_a", ta}, {"transpose_b", tb}}});
  };
  add({3, 4}, {4, 5});
  add({1, 1}, {1, 1});
  add({7, 3}, {7, 2}, true, false);
  add({5, 6}, {7, 6}, false, true);
  add({3, 6}, {2, 3}, true, true);
  add({2, 3, 4}, {4, 5});
  add({2, 4, 3}, {4, 5}, true, false);
  add({2, 3}, {3, 3, 2});
  add({2, 1, 3, 2}, {3, 2, 4});
  add({2, 1, 3, 2}, {1, 3, 4, 2}, false, true);
  add({2, 0, 3}, {3, 2});
  add({2, 0}, {0, 3});
  add({0, 3}, {3, 0});
  return samples;
}

std::vector<OpErrorSample> matmul_errors() {
  const Attributes none, tb{{"transpose_b", true}};
  const auto f32 = DType::f32;
  return {
      {{{f32, {2, 3}}, {f32, {4, 5}}},
       none,
       "the summed axes of a (axis 1) and b (axis 0): 3 and 4 differ"},
      {{{f32, {2, 3}}, {f32, {3, 5}}},
       tb,
       "the summed axes of a (axis 1) and b (axis 1): 3 and 5 differ"},
      {{{f32, {3}}, {f32, {3, 5}}}, none, "a must have at least 2 axes, but is f32[3] with 1"},
      {{{f32, {2, 3}}, {f32, {3}}}, none, "b must have at least 2 axes, but is f32[3] with 1"},
      {{{f32, {2, 3}}, {DType::f64, {3, 5}}}, none, "different dtypes, f32 and f64"},
      {{{DType::i64, {2, 3}}, {DType::i64, {3, 5}}}, none, "a must be f32 or f64, but is i64"},
      {{{f32, {2, 2, 3}}, {f32, {4, 3, 5}}}, none, "shapes [2] and [4] do not broadcast"},
      {{{f32, {2, 3}}, {f32, {3, 5}}},
       {{"precision", std::string("low")}},
       "unknown precision 'low'; there are highest, high, medium"},
  };
}

}  // namespace

void add_matmul_ops(OpSet& ops) {
  OpRecord r;
  r.name = "matmul";
  r.doc =
      "out[..., i, j] = sum_k a[..., i, k] b[..., k, j], the axes before the last two broadcast. "
      "transpose_a and transpose_b say that the last two axes of the operand are swapped in "
      "memory. "
      "An empty sum is 0. precision is that of the program, or highest, high or medium.";
  r.inputs = {{"a"}, {"b"}};
  r.attributes = {{"transpose_a", false}, {"transpose_b", false}, {"precision", std::string()}};
  r.infer = infer_matmul;
  r.kernel = matmul_kernel;
  r.cost = matmul_cost;
  r.samples = matmul_samples;
  r.error_samples = matmul_errors;
  ops.add(std::move(r));
}

}  // namespace weft
