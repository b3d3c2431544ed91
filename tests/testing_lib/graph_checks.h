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

/// Checks that the program equals `text`, which is in the format of to_text(). `text` is parsed and
/// printed again, so spaces, comments and the numbering of values do not matter. The failure
/// message is a line diff. Operations are looked up in the program's graph. If `text` cannot be
/// parsed, throws a FormatError that names the line.
Outcome expect_graph(const Program& program, std::string_view text);

/// Returns the number of nodes with op `op` in the program as built, before any passes.
std::int64_t count_ops(const Program& program, std::string_view op);

// The following functions check a plan (Session::plan), that is, the steps that run after all
// passes. Step names are the same as in Plan::text() and in cost reports: "matmul",
// "matmul+gelu_erf" (a product with a fused epilogue), "fused exp+mul", "layer_norm".

/// Returns the number of steps with this name. A name that ends with "*" is a prefix: it matches
/// every step whose name starts with the text before the "*".
std::int64_t count_steps(const Plan& plan, std::string_view name);
/// Checks that the plan has exactly `count` steps with this name. The failure message lists the
/// names of all steps with their counts.
Outcome expect_steps(const Plan& plan, std::string_view name, std::int64_t count);
/// Checks that the plan has at most `count` steps; a fused step counts once. The failure message
/// lists the names of all steps with their counts.
Outcome expect_steps_within(const Plan& plan, std::int64_t count);
/// Checks that the plan does not run `op` anywhere: not as a step, not within a fused step or the
/// epilogue of a product, and not in the body of a loop or branch. Use it to verify, for example,
/// that a hot path contains no cast. The failure message names the steps that run `op` and their
/// source lines.
Outcome expect_no_op(const Plan& plan, std::string_view op);
/// Checks that no value is larger than `bytes`. The failure message lists the larger values.
Outcome expect_no_value_above(const Plan& plan, std::size_t bytes);
/// Checks that the arena, which holds all intermediate values, is at most `bytes` bytes large. The
/// failure message lists the largest values in the arena.
Outcome expect_arena_within(const Plan& plan, std::size_t bytes);
/// Checks that the plan executes at most `flops` floating-point operations, according to the cost
/// models of its ops.
Outcome expect_flops_within(const Plan& plan, double flops);

}  // namespace testing
}  // namespace weft
