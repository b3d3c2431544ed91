// Kernels of attention and attention_grad: data checks and phases over blocks of queries and keys.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/quantized/int8_rows.h"
#include "weft/ops/kernels/sequence/attention.h"
#include "weft/ops/sequence/attention_op.h"

namespace weft::attention_op {
namespace {

/// Concrete sizes and attributes. The pointers are set for each run.
template <class T>
class Problem {
 public:
  Problem(const KernelRequest& request, bool gradient) : gradient_(gradient) {
    const auto sizes = [&](int operand) -> const Sizes& {
      return request.inputs[at(operand)].sizes;
    };
    for (int i = 0; i < kOperands; ++i) {
      present_[i] = position_of(i, gradient) >= 0 && request.has_input(at(i));
      wide_[i] = present_[i] && request.inputs[at(i)].dtype == DType::i64;
    }
    const DType keys_as = request.inputs[at(kK)].dtype;
    args_.packed = keys_as == DType::i8;
    args_.narrow = args_.packed || keys_as == DType::bf16;
    args_.narrow_queries = request.inputs[at(kQ)].dtype == DType::bf16;
    args_.B = sizes(kQ)[0];
    args_.H = sizes(kQ)[1];
    args_.Lq = sizes(kQ)[2];
    args_.D = sizes(kQ)[3];
    key_batch_ = sizes(kK)[0];
    args_.Hkv = sizes(kK)[1];
    args_.ring = sizes(kK)[2];
    const Dim& keys = request.attributes.dim("ring");
    args_.Lk = keys == Dim(0) ? args_.ring : keys.constant();
    args_.Dv = sizes(kV)[3] - (args_.packed ? kernels::kRowScaleBytes : 0);
    if (present_[kBias]) args_.bias_strides = strides(sizes(kBias));
    if (present_[kMask]) args_.mask_strides = strides(sizes(kMask));
    if (present_[kOffsetBias]) args_.offset_count = sizes(kOffsetBias)[1];
    if (present_[kRowBias]) args_.row_count = sizes(kRowBias)[3];
    if (present_[kColBias]) args_.col_count = sizes(kColBias)[3];
    const Attributes& a = request.attributes;
    args_.causal = a.flag("causal");
    args_.window = a.integer("window");
    args_.chunk = a.integer("chunk");
    args_.soft_cap = static_cast<T>(a.real("soft_cap"));
    if (present_[kOffsets]) args_.texts = sizes(kOffsets)[0] - 1;
    args_.scale = static_cast<T>(a.real("scale"));
    const double rate = a.real("dropout");
    args_.drop_below = static_cast<std::uint64_t>(std::ceil(rate * 0x1p32));
    args_.keep_scale = static_cast<T>(1 / (1 - rate));
    args_.random.stream = static_cast<std::uint32_t>(a.integer("stream"));
    args_.batch_invariant = request.batch_invariant && !gradient;
    if (std::is_same_v<T, float> && !request.batch_invariant) {
      args_.engine = kernels::choose_tile_engine(request.precision, std::min(args_.Lq, kQueryBlock),
                                                 std::min(args_.most_keys(), kKeyBlock),
                                                 std::min(args_.D, args_.Dv));
    }
  }

  const AttentionArgs<T>& sizes() const { return args_; }

  AttentionArgs<T> bind(const KernelRun& run) const {
    AttentionArgs<T> a = args_;
    const auto pointer = [&](int i) -> const void* {
      return present_[i] ? run.inputs[at(i)] : nullptr;
    };
    const auto values = [&](int i) { return static_cast<const T*>(pointer(i)); };
    if (a.narrow_queries) {
      a.narrow_q = static_cast<const BFloat16*>(pointer(kQ));
    } else {
      a.q = values(kQ);
    }
    if (a.packed) {
      a.packed_k = static_cast<const std::int8_t*>(pointer(kK));
      a.packed_v = static_cast<const std::int8_t*>(pointer(kV));
    } else if (a.narrow) {
      a.narrow_k = static_cast<const BFloat16*>(pointer(kK));
      a.narrow_v = static_cast<const BFloat16*>(pointer(kV));
    } else {
      a.k = values(kK);
      a.v = values(kV);
    }
    a.bias = values(kBias);
    a.mask = static_cast<const bool*>(pointer(kMask));
    a.offset_bias = values(kOffsetBias);
    a.row_bias = values(kRowBias);
    a.row_index = indices(run, kRowIndex);
    a.col_bias = values(kColBias);
    a.col_index = indices(run, kColIndex);
    a.lengths = indices(run, kLengths);
    a.q_start = indices(run, kQStart);
    a.kv_rows = indices(run, kKvRows);
    a.sinks = values(kSinks);
    a.offsets = indices(run, kOffsets);
    if (a.drop_below > 0) {
      const auto* key = static_cast<const std::int64_t*>(pointer(kKey));
      a.random.seed = static_cast<std::uint64_t>(key[0]);
      a.random.step = static_cast<std::uint32_t>(key[1]);
    }
    return a;
  }

  /// Returns the data checks, or an empty function if there is no data to check. The checks read
  /// only the integer operands; the request specifies which other operands are present.
  std::function<void(const KernelRun&)> check() const {
    constexpr int kChecked[] = {kLengths, kQStart, kKvRows, kRowIndex, kColIndex, kOffsets};
    if (std::none_of(std::begin(kChecked), std::end(kChecked),
                     [&](int operand) { return present_[operand]; })) {
      return {};
    }
    return [self = *this](const KernelRun& run) {
      const AttentionArgs<T>& a = self.args_;
      if (self.present_[kOffsets]) check_offsets(self.indices(run, kOffsets), a.texts, a.Lq);
      for (std::int64_t b = 0; b < a.B; ++b) {
        if (self.present_[kLengths]) check_length(self.indices(run, kLengths)[b], a.Lk, b);
        if (self.present_[kQStart]) self.check_start(self.indices(run, kQStart)[b], b);
        if (self.present_[kKvRows]) self.check_row(self.indices(run, kKvRows)[b], b);
        if (a.ring < a.Lk) check_ring(self.bind(run), b);
      }
      if (self.present_[kRowIndex]) {
        check_index(a, self.indices(run, kRowIndex), a.row_count, "row_index", "row_bias");
      }
      if (self.present_[kColIndex]) {
        check_index(a, self.indices(run, kColIndex), a.col_count, "col_index", "col_bias");
      }
    };
  }

 private:
  static ScoreStrides strides(const Sizes& sizes) {
    const Sizes s = row_major_strides(sizes);
    const auto stride = [&](std::size_t i) { return sizes[i] == 1 ? 0 : s[i]; };
    return {stride(0), stride(1), stride(2), stride(3)};
  }

  IndexData indices(const KernelRun& run, int operand) const {
    return {present_[operand] ? run.inputs[at(operand)] : nullptr, wide_[operand]};
  }

  std::size_t at(int operand) const {
    return static_cast<std::size_t>(position_of(operand, gradient_));
  }

  static void check_offsets(const IndexData& offsets, std::int64_t texts, std::int64_t tokens) {
    if (texts < 0)
      throw DataError("offsets is empty: it must contain the beginning of every text and the end");
    if (offsets[0] != 0) {
      throw DataError(fmt::format("offsets[0] is {}: the first text must begin at 0", offsets[0]));
    }
    for (std::int64_t t = 0; t < texts; ++t) {
      if (offsets[t] <= offsets[t + 1]) continue;
      throw DataError(fmt::format("offsets[{}] is {}, which is less than offsets[{}] = {}", t + 1,
                                  offsets[t + 1], t, offsets[t]));
    }
    if (offsets[texts] == tokens) return;
    throw DataError(fmt::format(
        "offsets[{}], the end of the last text, is {}, but there are {} queries and keys", texts,
        offsets[texts], tokens));
  }

  static void check_length(std::int64_t length, std::int64_t keys, std::int64_t b) {
    if (length >= 0 && length <= keys) return;
    throw DataError(fmt::format("lengths[{}] is {}, but there are {} keys: it must be in [0, {}]",
                                b, length, keys, keys));
  }

  void check_row(std::int64_t row, std::int64_t b) const {
    if (row >= 0 && row < key_batch_) return;
    throw DataError(
        fmt::format("kv_rows[{}] is {}, but k and v have {} rows: it must be in [0, {})", b, row,
                    key_batch_, key_batch_));
  }

  static void check_ring(const AttentionArgs<T>& a, std::int64_t b) {
    if (a.Lq == 0) return;
    const auto keys = a.visible(b, 0, a.Lq);
    if (keys.begin >= keys.end || a.length(b) - keys.begin <= a.ring) return;
    throw DataError(fmt::format(
        "row {} attends to keys {} to {} of {}, but k and v are ring buffers of {} keys: "
        "pass fewer queries at a time, or larger buffers",
        b, keys.begin, keys.end - 1, a.length(b), a.ring));
  }

  void check_start(std::int64_t start, std::int64_t b) const {
    const AttentionArgs<T>& a = args_;
    if (start < 0) {
      throw DataError(fmt::format("q_start[{}] is {}: it must not be negative", b, start));
    }
    if (a.causal && start > a.Lk - a.Lq) {
      throw DataError(
          fmt::format("cache overflow: q_start[{}] is {} and there are {} queries, but the cache "
                      "has room for only {} keys",
                      b, start, a.Lq, a.Lk));
    }
    // offset_bias must have at least `start + rest` entries per head.
    const std::int64_t rest = a.Lq + a.Lk - 1;
    if (present_[kOffsetBias] && a.Lq > 0 && start > a.offset_count - rest) {
      throw DataError(
          fmt::format("offset_bias has {} entries per head, but q_start[{}] = {} with {} queries "
                      "and {} keys requires {}",
                      a.offset_count, b, start, a.Lq, a.Lk,
                      static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(rest)));
    }
  }

  static void check_index(const AttentionArgs<T>& a, const IndexData& index, std::int64_t count,
                          std::string_view name, std::string_view table) {
    for (std::int64_t n = 0; n < a.Lq * a.Lk; ++n) {
      if (index[n] >= 0 && index[n] < count) continue;
      throw DataError(fmt::format("{}[{}, {}] is {}, but {} has {} entries: it must be in [0, {})",
                                  name, n / a.Lk, n % a.Lk, index[n], table, count, count));
    }
  }

  AttentionArgs<T> args_;
  std::int64_t key_batch_ = 0;  // axis 0 of k and v
  bool gradient_;               // the operands are those of attention_grad
  bool present_[kOperands] = {};
  bool wide_[kOperands] = {};
};

std::int64_t blocks(std::int64_t length, std::int64_t block) {
  return (length + block - 1) / block;
}

/// Returns the estimated cost at about 20 multiply-adds per ns on one core, with `products` matrix
/// products over all pairs of query and key.
template <class T>
double pairs_ns(const AttentionArgs<T>& a, double products) {
  const double pairs = static_cast<double>(a.B * a.H * a.Lq) * static_cast<double>(a.most_keys()) /
                       static_cast<double>(std::max<std::int64_t>(1, a.texts));
  return pairs * (2 + products * static_cast<double>(a.D + a.Dv) / 40);
}

/// Returns the cost of reading keys and values from memory, at about 10 bytes per ns. This cost
/// dominates if there are few queries.
template <class T>
double key_bytes_ns(const AttentionArgs<T>& a) {
  const double size = a.packed ? 1 : a.narrow ? sizeof(BFloat16) : sizeof(T);
  return static_cast<double>(a.B * a.Hkv * a.most_keys() * (a.D + a.Dv)) * size / 10;
}

/// Adds the phases for a single query with many keys: the first computes parts of the keys, the
/// second combines the parts of every head.
template <class T>
void add_parts(Kernel& kernel, const Problem<T>& problem, bool want_out, bool want_lse) {
  const AttentionArgs<T>& a = problem.sizes();
  const std::int64_t parts = a.parts(), heads = heads_per_part(a), groups = a.H / heads;
  const std::size_t begin = (kernel.shared_scratch + 63) / 64 * 64;
  const std::int64_t row_values = a.H * parts * a.Dv, row_stats = a.H * parts * 2;
  kernel.shared_scratch =
      begin + sizeof(T) * static_cast<std::size_t>(a.B * (row_values + row_stats));
  const auto results = [=, batch = a.B](const KernelRun& run, std::int64_t b) {
    T* const first = reinterpret_cast<T*>(run.shared_scratch + begin);
    return AttentionParts<T>{.values = first + b * row_values,
                             .stats = first + batch * row_values + b * row_stats};
  };
  const std::int64_t units = a.B * groups * parts;
  Phase phase;
  phase.chunks = chunk_count(units, 1);
  phase.cost_ns = std::max(pairs_ns(a, 1), key_bytes_ns(a));
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const AttentionArgs<T> args = problem.bind(run);
    const auto [first, last] = chunk_range(units, chunks, chunk);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t group = unit / parts, b = group / groups;
      attention_part(args, b, group % groups * heads, unit % parts, results(run, b),
                     run.slot_scratch);
    }
  };
  kernel.phases.push_back(std::move(phase));

  Phase sums;
  const std::int64_t rows = a.B * a.H;
  sums.chunks = chunk_count(rows, std::max<std::int64_t>(1, 65536 / (parts * a.Dv + 1)));
  sums.cost_ns = static_cast<double>(rows * parts) * (30 + static_cast<double>(a.Dv) / 8);
  sums.body = [=, chunks = sums.chunks](const KernelRun& run, std::int64_t chunk) {
    const AttentionArgs<T> args = problem.bind(run);
    T* out = want_out ? run.out<T>(0) : reinterpret_cast<T*>(run.shared_scratch);
    const auto [first, last] = chunk_range(rows, chunks, chunk);
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t b = row / args.H;
      attention_combine(args, b, row % args.H, results(run, b), out,
                        want_lse ? run.out<T>(1) : nullptr);
    }
  };
  kernel.phases.push_back(std::move(sums));
}

template <class T>
Kernel make_forward(const KernelRequest& request) {
  const Problem<T> problem(request, /*gradient=*/false);
  const AttentionArgs<T>& a = problem.sizes();
  const bool want_out = request.has_output(0), want_lse = request.has_output(1);
  const std::int64_t query_blocks = blocks(a.Lq, kQueryBlock), heads = heads_per_call(a);
  Kernel kernel;
  kernel.check = problem.check();
  kernel.slot_scratch = attention_scratch_bytes(a);
  // In the rare case that lse is requested without out, out is computed in scratch memory.
  if (!want_out)
    kernel.shared_scratch = sizeof(T) * static_cast<std::size_t>(a.B * a.H * a.Lq * a.Dv);
  if (a.parts() > 1) {
    add_parts(kernel, problem, want_out, want_lse);
    return kernel;
  }
  const std::int64_t units = a.B * a.H / heads * query_blocks;
  Phase phase;
  phase.chunks = chunk_count(units, 1);
  phase.cost_ns = std::max(pairs_ns(a, 1), key_bytes_ns(a));
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const AttentionArgs<T> args = problem.bind(run);
    T* out = want_out ? run.out<T>(0) : reinterpret_cast<T*>(run.shared_scratch);
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t head = unit / query_blocks * heads;
      const std::int64_t i0 = unit % query_blocks * kQueryBlock;
      attention_forward(args, head / args.H, head % args.H, heads, i0,
                        std::min(args.Lq, i0 + kQueryBlock), out,
                        want_lse ? run.out<T>(1) : nullptr, run.slot_scratch);
    }
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

/// The kernel of attention_grad. Every unit of work owns its outputs, including the gradients of
/// biases that are shared between heads or batch rows, or it owns partial sums, which the last
/// phase adds in a fixed order.
template <class T>
class GradKernel {
 public:
  explicit GradKernel(const KernelRequest& request)
      : problem_(request, /*gradient=*/true),
        narrow_out_(request.inputs[1].dtype == DType::bf16),
        has_g_lse_(request.has_input(kGradLse)) {
    const int operands[] = {kQ, kK, kV, kBias, kOffsetBias, kRowBias, kColBias};
    for (std::size_t i = 0; i < 7; ++i) {
      want_[i] = request.has_output(i) && request.has_input(static_cast<std::size_t>(kGradFirst) +
                                                            static_cast<std::size_t>(operands[i]));
    }
    if (want_[3]) bias_sizes_ = request.outputs[3].sizes;
    want_sinks_ = request.has_input(kGradSinks) && request.has_output(7);
  }

  Kernel make() const {
    const AttentionArgs<T>& a = problem_.sizes();
    Kernel kernel;
    kernel.check = problem_.check();
    kernel.slot_scratch = attention_grad_scratch_bytes(a);
    kernel.shared_scratch = static_cast<std::size_t>(2 * row_count() + partial_count()) * sizeof(T);
    kernel.phases.push_back(delta_phase());
    kernel.phases.push_back(norm_phase());
    if (one_pass()) {
      kernel.phases.push_back(head_phase());
    } else {
      if (want_[0] || want_[5]) kernel.phases.push_back(query_phase());
      if (want_[1] || want_[2] || want_[6]) kernel.phases.push_back(key_phase());
    }
    if (want_[3]) kernel.phases.push_back(bias_phase());
    if (want_[4]) {
      kernel.phases.push_back(offset_phase());
      kernel.phases.push_back(offset_sum_phase());
    }
    if (want_sinks_) kernel.phases.push_back(sinks_phase());
    return kernel;
  }

 private:
  std::int64_t row_count() const {
    const AttentionArgs<T>& a = problem_.sizes();
    return a.B * a.H * a.Lq;
  }
  /// Returns true if every unit of work computes all gradients of a key head, which recomputes
  /// every tile of scores only once. This requires enough heads to keep the workers busy. With
  /// windows or several texts, the first visible keys of the queries differ, and the sums of dq
  /// would begin at other keys, which would change their bits.
  bool one_pass() const {
    constexpr std::int64_t kEnoughHeads = 12;
    const AttentionArgs<T>& a = problem_.sizes();
    return want_[0] && (want_[1] || want_[2]) && !want_[5] && a.B * a.Hkv >= kEnoughHeads &&
           a.window == 0 && a.chunk == 0 && a.texts == 0;
  }
  /// Returns the number of groups of query blocks with separate partial sums of doffset_bias. This
  /// number is large enough to keep all workers busy.
  std::int64_t offset_groups() const {
    const AttentionArgs<T>& a = problem_.sizes();
    const std::int64_t wanted = std::max<std::int64_t>(1, 32 / std::max<std::int64_t>(1, a.H));
    return std::max<std::int64_t>(1, std::min(wanted, blocks(a.Lq, kQueryBlock)));
  }
  std::int64_t partial_count() const {
    const AttentionArgs<T>& a = problem_.sizes();
    return want_[4] ? a.H * offset_groups() * a.offset_count : 0;
  }

  AttentionGrads<T> bind(const KernelRun& run) const {
    AttentionGrads<T> g;
    g.g = run.in<T>(0);
    if (narrow_out_) {
      g.narrow_out = run.in<BFloat16>(1);
    } else {
      g.out = run.in<T>(1);
    }
    g.lse = run.in<T>(2);
    if (has_g_lse_) g.g_lse = run.in<T>(kGradLse);
    g.delta = reinterpret_cast<T*>(run.shared_scratch);
    g.norm = g.delta + row_count();
    if (want_[0]) g.dq = run.out<T>(0);
    if (want_[1]) g.dk = run.out<T>(1);
    if (want_[2]) g.dv = run.out<T>(2);
    if (want_[5]) g.drow_bias = run.out<T>(5);
    if (want_[6]) g.dcol_bias = run.out<T>(6);
    return g;
  }

  Phase delta_phase() const {
    Phase phase;
    const std::int64_t rows = row_count();
    phase.chunks = chunk_count(rows, 256);
    phase.cost_ns = static_cast<double>(rows * problem_.sizes().Dv) / 4;
    phase.body = [self = *this, rows, chunks = phase.chunks](const KernelRun& run,
                                                             std::int64_t chunk) {
      const auto [begin, end] = chunk_range(rows, chunks, chunk);
      attention_delta(self.problem_.sizes(), self.bind(run), begin, end, run.slot_scratch);
    };
    return phase;
  }

  /// Returns a phase that calls fn(self, args, grads, run, unit) for each unit.
  template <class Fn>
  Phase unit_phase(std::int64_t units, double cost_ns, Fn fn) const {
    Phase phase;
    phase.chunks = chunk_count(units, 1);
    phase.cost_ns = cost_ns;
    phase.body = [self = *this, units, fn, chunks = phase.chunks](const KernelRun& run,
                                                                  std::int64_t chunk) {
      const AttentionArgs<T> args = self.problem_.bind(run);
      const AttentionGrads<T> grads = self.bind(run);
      const auto [begin, end] = chunk_range(units, chunks, chunk);
      for (std::int64_t unit = begin; unit < end; ++unit) fn(self, args, grads, run, unit);
    };
    return phase;
  }

  /// Costs little if no |lse| is large, as is usual.
  Phase norm_phase() const {
    const AttentionArgs<T>& a = problem_.sizes();
    const std::int64_t count = blocks(a.Lq, kQueryBlock);
    return unit_phase(
        a.B * a.H * count, static_cast<double>(row_count()),
        [count](const GradKernel&, const AttentionArgs<T>& args, const AttentionGrads<T>& grads,
                const KernelRun& run, std::int64_t unit) {
          const std::int64_t head = unit / count;
          attention_norms(args, grads, head / args.H, head % args.H, unit % count * kQueryBlock,
                          run.slot_scratch);
        });
  }

  Phase query_phase() const {
    const AttentionArgs<T>& a = problem_.sizes();
    const std::int64_t count = blocks(a.Lq, kQueryBlock);
    return unit_phase(
        a.B * a.H * count, pairs_ns(a, 1.5),
        [count](const GradKernel&, const AttentionArgs<T>& args, const AttentionGrads<T>& grads,
                const KernelRun& run, std::int64_t unit) {
          const std::int64_t head = unit / count;
          attention_grad_queries(args, grads, head / args.H, head % args.H,
                                 unit % count * kQueryBlock, run.slot_scratch);
        });
  }

  Phase key_phase() const {
    const AttentionArgs<T>& a = problem_.sizes();
    const std::int64_t count = blocks(a.Lk, kKeyBlock);
    return unit_phase(
        a.B * a.Hkv * count, pairs_ns(a, 2),
        [count](const GradKernel&, const AttentionArgs<T>& args, const AttentionGrads<T>& grads,
                const KernelRun& run, std::int64_t unit) {
          const std::int64_t head = unit / count;
          attention_grad_keys(args, grads, head / args.Hkv, head % args.Hkv,
                              unit % count * kKeyBlock, run.slot_scratch);
        });
  }

  Phase head_phase() const {
    const AttentionArgs<T>& a = problem_.sizes();
    return unit_phase(a.B * a.Hkv, pairs_ns(a, 2.5),
                      [](const GradKernel&, const AttentionArgs<T>& args,
                         const AttentionGrads<T>& grads, const KernelRun& run, std::int64_t unit) {
                        attention_grad_heads(args, grads, unit / args.Hkv, unit % args.Hkv,
                                             run.slot_scratch);
                      });
  }

  /// Returns the phase that computes dbias. A unit owns the elements of dbias for one batch row,
  /// head and block of queries or keys (if dbias has these axes) and sums over the broadcast axes.
  Phase bias_phase() const {
    const AttentionArgs<T>& a = problem_.sizes();
    const bool by_query = bias_sizes_[2] == a.Lq, by_key = !by_query && bias_sizes_[3] == a.Lk;
    const std::int64_t count = by_query ? blocks(a.Lq, kQueryBlock)
                               : by_key ? blocks(a.Lk, kKeyBlock)
                                        : 1;
    return unit_phase(
        bias_sizes_[0] * bias_sizes_[1] * count, pairs_ns(a, 1),
        [=](const GradKernel& self, const AttentionArgs<T>& args, const AttentionGrads<T>& grads,
            const KernelRun& run, std::int64_t unit) {
          const std::int64_t part = unit % count, head = unit / count;
          const std::int64_t bb = head / self.bias_sizes_[1], bh = head % self.bias_sizes_[1];
          const auto axis = [](bool full, std::int64_t at, std::int64_t size) {
            return full ? std::pair{at, at + 1} : std::pair{std::int64_t{0}, size};
          };
          const auto [b0, b1] = axis(self.bias_sizes_[0] == args.B, bb, args.B);
          const auto [h0, h1] = axis(self.bias_sizes_[1] == args.H, bh, args.H);
          const std::int64_t q0 = by_query ? part * kQueryBlock : 0;
          const std::int64_t q1 = by_query ? std::min(args.Lq, q0 + kQueryBlock) : args.Lq;
          const std::int64_t k0 = by_key ? part * kKeyBlock : 0;
          const std::int64_t k1 = by_key ? std::min(args.Lk, k0 + kKeyBlock) : args.Lk;
          self.clear_bias(run.out<T>(3), bb, bh, q0, q1, k0, k1);
          for (std::int64_t b = b0; b < b1; ++b) {
            for (std::int64_t h = h0; h < h1; ++h) {
              self.add_tiles(args, grads, b, h, q0, q1, k0, k1, run.out<T>(3), nullptr, run);
            }
          }
        });
  }

  void clear_bias(T* dbias, std::int64_t bb, std::int64_t bh, std::int64_t q0, std::int64_t q1,
                  std::int64_t k0, std::int64_t k1) const {
    if (bias_sizes_[2] == 1) q0 = 0, q1 = 1;
    if (bias_sizes_[3] == 1) k0 = 0, k1 = 1;
    for (std::int64_t i = q0; i < q1; ++i) {
      T* row = dbias + ((bb * bias_sizes_[1] + bh) * bias_sizes_[2] + i) * bias_sizes_[3];
      std::fill(row + k0, row + k1, T{0});
    }
  }

  /// Adds the tiles of one head in a fixed order.
  void add_tiles(const AttentionArgs<T>& args, const AttentionGrads<T>& grads, std::int64_t b,
                 std::int64_t h, std::int64_t q0, std::int64_t q1, std::int64_t k0, std::int64_t k1,
                 T* dbias, T* doffset, const KernelRun& run) const {
    for (std::int64_t i = q0; i < q1; i += kQueryBlock) {
      const auto keys = args.visible(b, i, std::min(q1, i + kQueryBlock));
      const std::int64_t first = k0 + (std::max(k0, keys.begin) - k0) / kKeyBlock * kKeyBlock;
      for (std::int64_t j = first; j < std::min(k1, keys.end); j += kKeyBlock) {
        attention_grad_scores(args, grads, b, h, i, std::min(q1, i + kQueryBlock), j,
                              std::min(k1, j + kKeyBlock), dbias, doffset, run.slot_scratch);
      }
    }
  }

  Phase offset_phase() const {
    const AttentionArgs<T>& a = problem_.sizes();
    const std::int64_t groups = offset_groups(), count = blocks(a.Lq, kQueryBlock);
    return unit_phase(a.H * groups, pairs_ns(a, 1),
                      [=](const GradKernel& self, const AttentionArgs<T>& args,
                          const AttentionGrads<T>& grads, const KernelRun& run, std::int64_t unit) {
                        T* partial = grads.norm + self.row_count() + unit * args.offset_count;
                        std::fill(partial, partial + args.offset_count, T{0});
                        const auto [begin, end] = chunk_range(count, groups, unit % groups);
                        for (std::int64_t b = 0; b < args.B; ++b) {
                          self.add_tiles(args, grads, b, unit / groups, begin * kQueryBlock,
                                         std::min(args.Lq, end * kQueryBlock), 0, args.Lk, nullptr,
                                         partial, run);
                        }
                      });
  }

  Phase offset_sum_phase() const {
    const AttentionArgs<T>& a = problem_.sizes();
    const std::int64_t groups = offset_groups();
    return unit_phase(a.H, static_cast<double>(partial_count()),
                      [=](const GradKernel& self, const AttentionArgs<T>& args,
                          const AttentionGrads<T>& grads, const KernelRun& run, std::int64_t h) {
                        const T* partial =
                            grads.norm + self.row_count() + h * groups * args.offset_count;
                        T* out = run.out<T>(4) + h * args.offset_count;
                        for (std::int64_t t = 0; t < args.offset_count; ++t) {
                          double sum = 0;
                          for (std::int64_t g = 0; g < groups; ++g) {
                            sum += static_cast<double>(partial[g * args.offset_count + t]);
                          }
                          out[t] = static_cast<T>(sum);
                        }
                      });
  }

  /// Sums the gradients of the scores of the sinks: their values are 0, so dropout(g v^T) is 0.
  Phase sinks_phase() const {
    return unit_phase(problem_.sizes().H, static_cast<double>(row_count()) * 5,
                      [](const GradKernel&, const AttentionArgs<T>& args,
                         const AttentionGrads<T>& grads, const KernelRun& run, std::int64_t h) {
                        double sum = 0;
                        for (std::int64_t b = 0; b < args.B; ++b) {
                          for (std::int64_t i = 0; i < args.Lq; ++i) {
                            const std::int64_t row = args.query_row(b, h, i);
                            const auto lse = static_cast<double>(grads.lse[row]);
                            if (lse == -std::numeric_limits<double>::infinity()) continue;
                            const double p = std::exp(static_cast<double>(args.sinks[h]) - lse);
                            sum -= p * static_cast<double>(grads.norm[row]) *
                                   static_cast<double>(grads.delta[row]);
                          }
                        }
                        run.out<T>(7)[h] = static_cast<T>(sum);
                      });
  }

  Problem<T> problem_;
  bool want_[7] = {};
  bool want_sinks_ = false;
  bool narrow_out_, has_g_lse_;
  Sizes bias_sizes_;
};

}  // namespace

Kernel kernel(const KernelRequest& request) {
  return request.inputs[kQ].dtype == DType::f64 ? make_forward<double>(request)
                                                : make_forward<float>(request);
}

Kernel grad_kernel(const KernelRequest& request) {
  return request.inputs[kGradFirst].dtype == DType::f64 ? GradKernel<double>(request).make()
                                                        : GradKernel<float>(request).make();
}

}  // namespace weft::attention_op
