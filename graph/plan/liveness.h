// Liveness: the producer and readers of every value of a plan.
#pragma once

#include <vector>

#include "weft/graph/plan/plan.h"

namespace weft {

/// Producers and readers, indexed by value. Only roots (values that own memory) have entries; a
/// reader of an alias counts as a reader of its root.
struct Liveness {
  IdVector<ValueId, StepId> producer;              // undefined for leaves
  IdVector<ValueId, std::vector<StepId>> readers;  // unique, in increasing order
  IdVector<ValueId, char> at_end;                  // copied to an output or a variable at the end
};
Liveness find_liveness(const Plan& plan);

/// Returns the root of operand `id`, or an undefined id if the operand is absent.
inline ValueId root_of(const Plan& plan, ValueId id) {
  return id.defined() ? plan.values[id].root : ValueId();
}
/// Returns the leaf of the program that `value` represents; its kind is LeafKind::none if `value`
/// is not a leaf.
CompiledProgram::Leaf leaf_of(const Plan& plan, ValueId value);
/// Returns, for each variable, the value of the node that reads it, or an undefined id if there is
/// no such node.
IdVector<VariableId, ValueId> variable_reads(const Plan& plan);

/// Returns true if the kernel may overwrite input `input` with output `output`. This requires that
/// the op record allows it, that sizes and element sizes are equal, and that the step does not read
/// the same memory through another operand.
bool may_overwrite(const Plan& plan, const PlanStep& step, int output, int input);

/// Returns the steps that must run before all data checks are complete: producers of the integer
/// operands of steps that have a check, and steps that check data while they run (in bodies of
/// loops).
std::vector<StepId> check_producers(const Plan& plan, const Liveness& liveness);
/// As above, for the check of one step: the producers of its integer operands.
std::vector<StepId> check_producers(const Plan& plan, const Liveness& liveness,
                                    const PlanStep& step);

}  // namespace weft
