// A linear layer and the cross-entropy of its outputs in one op. The op processes one chunk of rows
// at a time, so the complete logits, probabilities and gradients of the logits are never in memory.
//
// For every chunk of rows, the kernel computes logits = x weight^T + bias and then lse and loss. If
// gradients are requested, it also computes d = g * (softmax - target), which overwrites the
// logits, dx = d weight, dweight += d^T x and dbias += sum(d).
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/rounding.h"
#include "weft/ops/builtin.h"
#include "weft/ops/gemm/parallel.h"
#include "weft/ops/kernels/losses/cross_entropy.h"
#include "weft/ops/losses/class_targets.h"

namespace weft {
namespace {

/// Operand positions of the three ops; -1 if an op does not have the operand.
struct Operands {
  int g = -1, x = 0, weight = 1, bias = 2, targets = 3, lse = -1;
  int out_loss = -1, out_lse = -1, dx = -1, dweight = -1, dbias = -1;

  bool forward() const { return out_loss >= 0; }
  bool backward() const { return dx >= 0; }
};
constexpr Operands kForward{.out_loss = 0, .out_lse = 1};
constexpr Operands kGrad{.g = 0,
                         .x = 1,
                         .weight = 2,
                         .bias = 3,
                         .targets = 4,
                         .lse = 5,
                         .dx = 0,
                         .dweight = 1,
                         .dbias = 2};
constexpr Operands kBoth{.g = 0,
                         .x = 1,
                         .weight = 2,
                         .bias = 3,
                         .targets = 4,
                         .out_loss = 0,
                         .out_lse = 1,
                         .dx = 2,
                         .dweight = 3,
                         .dbias = 4};

// -- shapes ---------------------------------------------------------------------------------------

std::vector<ValueType> infer(const InferContext& c, const Operands& o) {
  c.require_floating(o.x, "x");
  c.require_min_rank(o.x, 1, "x");
  c.require_rank(o.weight, 2, "weight");
  c.require_same_dtype(o.x, o.weight);
  c.require_index(o.targets, "targets");
  if (const std::string& own = c.attributes().text("precision"); !own.empty()) parse_precision(own);
  const double smoothing = c.attributes().real("label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw ArgumentError(fmt::format("label_smoothing must be in [0, 1], but is {}", smoothing));
  }
  if (const std::int64_t bytes = c.attributes().integer("chunk_bytes"); bytes < 0) {
    throw ArgumentError(fmt::format("chunk_bytes must not be negative, but is {}", bytes));
  }
  const bool transposed = c.attributes().flag("transpose_weight");
  const Shape &x = c.shape(o.x), &weight = c.shape(o.weight);
  c.require_equal(x[x.rank() - 1], weight[transposed ? 1 : 0],
                  fmt::format("the last axis of x and axis {} of weight", transposed ? 1 : 0));
  const Dim& classes = weight[transposed ? 0 : 1];
  const DType dtype = c.dtype(o.x);
  if (c.has(o.bias)) {
    c.require_dtype(o.bias, dtype, "bias");
    c.require_shape(o.bias, Shape{classes}, "bias");
  }
  const Shape rows(std::vector<Dim>(x.begin(), x.end() - 1));
  c.require_shape(o.targets, rows, "targets");
  for (const int per_row : {o.g, o.lse}) {
    if (per_row < 0) continue;
    c.require_dtype(per_row, dtype, per_row == o.g ? "g" : "lse");
    c.require_shape(per_row, rows, per_row == o.g ? "g" : "lse");
  }
  std::vector<ValueType> out;
  if (o.forward()) out = {{dtype, rows}, {dtype, rows}};
  if (o.backward()) {
    out.push_back(c.input(o.x));
    out.push_back(c.input(o.weight));
    out.push_back({dtype, Shape{c.has(o.bias) ? classes : Dim(0)}});
  }
  return out;
}
template <const Operands& o>
std::vector<ValueType> infer_op(const InferContext& c) {
  return infer(c, o);
}

// -- kernel ---------------------------------------------------------------------------------------

constexpr std::int64_t kChunkBytes = std::int64_t{64} << 20;  // default size of a chunk of logits
// The minimum number of rows per chunk, so that the products remain matrix products.
constexpr std::int64_t kMinRows = 16;
constexpr std::int64_t kMaxChunks = 1 << 12;  // limits the number of phases
constexpr std::int64_t kBiasColumns = 1024;   // columns of dbias per chunk of work

struct ProductLayout {
  Operands at;
  std::int64_t rows = 0, depth = 0, classes = 0;
  bool transposed = false, bias = false;
  ClassTargets targets;
  double smoothing = 0;
  Precision precision = Precision::highest;
  bool batch_invariant = false;
  std::int64_t chunk_rows = 0;
  bool dx = false, dweight = false, dbias = false;
  // Offsets into the shared scratch, in bytes.
  std::size_t bias_sums = 0, bytes = 0;

  bool gradient() const { return dx || dweight || dbias; }
};

bool wants(const KernelRequest& request, int output) {
  return output >= 0 && request.has_output(static_cast<std::size_t>(output));
}

ProductLayout make_layout(const KernelRequest& request, const Operands& o) {
  const auto input = [&](int i) -> const OperandSpec& {
    return request.inputs[static_cast<std::size_t>(i)];
  };
  ProductLayout l;
  l.at = o;
  l.transposed = request.attributes.flag("transpose_weight");
  const Sizes& weight = input(o.weight).sizes;
  l.depth = weight[l.transposed ? 1 : 0];
  l.classes = weight[l.transposed ? 0 : 1];
  l.rows = input(o.targets).numel();
  l.bias = request.has_input(static_cast<std::size_t>(o.bias));
  l.targets = {input(o.targets).dtype, l.classes, request.attributes.integer("ignore_index")};
  l.smoothing = request.attributes.real("label_smoothing");
  l.precision = request.precision;
  l.batch_invariant = request.batch_invariant;
  l.dx = wants(request, o.dx);
  l.dweight = wants(request, o.dweight);
  l.dbias = wants(request, o.dbias) && l.bias;

  const auto size = static_cast<std::int64_t>(dtype_size(input(o.x).dtype));
  std::int64_t bytes = request.attributes.integer("chunk_bytes");
  if (bytes == 0) bytes = kChunkBytes;
  const std::int64_t most = std::clamp(bytes / std::max<std::int64_t>(1, l.classes * size),
                                       kMinRows, std::max(kMinRows, l.rows));
  const std::int64_t chunks = std::clamp<std::int64_t>((l.rows + most - 1) / most, 1, kMaxChunks);
  l.chunk_rows = (l.rows + chunks - 1) / chunks;
  if (chunks > 1) l.chunk_rows = (l.chunk_rows + kMinRows - 1) / kMinRows * kMinRows;

  std::size_t end = 0;
  const auto reserve = [&](DType dtype, const Sizes& sizes) {
    const std::size_t begin = end;
    end += aligned_size(tensor_bytes(dtype, sizes));
    return begin;
  };
  const DType dtype = input(o.x).dtype;
  reserve(dtype, {l.chunk_rows, l.classes});  // the logits are at offset 0
  if (l.dbias) l.bias_sums = reserve(DType::f64, {l.classes});
  l.bytes = end;
  return l;
}

/// Computes the losses of one chunk from its logits, and replaces the logits by their gradient.
template <class T>
class LossRows {
 public:
  LossRows(const ProductLayout& layout, std::int64_t first_row) : l_(layout), first_(first_row) {}

  void operator()(const KernelRun& run, std::int64_t begin, std::int64_t end) const {
    T* logits = reinterpret_cast<T*>(run.shared_scratch);
    const auto n = static_cast<std::size_t>(l_.classes);
    for (std::int64_t r = begin; r < end; ++r) {
      T* row = logits + static_cast<std::size_t>(r) * n;
      if (l_.bias) {
        const T* bias = run.in<T>(static_cast<std::size_t>(l_.at.bias));
        for (std::size_t i = 0; i < n; ++i) row[i] += bias[i];
      }
      T lse;
      if (l_.at.forward()) {
        T max, excess = 0;
        double log_sum;
        logits_rows(
            LogitsStats<T>{row, &max, &log_sum, l_.smoothing > 0 ? &excess : nullptr, l_.classes},
            1);
        lse = static_cast<T>(static_cast<double>(max) + log_sum);
        if (T* out = run.out<T>(static_cast<std::size_t>(l_.at.out_lse))) out[first_ + r] = lse;
        if (T* out = run.out<T>(static_cast<std::size_t>(l_.at.out_loss))) {
          const std::int64_t t = target(run, r);
          out[first_ + r] = l_.targets.counts(t)
                                ? static_cast<T>(logits_loss(max, log_sum, excess, row[t],
                                                             l_.classes, l_.smoothing))
                                : T(0);
        }
      } else {
        lse = run.in<T>(static_cast<std::size_t>(l_.at.lse))[first_ + r];
      }
      if (l_.gradient()) write_gradient(run, r, row, lse);
    }
  }

 private:
  std::int64_t target(const KernelRun& run, std::int64_t r) const {
    return l_.targets.at(run.inputs[static_cast<std::size_t>(l_.at.targets)], first_ + r);
  }

  void write_gradient(const KernelRun& run, std::int64_t r, T* row, T lse) const {
    const std::int64_t t = target(run, r);
    if (!l_.targets.counts(t)) {
      std::fill_n(row, l_.classes, T(0));
      return;
    }
    const T g = run.in<T>(static_cast<std::size_t>(l_.at.g))[first_ + r];
    const T shift =
        l_.smoothing > 0 ? static_cast<T>(l_.smoothing / static_cast<double>(l_.classes)) : T(0);
    logits_grad_rows(LogitsGrad<T>{row, &lse, &g, row, l_.classes, shift}, 1);
    if (g != 0) row[t] -= static_cast<T>(1 - l_.smoothing) * g;
  }

  ProductLayout l_;
  std::int64_t first_;
};

/// Adds the phases for one chunk of rows. Only the gradients are kept after a chunk.
template <class T>
class ChunkBuilder {
 public:
  ChunkBuilder(Kernel& kernel, const ProductLayout& layout, DType dtype)
      : kernel_(kernel), l_(layout), dtype_(dtype), gemm_(kernel) {}

  void add(std::int64_t first, std::int64_t rows) {
    add_logits(first, rows);
    add_rows(first, rows);
    if (l_.dbias) add_bias_sums(rows, first == 0, first + rows == l_.rows);
    if (l_.dx) add_dx(first, rows);
    if (l_.dweight) add_dweight(first, rows);
  }

 private:
  GemmOperand operand(std::int64_t row_stride, std::int64_t column_stride) const {
    return {dtype_, row_stride, column_stride, {}};
  }
  /// Returns the weight as a [classes, depth] operand, regardless of its layout.
  GemmOperand weight() const {
    return l_.transposed ? operand(l_.depth, 1) : operand(1, l_.classes);
  }
  static GemmOperand transposed(GemmOperand o) {
    std::swap(o.row_stride, o.column_stride);
    return o;
  }

  void add_logits(std::int64_t first, std::int64_t rows) {
    const GemmBatch batch{.m = rows,
                          .n = l_.classes,
                          .k = l_.depth,
                          .a = operand(l_.depth, 1),
                          .b = transposed(weight()),
                          .c = operand(l_.classes, 1),
                          .precision = l_.precision,
                          .batch_invariant = l_.batch_invariant};
    gemm_.add(batch, [at = l_.at, offset = first * l_.depth](const KernelRun& run) {
      return GemmPointers{run.in<T>(static_cast<std::size_t>(at.x)) + offset,
                          run.inputs[static_cast<std::size_t>(at.weight)], run.shared_scratch};
    });
  }

  void add_rows(std::int64_t first, std::int64_t rows) {
    Phase phase;
    const double work = static_cast<double>(rows) * static_cast<double>(l_.classes);
    phase.chunks = chunk_count(rows, std::max<std::int64_t>(1, (1 << 15) / (l_.classes + 1)));
    phase.cost_ns = work * (l_.gradient() ? 2 : 1);
    phase.body = [work = LossRows<T>(l_, first), rows, chunks = phase.chunks](const KernelRun& run,
                                                                              std::int64_t chunk) {
      const auto [begin, end] = chunk_range(rows, chunks, chunk);
      work(run, begin, end);
    };
    kernel_.phases.push_back(std::move(phase));
  }

  void add_bias_sums(std::int64_t rows, bool first, bool last) {
    Phase phase;
    phase.chunks = chunk_count(l_.classes, kBiasColumns);
    phase.cost_ns = 0.5 * static_cast<double>(rows) * static_cast<double>(l_.classes);
    phase.body = [l = l_, rows, first, last, chunks = phase.chunks](const KernelRun& run,
                                                                    std::int64_t chunk) {
      const auto [begin, end] = chunk_range(l.classes, chunks, chunk, 16);
      double* sums = reinterpret_cast<double*>(run.shared_scratch + l.bias_sums);
      if (first) std::fill(sums + begin, sums + end, 0.0);
      const T* d = reinterpret_cast<const T*>(run.shared_scratch);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = begin; i < end; ++i) {
          sums[i] += static_cast<double>(d[r * l.classes + i]);
        }
      }
      if (!last) return;
      T* out = run.out<T>(static_cast<std::size_t>(l.at.dbias));
      for (std::int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(sums[i]);
    };
    kernel_.phases.push_back(std::move(phase));
  }

  void add_dx(std::int64_t first, std::int64_t rows) {
    const GemmBatch batch{.m = rows,
                          .n = l_.depth,
                          .k = l_.classes,
                          .a = operand(l_.classes, 1),
                          .b = weight(),
                          .c = operand(l_.depth, 1),
                          .precision = l_.precision};
    gemm_.add(batch, [at = l_.at, offset = first * l_.depth](const KernelRun& run) {
      return GemmPointers{run.shared_scratch, run.inputs[static_cast<std::size_t>(at.weight)],
                          run.out<T>(static_cast<std::size_t>(at.dx)) + offset};
    });
  }

  void add_dweight(std::int64_t first, std::int64_t rows) {
    const GemmOperand d = operand(l_.classes, 1), x = operand(l_.depth, 1);
    GemmBatch batch{.m = l_.classes,
                    .n = l_.depth,
                    .k = rows,
                    .a = transposed(d),
                    .b = x,
                    .c = operand(l_.depth, 1),
                    .accumulate = first > 0,
                    .precision = l_.precision};
    if (!l_.transposed) {
      batch.m = l_.depth;
      batch.n = l_.classes;
      batch.a = transposed(x);
      batch.b = d;
      batch.c = operand(l_.classes, 1);
    }
    gemm_.add(batch, [at = l_.at, offset = first * l_.depth,
                      x_first = !l_.transposed](const KernelRun& run) {
      const void* logits = run.shared_scratch;
      const void* rows_of_x = run.in<T>(static_cast<std::size_t>(at.x)) + offset;
      return GemmPointers{x_first ? rows_of_x : logits, x_first ? logits : rows_of_x,
                          run.outputs[static_cast<std::size_t>(at.dweight)]};
    });
  }

  Kernel& kernel_;
  const ProductLayout& l_;
  const DType dtype_;
  ParallelGemm gemm_;
};

template <class T>
Kernel make_kernel(const KernelRequest& request, const Operands& o) {
  const ProductLayout l = make_layout(request, o);
  Kernel kernel;
  kernel.shared_scratch = l.bytes;
  ChunkBuilder<T> builder(kernel, l, dtype_of<T>);
  // If there are no rows, the gradients must still be written, as zeros.
  std::int64_t first = 0;
  do {
    builder.add(first, std::min(l.chunk_rows, l.rows - first));
    first += l.chunk_rows;
  } while (first < l.rows);
  const auto targets = static_cast<std::size_t>(o.targets);
  kernel.check = check_targets(l.targets, request.inputs[targets].sizes, targets);
  return kernel;
}

template <const Operands& o>
Kernel kernel_of(const KernelRequest& request) {
  return request.inputs[static_cast<std::size_t>(o.x)].dtype == DType::f32
             ? make_kernel<float>(request, o)
             : make_kernel<double>(request, o);
}

template <const Operands& o>
Cost cost_of(const KernelRequest& request) {
  const ProductLayout l = make_layout(request, o);
  const auto elements = [&](int i) {
    return static_cast<double>(request.inputs[static_cast<std::size_t>(i)].numel());
  };
  const double product = 2 * elements(o.x) * static_cast<double>(l.classes);
  const double logits = static_cast<double>(l.rows) * static_cast<double>(l.classes);
  const int products = 1 + (l.dx ? 1 : 0) + (l.dweight ? 1 : 0);
  const double size =
      static_cast<double>(dtype_size(request.inputs[static_cast<std::size_t>(o.x)].dtype));
  return {.flops = products * product + (l.gradient() ? 8 : 4) * logits,
          .bytes = size * products * (elements(o.x) + elements(o.weight))};
}

template <const Operands& o>
OpRecord record(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  if (o.g >= 0) r.inputs = {{"g"}};
  for (const InputSpec& input : {InputSpec{"x"}, InputSpec{"weight"},
                                 InputSpec{"bias", Arity::optional}, InputSpec{"targets"}}) {
    r.inputs.push_back(input);
  }
  if (o.lse >= 0) r.inputs.push_back({"lse"});
  r.attributes = {{"transpose_weight", true},
                  {"ignore_index", std::int64_t{-100}},
                  {"label_smoothing", 0.0},
                  {"precision", std::string()},
                  {"chunk_bytes", std::int64_t{0}}};
  r.outputs.clear();
  if (o.forward()) r.outputs = {"loss", "lse"};
  if (o.backward()) {
    for (const char* output : {"dx", "dweight", "dbias"}) r.outputs.emplace_back(output);
  }
  r.infer = infer_op<o>;
  r.kernel = kernel_of<o>;
  r.cost = cost_of<o>;
  r.gradient = o.backward() ? Gradient::decomposition : Gradient::rule;
  return r;
}

}  // namespace

void LinearCrossEntropyOps::add(OpSet& ops) {
  ops.add(record<kForward>(
      "linear_cross_entropy",
      "cross_entropy (loss and lse for each row) of the logits x weight^T + bias with weight "
      "[classes, depth] or, if transpose_weight is false, x weight + bias with weight [depth, "
      "classes]. At most "
      "chunk_bytes of logits (0: 64 MiB), and at least 16 rows, are in memory at a time."));
  ops.add(
      record<kGrad>("linear_cross_entropy_grad",
                    "Gradients of the loss of linear_cross_entropy with respect to x, weight and "
                    "bias. g is the cotangent of the loss. dbias has shape [0] if there is no "
                    "bias."));
  ops.add(record<kBoth>("linear_cross_entropy_with_grad",
                        "linear_cross_entropy and its gradients in one sweep, so that the logits "
                        "are computed only once. g must not depend on the loss."));
}

}  // namespace weft
