#include "weft/tests/reference/roundings.h"

#include <cmath>
#include <memory>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/ops/make_kernel.h"

namespace weft::testing {
namespace {

std::vector<Tensor> by_kernel(const NodeUse& use, const std::vector<Tensor>& inputs,
                              Precision precision) {
  try {
    return evaluate_op(use.node.op(), inputs, use.attributes, precision);
  } catch (const Error& e) {
    use.node.graph().fail(e, use.node);
  }
}

class Moved {
 public:
  Moved(Precision precision, const Accuracies& accuracies, std::uint64_t seed)
      : precision_(precision), accuracies_(accuracies), stream_{.seed = seed} {}

  std::vector<Tensor> operator()(const NodeUse& use) {
    const auto known = accuracies_.find(&use.node);
    const Accuracy accuracy = known == accuracies_.end() ? Accuracy{} : known->second;
    std::vector<Tensor> inputs = use.inputs;
    const Precision precision = precision_for(use.attributes, precision_);
    if (accuracy.narrows && precision != Precision::highest) {
      // The operands are rounded to 16-bit terms (medium keeps one term, high keeps two), which
      // causes half of this error.
      const double unit = precision == Precision::medium ? 0x1p-8 : 0x1p-16;
      for (Tensor& t : inputs) {
        if (t.defined() && t.dtype() == DType::f32) t = moved(t, unit);
      }
    }
    std::vector<Tensor> results = by_kernel(use, inputs, Precision::highest);
    if (!accuracy.rounds) return results;
    for (Tensor& t : results) {
      if (is_floating(t.dtype())) t = moved(t, 2 * static_cast<double>(epsilon(t.dtype())));
    }
    return results;
  }

 private:
  Tensor moved(const Tensor& t, double unit) {
    Tensor result = Tensor::empty(DType::f64, t.sizes());
    double* to = result.mutable_data<double>();
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      const double by = 2 * uniform_float(stream_.word(drawn_++)) - 1;
      to[i] = t.at(i) * (1 + by * unit);
    }
    return result.to(t.dtype());
  }

  Precision precision_;
  const Accuracies& accuracies_;
  RandomStream stream_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

NodeRule kernel_rule(Precision precision) {
  return [precision](const NodeUse& use) {
    return by_kernel(use, use.inputs, precision_for(use.attributes, precision));
  };
}

NodeRule moved_rule(Precision precision, const Accuracies& accuracies, std::uint64_t seed) {
  const auto rule = std::make_shared<Moved>(precision, accuracies, seed);
  return [rule](const NodeUse& use) { return (*rule)(use); };
}

}  // namespace weft::testing
