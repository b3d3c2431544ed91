// Who makes and who reads the values of a plan.
#pragma once

#include <vector>

#include "weft/graph/plan/plan.h"

namespace weft {

/// By value; only roots (values that own memory) have entries. Reading an alias counts as reading
/// its root.
struct Liveness {
  IdVector<ValueId, StepId> producer;              // none for leaves
  IdVector<ValueId, std::vector<StepId>> readers;  // each once, increasing
  IdVector<ValueId, char> at_end;  // copied to an output or a variable at the end of the run
};
Liveness find_liveness(const Plan& plan);

/// Root of operand `id`, none where the operand is absent.
inline ValueId root_of(const Plan& plan, ValueId id) {
  return id.defined() ? plan.values[id].root : ValueId();
}
/// What the value is if it is a leaf of the program.
CompiledProgram::Leaf leaf_of(const Plan& plan, ValueId value);
/// The value that reads each variable, if any does.
IdVector<VariableId, ValueId> variable_reads(const Plan& plan);

/// True if the kernel may write output `output` over input `input`: the record allows it, sizes and
/// element sizes are equal, and the step does not read that memory through another operand.
bool may_overwrite(const Plan& plan, const PlanStep& step, int output, int input);

/// Steps whose results an early check of data needs: producers of the integer operands of steps
/// that have a check; and steps that check data while they run (in bodies of loops).
std::vector<StepId> check_producers(const Plan& plan, const Liveness& liveness);
/// The same for one step.
std::vector<StepId> check_producers(const Plan& plan, const Liveness& liveness,
                                    const PlanStep& step);

}  // namespace weft
