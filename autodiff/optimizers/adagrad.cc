#include "weft/autodiff/optimizers/adagrad.h"

#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {

TrainingStep adagrad(const Loss& loss, const ParameterGroups& groups, const AdagradOptions& o,
                     SourceLocation loc) {
  require_option("adagrad", "eps", o.eps, Allowed::not_negative, loc);
  StepBuilder b("adagrad", loss, groups, o, loc);
  for (const StepBuilder::Parameter& parameter : b.parameters()) {
    const Value g = parameter.penalised_gradient();
    const Variable sum = b.state(parameter, "sum");
    const Value new_sum = parameter.read(sum) + square(g);
    b.add(parameter, sum, square(g));
    b.subtract(parameter, parameter.variable,
               cast(b.rate(parameter), g.dtype()) * (g / (sqrt(new_sum) + o.eps)));
  }
  return b.finish();
}

}  // namespace weft
