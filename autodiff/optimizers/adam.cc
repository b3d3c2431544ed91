#include "weft/autodiff/optimizers/adam.h"

#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {
namespace {

// Adam adds the weight decay to the gradient; AdamW (`decoupled`) applies it to the parameter.
template <class Options>
TrainingStep adam_like(std::string_view name, bool decoupled, const Loss& loss,
                       const ParameterGroups& groups, const Options& o, SourceLocation loc) {
  require_option(name, "beta1", o.beta1, Allowed::decay, loc);
  require_option(name, "beta2", o.beta2, Allowed::decay, loc);
  require_option(name, "eps", o.eps, Allowed::not_negative, loc);
  StepBuilder b(name, loss, groups, o, loc);
  // Scalars are computed in double: in float, 1 - beta^t loses all precision for small t.
  const Value correction1 = 1.0 - pow(b.graph().scalar(DType::f64, o.beta1), b.t());
  const Value correction2 = sqrt(1.0 - pow(b.graph().scalar(DType::f64, o.beta2), b.t()));
  for (const StepBuilder::Parameter& parameter : b.parameters()) {
    const DType dtype = parameter.variable.dtype();
    const Value g = decoupled ? parameter.gradient : parameter.penalised_gradient();
    const Variable m = b.state(parameter, "m"), v = b.state(parameter, "v");
    const Value new_m = parameter.read(m) * o.beta1 + g * (1 - o.beta1);
    const Value new_v = parameter.read(v) * o.beta2 + square(g) * (1 - o.beta2);
    const Value rate = b.rate(parameter);
    const Value kept = decoupled ? parameter.decayed(rate) : parameter.value();
    const Value denominator = sqrt(new_v) / cast(correction2, dtype) + o.eps;
    const Value new_p = kept - cast(rate / correction1, dtype) * (new_m / denominator);
    b.update(parameter, m, new_m);
    b.update(parameter, v, new_v);
    b.update(parameter, parameter.variable, new_p);
  }
  return b.finish();
}

}  // namespace

TrainingStep adam(const Loss& loss, const ParameterGroups& groups, const AdamOptions& options,
                  SourceLocation loc) {
  return adam_like("adam", false, loss, groups, options, loc);
}

TrainingStep adamw(const Loss& loss, const ParameterGroups& groups, const AdamWOptions& options,
                   SourceLocation loc) {
  return adam_like("adamw", true, loss, groups, options, loc);
}

}  // namespace weft
