#include "weft/autodiff/optimizers/adafactor.h"

#include <algorithm>

#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"

namespace weft {
namespace {

void check(const AdafactorOptions& o, SourceLocation loc) {
  require_option("adafactor", "beta1", o.beta1, Allowed::decay, loc);
  const auto positive = [&](std::string_view option, double value) {
    require_option("adafactor", option, value, Allowed::positive, loc);
  };
  positive("eps1", o.eps1);
  positive("eps2", o.eps2);
  positive("clip_threshold", o.clip_threshold);
  positive("decay_rate", o.decay_rate);
}

// Returns the root mean square over all elements, in f64.
Value rms(Value x) { return sqrt(cast(mean(square(x)), DType::f64)); }

// Returns true if the second moment is stored as row and column factors: for tensors with two or
// more axes, except empty ones, which have no means.
bool is_factored(const Shape& shape) {
  return shape.rank() >= 2 &&
         std::none_of(shape.begin(), shape.end(), [](const Dim& d) { return d == Dim(0); });
}

class Rule {
 public:
  Rule(StepBuilder& b, const AdafactorOptions& o)
      : b_(b), o_(o), new_share_(pow(b.t(), -o.decay_rate)), old_share_(1.0 - new_share_) {}

  void step(const StepBuilder::Parameter& parameter) {
    const Value p = parameter.value();
    Value u = normalised(parameter);
    u = u / cast(maximum(rms(u) / o_.clip_threshold, 1.0), p.dtype());
    Value size = b_.rate(parameter);
    if (o_.scale_parameter) size = size * maximum(rms(p), o_.eps2);
    Value change = u * cast(size, p.dtype());
    if (o_.beta1 > 0) {
      const Variable m = b_.state(parameter, "m");
      change = m.value() * o_.beta1 + change * (1 - o_.beta1);
      b_.update(m, change);
    }
    b_.update(parameter.variable, parameter.decayed(size) - change);
  }

 private:
  // Returns the gradient divided by the square root of its second moment.
  Value normalised(const StepBuilder::Parameter& parameter) {
    const Value g = parameter.gradient, s = square(g) + o_.eps1;
    Shape shape = parameter.variable.shape();
    if (!is_factored(shape)) return g * rsqrt(moment(parameter, "v", shape, s));
    const int last = shape.rank() - 1;
    Shape rows = shape, columns = shape;
    rows[last] = 1;
    columns[last - 1] = 1;
    const Value r = moment(parameter, "row", rows, mean(s, last, true));
    const Value c = moment(parameter, "column", columns, mean(s, last - 1, true));
    // Take the two square roots separately: the product of two mean squares would overflow or
    // underflow sooner.
    return g * rsqrt(r / mean(r, last - 1, true)) * rsqrt(c);
  }

  Value moment(const StepBuilder::Parameter& parameter, std::string_view name, const Shape& shape,
               Value now) {
    const Variable old = b_.state(parameter, name, shape);
    const DType dtype = now.dtype();
    const Value result = old.value() * cast(old_share_, dtype) + now * cast(new_share_, dtype);
    b_.update(old, result);
    return result;
  }

  StepBuilder& b_;
  const AdafactorOptions& o_;
  Value new_share_, old_share_;  // 1 - b2 and b2, f64
};

}  // namespace

TrainingStep adafactor(const Loss& loss, const ParameterGroups& groups,
                       const AdafactorOptions& options, SourceLocation loc) {
  check(options, loc);
  StepBuilder b("adafactor", loss, groups, options, loc);
  b.require_dense_parameters("Adafactor computes means over whole matrices");
  Rule rule(b, options);
  for (const StepBuilder::Parameter& parameter : b.parameters()) rule.step(parameter);
  return b.finish();
}

}  // namespace weft
