// The kernel of attention_grad: phases over blocks of queries and keys.
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/ops/sequence/attention_problem.h"

namespace weft::attention_op {
namespace {

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

Kernel grad_kernel(const KernelRequest& request) {
  return request.inputs[kGradFirst].dtype == DType::f64 ? GradKernel<double>(request).make()
                                                        : GradKernel<float>(request).make();
}

}  // namespace weft::attention_op
