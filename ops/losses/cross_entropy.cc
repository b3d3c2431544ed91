// Cross-entropy between logits and class indices at each position, and its gradient.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/losses/cross_entropy.h"
#include "weft/ops/losses/class_lines.h"
#include "weft/ops/losses/class_targets.h"

namespace weft {
namespace {

/// Checks the logits (operand `x`) and the targets (operand x + 1). Returns the shape of the
/// positions.
Shape require_operands(const InferContext& c, int x) {
  c.require_index(x + 1, "targets");
  const Shape shape = require_logits(c, x);
  if (!c.equal(c.shape(x + 1), shape)) {
    throw ShapeError(fmt::format(
        "targets must have the shape of logits without the class axis {}, {}, but has {}",
        c.attributes().integer("axis"), shape.str(), c.shape(x + 1).str()));
  }
  return shape;
}

std::vector<ValueType> infer_cross_entropy(const InferContext& c) {
  const ValueType positions{c.dtype(0), require_operands(c, 0)};
  return {positions, positions};
}

std::vector<ValueType> infer_cross_entropy_grad(const InferContext& c) {
  return infer_logits_grad(c, require_operands(c, 1));
}

struct Layout : ClassLines {
  ClassTargets targets;
  double smoothing;

  /// `logits` is the operand that holds the logits.
  Layout(const KernelRequest& request, std::size_t logits)
      : ClassLines(request.inputs[logits].sizes, request.attributes.integer("axis")),
        targets{request.inputs[logits + 1].dtype, classes,
                request.attributes.integer("ignore_index")},
        smoothing(request.attributes.real("label_smoothing")) {}
};

template <class T>
Kernel forward_kernel(const KernelRequest& request) {
  const Layout l(request, 0);
  const bool want_loss = request.has_output(0), want_lse = request.has_output(1);
  const std::int64_t positions = l.positions();
  Kernel kernel;
  kernel.check = check_targets(l.targets, request.inputs[1].sizes, 1);
  kernel.shared_scratch = static_cast<std::size_t>(positions) * (sizeof(double) + 2 * sizeof(T));
  Phase phase;
  phase.chunks = l.chunks();
  phase.cost_ns = static_cast<double>(request.inputs[0].numel());
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const T* x = run.in<T>(0);
    double* log_sum = reinterpret_cast<double*>(run.shared_scratch);
    T* max = reinterpret_cast<T*>(log_sum + positions);
    T* excess = max + positions;
    l.for_pieces(chunks, chunk, [&](std::int64_t o, std::int64_t first, std::int64_t last) {
      const std::int64_t p = o * l.inner;
      const LogitsStats<T> args{x + o * l.classes * l.inner, max + p, log_sum + p,
                                l.smoothing > 0 ? excess + p : nullptr, l.classes};
      if (l.inner == 1) {
        logits_rows(args, last);
      } else {
        logits_columns(args, l.inner, first, last);
      }
      for (std::int64_t i = p + first; i < p + last; ++i) {
        if (want_lse) run.out<T>(1)[i] = static_cast<T>(static_cast<double>(max[i]) + log_sum[i]);
        if (!want_loss) continue;
        const std::int64_t t = l.targets.at(run.inputs[1], i);
        run.out<T>(0)[i] =
            l.targets.counts(t)
                ? static_cast<T>(logits_loss(max[i], log_sum[i], excess[i],
                                             x[l.offset(i) + t * l.inner], l.classes, l.smoothing))
                : T(0);
      }
    });
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

template <class T>
Kernel backward_kernel(const KernelRequest& request) {
  const Layout l(request, 1);
  Kernel kernel;
  kernel.check = check_targets(l.targets, request.inputs[2].sizes, 2);
  kernel.shared_scratch = static_cast<std::size_t>(l.positions()) * sizeof(T);
  Phase phase;
  phase.chunks = l.chunks();
  phase.cost_ns = static_cast<double>(request.inputs[1].numel());
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const T* g = run.in<T>(0);
    T* masked_g = reinterpret_cast<T*>(run.shared_scratch);  // g, but 0 at ignored positions
    T* dx = run.out<T>(0);
    l.for_pieces(chunks, chunk, [&](std::int64_t o, std::int64_t first, std::int64_t last) {
      const std::int64_t p = o * l.inner, offset = o * l.classes * l.inner;
      for (std::int64_t i = p + first; i < p + last; ++i) {
        masked_g[i] = l.targets.counts(l.targets.at(run.inputs[2], i)) ? g[i] : T(0);
      }
      const T shift =
          l.smoothing > 0 ? static_cast<T>(l.smoothing / static_cast<double>(l.classes)) : T(0);
      const LogitsGrad<T> args{run.in<T>(1) + offset, run.in<T>(3) + p, masked_g + p,
                               dx + offset,           l.classes,        shift};
      if (l.inner == 1) {
        logits_grad_rows(args, last);
      } else {
        logits_grad_columns(args, l.inner, first, last);
      }
      for (std::int64_t i = p + first; i < p + last; ++i) {
        const std::int64_t t = l.targets.at(run.inputs[2], i);
        if (!l.targets.counts(t) || masked_g[i] == 0) continue;
        dx[l.offset(i) + t * l.inner] -= static_cast<T>(1 - l.smoothing) * masked_g[i];
      }
    });
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel cross_entropy_kernel(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::f32 ? forward_kernel<float>(request)
                                               : forward_kernel<double>(request);
}
Kernel cross_entropy_grad_kernel(const KernelRequest& request) {
  return request.inputs[1].dtype == DType::f32 ? backward_kernel<float>(request)
                                               : backward_kernel<double>(request);
}

Cost forward_cost(const KernelRequest& request) {
  const double n = static_cast<double>(request.inputs[0].numel());
  return {.flops = 4 * n, .bytes = n * static_cast<double>(dtype_size(request.inputs[0].dtype))};
}
Cost backward_cost(const KernelRequest& request) {
  const double n = static_cast<double>(request.inputs[1].numel());
  return {.flops = 4 * n,
          .bytes = 2 * n * static_cast<double>(dtype_size(request.inputs[1].dtype))};
}

}  // namespace

void CrossEntropyOps::add(OpSet& ops) {
  const std::vector<AttributeSpec> specs = {{"axis", std::int64_t{0}, true},
                                            {"ignore_index", std::int64_t{-100}},
                                            {"label_smoothing", 0.0}};
  OpRecord forward;
  forward.name = "cross_entropy";
  forward.doc =
      "For each position, with classes along `axis` and e = label_smoothing: loss = (1 - e) * (lse "
      "- "
      "x[target]) + e * (lse - mean(x)), lse = ln(sum(exp(x))); 0 if target == ignore_index. "
      "Any other target outside [0, classes) is a data error.";
  forward.inputs = {{"logits"}, {"targets"}};
  forward.attributes = specs;
  forward.outputs = {"loss", "lse"};
  forward.infer = infer_cross_entropy;
  forward.kernel = cross_entropy_kernel;
  forward.cost = forward_cost;
  ops.add(std::move(forward));

  OpRecord backward;
  backward.name = "cross_entropy_grad";
  backward.doc =
      "Gradient of the loss of cross_entropy: g * (p - e / classes - (1 - e) * [class == target]), "
      "0 if target == ignore_index, with p = exp(x - lse). If |lse| > 32, p is divided by its sum, "
      "because the rounding of a large lse would be an error of all probabilities.";
  backward.inputs = {{"g"}, {"logits"}, {"targets"}, {"lse"}};
  backward.attributes = specs;
  backward.outputs = {"dlogits"};
  backward.inplace = {{0, 1}};
  backward.infer = infer_cross_entropy_grad;
  backward.kernel = cross_entropy_grad_kernel;
  backward.cost = backward_cost;
  backward.gradient = Gradient::decomposition;
  ops.add(std::move(backward));

  add_soft_cross_entropy_ops(ops);
}

}  // namespace weft
