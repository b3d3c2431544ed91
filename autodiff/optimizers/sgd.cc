#include "weft/autodiff/optimizers/sgd.h"

#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {

TrainingStep sgd(const Loss& loss, const ParameterGroups& groups, const SgdOptions& o,
                 SourceLocation loc) {
  require_option("sgd", "momentum", o.momentum, Allowed::decay, loc);
  if (o.nesterov && o.momentum <= 0) {
    throw ArgumentError("sgd: Nesterov momentum needs momentum > 0\n  at " + loc.str());
  }
  StepBuilder b("sgd", loss, groups, o, loc);
  if (o.momentum > 0) b.require_dense_parameters("momentum also updates rows without a gradient");
  for (const StepBuilder::Parameter& parameter : b.parameters()) {
    const Value g = parameter.penalised_gradient();
    Value direction = g;
    if (o.momentum > 0) {
      const Variable velocity = b.state(parameter, "velocity");
      const Value new_velocity = velocity.value() * o.momentum + g;
      b.update(velocity, new_velocity);
      direction = o.nesterov ? g + new_velocity * o.momentum : new_velocity;
    }
    b.subtract(parameter, parameter.variable, cast(b.rate(parameter), g.dtype()) * direction);
  }
  return b.finish();
}

}  // namespace weft
