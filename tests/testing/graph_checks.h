// Checks of programs and plans: their text, operations, memory and FLOPs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

/// Checks that the program equals `text`, in the format of to_text(). `text` is parsed and printed
/// again, so spaces, comments and the numbering of values do not matter. The message is a line
/// diff. Operations are looked up in the program's graph. Throws FormatError with the line if
/// `text` cannot be parsed.
Outcome expect_graph(const Program& program, std::string_view text);

/// Returns the number of nodes of this op in the program as built, before any passes.
std::int64_t count_ops(const Program& program, std::string_view op);

// Checks of a plan (Session::plan), that is, of the steps that run after all passes. Steps are
// named as in Plan::text() and in cost reports: "matmul", "matmul+gelu_erf" (a product with a fused
// epilogue), "fused exp+mul", "layer_norm".

/// Returns the number of steps with this name. A name that ends with "*" matches every step whose
/// name starts with the text before it.
std::int64_t count_steps(const Plan& plan, std::string_view name);
/// Checks that the plan has exactly `count` such steps. The message lists all steps by name, with
/// counts.
Outcome expect_steps(const Plan& plan, std::string_view name, std::int64_t count);
/// Checks that the plan has at most `count` steps; a fused step counts once. The message lists all
/// steps by name, with counts.
Outcome expect_steps_within(const Plan& plan, std::int64_t count);
/// Checks that the plan does not run `op` anywhere: not as a step, not within a fused step or the
/// epilogue of a product, and not in the body of a loop or branch. It can show, for example, that a
/// hot path has no cast. The message names the steps that run it and their source lines.
Outcome expect_no_op(const Plan& plan, std::string_view op);
/// Checks that no value is larger than `bytes`. The message lists those that are.
Outcome expect_no_value_above(const Plan& plan, std::size_t bytes);
/// Checks that the arena, which holds all intermediate values, has at most `bytes` bytes. The
/// message lists its largest values.
Outcome expect_arena_within(const Plan& plan, std::size_t bytes);
/// Checks that the plan takes at most `flops` floating-point operations, by the cost models of its
/// ops.
Outcome expect_flops_within(const Plan& plan, double flops);

}  // namespace testing
}  // namespace weft
