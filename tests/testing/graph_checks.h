// What a program or a plan looks like: its text, its ops, its memory.
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

/// The program reads as `text`, the form of to_text(): spaces, comments and the numbers of values
/// do not matter, since the text is read and printed again. The message is a diff of both by lines.
/// Ops are those of the program's graph. Text that cannot be read is a FormatError with its line.
Outcome expect_graph(const Program& program, std::string_view text);

/// How many nodes of this op the program has, as it was built.
std::int64_t count_ops(const Program& program, std::string_view op);

// Of a plan (Session::plan): what runs, after passes. Steps go by the names of Plan::text() and of
// cost reports: "matmul", "matmul+gelu_erf" for a product with what is fused to it, "fused
// exp+mul", "layer_norm".

/// How many steps have this name; one that ends with "*" counts all that begin so.
std::int64_t count_steps(const Plan& plan, std::string_view name);
/// There are `count` such steps; the message lists the names there are, with how often.
Outcome expect_steps(const Plan& plan, std::string_view name, std::int64_t count);
/// The plan has at most so many steps, fused ones counted once; the message lists them as above.
Outcome expect_steps_within(const Plan& plan, std::int64_t count);
/// Nothing that runs is op `op`: no step, nothing inside a fused step or behind a product, nothing
/// in the body of a loop or branch (a cast in the hot path, say). The message names where it is.
Outcome expect_no_op(const Plan& plan, std::string_view op);
/// No value is larger; the message names those that are.
Outcome expect_no_value_above(const Plan& plan, std::size_t bytes);
/// The arena (all intermediate values together) is not larger; the message lists its largest parts.
Outcome expect_arena_within(const Plan& plan, std::size_t bytes);
/// The plan's floating-point operations, by the ops' cost models, are not more.
Outcome expect_flops_within(const Plan& plan, double flops);

}  // namespace testing
}  // namespace weft
