// Cross-entropy between logits and probabilities of the classes at each position, and its gradient.
#include <fmt/format.h>

#include "weft/ops/kernels/losses/cross_entropy.h"
#include "weft/ops/losses/class_lines.h"

namespace weft {
namespace {

/// Checks the logits (operand `x`) and the targets (operand x + 1). Returns the shape of the
/// positions.
Shape require_soft_operands(const InferContext& c, int x) {
  const Shape positions = require_logits(c, x);
  c.require_same_dtype(x, x + 1);
  if (!c.equal(c.shape(x + 1), c.shape(x))) {
    throw ShapeError(
        fmt::format("targets {} are probabilities, so they must have the shape of logits, {}; "
                    "class indices must be i32 or i64 {}",
                    c.input(x + 1).str(), c.shape(x).str(), positions.str()));
  }
  return positions;
}

std::vector<ValueType> infer_soft_cross_entropy(const InferContext& c) {
  const ValueType positions{c.dtype(0), require_soft_operands(c, 0)};
  return {positions, positions};
}

std::vector<ValueType> infer_soft_cross_entropy_grad(const InferContext& c) {
  return infer_logits_grad(c, require_soft_operands(c, 1));
}

template <class T>
void target_stats(const ClassLines& l, const TargetStats<T>& args, std::int64_t first,
                  std::int64_t last) {
  if (l.inner == 1) {
    target_rows(args, last);
  } else {
    target_columns(args, l.inner, first, last);
  }
}

template <class T>
Kernel soft_forward_kernel(const KernelRequest& request) {
  const ClassLines l(request.inputs[0].sizes, request.attributes.integer("axis"));
  const double e = request.attributes.real("label_smoothing");
  const bool want_loss = request.has_output(0), want_lse = request.has_output(1);
  const std::int64_t positions = l.positions();
  Kernel kernel;
  kernel.shared_scratch =
      static_cast<std::size_t>(positions) * (3 * sizeof(double) + 2 * sizeof(T));
  Phase phase;
  phase.chunks = l.chunks();
  phase.cost_ns = 1.5 * static_cast<double>(request.inputs[0].numel());
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const T* x = run.in<T>(0);
    double* log_sum = reinterpret_cast<double*>(run.shared_scratch);
    double *total = log_sum + positions, *distance = total + positions;
    T* max = reinterpret_cast<T*>(distance + positions);
    T* excess = max + positions;
    l.for_pieces(chunks, chunk, [&](std::int64_t o, std::int64_t first, std::int64_t last) {
      const std::int64_t p = o * l.inner, offset = o * l.classes * l.inner;
      const LogitsStats<T> args{x + offset, max + p, log_sum + p, e > 0 ? excess + p : nullptr,
                                l.classes};
      if (l.inner == 1) {
        logits_rows(args, last);
      } else {
        logits_columns(args, l.inner, first, last);
      }
      if (want_loss) {
        target_stats<T>(
            l, {x + offset, run.in<T>(1) + offset, max + p, total + p, distance + p, l.classes},
            first, last);
      }
      for (std::int64_t i = p + first; i < p + last; ++i) {
        if (want_lse) run.out<T>(1)[i] = static_cast<T>(static_cast<double>(max[i]) + log_sum[i]);
        if (!want_loss) continue;
        // Differences of logits are formed first, so the loss does not depend on a common offset.
        // If all targets are 0, the loss is 0, even if all logits are -inf.
        double loss = (1 - e) * (distance[i] + (total[i] == 0 ? 0 : log_sum[i] * total[i]));
        if (e > 0) {
          const double mean = static_cast<double>(excess[i]) / static_cast<double>(l.classes);
          loss += e * (log_sum[i] - mean);
        }
        run.out<T>(0)[i] = static_cast<T>(loss);
      }
    });
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

template <class T>
Kernel soft_backward_kernel(const KernelRequest& request) {
  const ClassLines l(request.inputs[1].sizes, request.attributes.integer("axis"));
  const double e = request.attributes.real("label_smoothing");
  const std::int64_t positions = l.positions();
  Kernel kernel;
  kernel.shared_scratch = static_cast<std::size_t>(positions) * (sizeof(double) + sizeof(T));
  Phase phase;
  phase.chunks = l.chunks();
  phase.cost_ns = 1.5 * static_cast<double>(request.inputs[1].numel());
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const T *g = run.in<T>(0), *targets = run.in<T>(2);
    T* dx = run.out<T>(0);
    double* total = reinterpret_cast<double*>(run.shared_scratch);
    T* scaled_g = reinterpret_cast<T*>(total + positions);  // g * (sum of the smoothed targets)
    const T keep = static_cast<T>(1 - e);
    const T spread = e > 0 ? static_cast<T>(e / static_cast<double>(l.classes)) : T(0);
    l.for_pieces(chunks, chunk, [&](std::int64_t o, std::int64_t first, std::int64_t last) {
      const std::int64_t p = o * l.inner, offset = o * l.classes * l.inner;
      const T* t = targets + offset;
      target_stats<T>(l, {nullptr, t, nullptr, total + p, nullptr, l.classes}, first, last);
      for (std::int64_t i = p + first; i < p + last; ++i) {
        scaled_g[i] = static_cast<T>(static_cast<double>(g[i]) * ((1 - e) * total[i] + e));
      }
      const LogitsGrad<T> args{run.in<T>(1) + offset, run.in<T>(3) + p, scaled_g + p,
                               dx + offset,           l.classes,        T(0)};
      if (l.inner == 1) {
        logits_grad_rows(args, last);
        for (std::int64_t r = 0; r < last; ++r) {
          const std::int64_t row = r * l.classes;
          for (std::int64_t c = row; c < row + l.classes; ++c) {
            dx[offset + c] -= g[p + r] * (keep * t[c] + spread);
          }
        }
        return;
      }
      logits_grad_columns(args, l.inner, first, last);
      for (std::int64_t c = 0; c < l.classes; ++c) {
        const std::int64_t row = c * l.inner;
        for (std::int64_t i = first; i < last; ++i) {
          dx[offset + row + i] -= g[p + i] * (keep * t[row + i] + spread);
        }
      }
    });
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel soft_cross_entropy_kernel(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::f32 ? soft_forward_kernel<float>(request)
                                               : soft_forward_kernel<double>(request);
}
Kernel soft_cross_entropy_grad_kernel(const KernelRequest& request) {
  return request.inputs[1].dtype == DType::f32 ? soft_backward_kernel<float>(request)
                                               : soft_backward_kernel<double>(request);
}

/// Returns the cost of passes over tensors of the size of the logits, operand kLogits.
template <std::size_t kLogits>
Cost soft_cost(const KernelRequest& request) {
  const OperandSpec& logits = request.inputs[kLogits];
  const double n = static_cast<double>(logits.numel());
  return {.flops = 7 * n,
          .bytes = (2 + kLogits) * n * static_cast<double>(dtype_size(logits.dtype))};
}

}  // namespace

void add_soft_cross_entropy_ops(OpSet& ops) {
  const std::vector<AttributeSpec> specs = {{"axis", std::int64_t{0}, true},
                                            {"label_smoothing", 0.0}};
  OpRecord forward;
  forward.name = "soft_cross_entropy";
  forward.doc =
      "For each position, with classes along `axis` and e = label_smoothing: loss = (1 - e) * "
      "sum(targets * (lse - x)) + e * (lse - mean(x)), lse = ln(sum(exp(x))). Classes with target "
      "0 do not contribute to the first sum, even if x is -inf.";
  forward.inputs = {{"logits"}, {"targets"}};
  forward.attributes = specs;
  forward.outputs = {"loss", "lse"};
  forward.infer = infer_soft_cross_entropy;
  forward.kernel = soft_cross_entropy_kernel;
  forward.cost = soft_cost<0>;
  ops.add(std::move(forward));

  OpRecord backward;
  backward.name = "soft_cross_entropy_grad";
  backward.doc =
      "Gradient of the loss of soft_cross_entropy with respect to the logits: g * (p * sum(t) - t) "
      "with t = (1 - e) * targets + e / classes and p = exp(x - lse). As in cross_entropy_grad, p "
      "is divided by its sum if |lse| > 32.";
  backward.inputs = {{"g"}, {"logits"}, {"targets"}, {"lse"}};
  backward.attributes = specs;
  backward.outputs = {"dlogits"};
  backward.inplace = {{0, 1}};
  backward.infer = infer_soft_cross_entropy_grad;
  backward.kernel = soft_cross_entropy_grad_kernel;
  backward.cost = soft_cost<1>;
  backward.gradient = Gradient::decomposition;
  ops.add(std::move(backward));
}

}  // namespace weft
