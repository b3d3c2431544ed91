#include "weft/autodiff/optimizers/lion.h"

#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {

TrainingStep lion(const Loss& loss, const ParameterGroups& groups, const LionOptions& o,
                  SourceLocation loc) {
  require_option("lion", "beta1", o.beta1, Allowed::decay, loc);
  require_option("lion", "beta2", o.beta2, Allowed::decay, loc);
  StepBuilder b("lion", loss, groups, o, loc);
  b.require_dense_parameters("Lion also updates rows without a gradient");
  for (const StepBuilder::Parameter& parameter : b.parameters()) {
    const Value g = parameter.gradient, rate = b.rate(parameter);
    const Variable m = b.state(parameter, "m");
    const Value direction = sign(m.value() * o.beta1 + g * (1 - o.beta1));
    b.update(m, m.value() * o.beta2 + g * (1 - o.beta2));
    b.update(parameter.variable, parameter.decayed(rate) - cast(rate, g.dtype()) * direction);
  }
  return b.finish();
}

}  // namespace weft
