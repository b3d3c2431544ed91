#include "weft/tests/fuzz/run_programs.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/files/checked_size.h"

namespace weft::fuzz {
namespace {

/// Returns sizes for all inputs. The values of the symbols depend on `round`.
NamedSizes sizes_to_try(const Program& program, const Graph& graph, int round) {
  constexpr std::int64_t kSizes[][3] = {{2, 3, 5}, {0, 1, 2}, {1, 1, 1}, {7, 4, 1}};
  Bindings bindings;
  std::size_t place = 0;
  for (const SymbolPtr& symbol : graph.symbols())
    bindings.bind(symbol, kSizes[round % 4][place++ % 3]);
  NamedSizes sizes;
  for (const Value& input : program.inputs()) {
    sizes.emplace_back(input.node().attributes().text("name"),
                       input.type().shape.evaluate(bindings));
  }
  return sizes;
}

bool within_bounds(DType dtype, const Sizes& sizes, const RunBounds& bounds) {
  return checked_tensor_bytes(dtype, sizes) <= bounds.bytes;
}

bool within_bounds(const Plan& plan, const RunBounds& bounds) {
  if (plan.arena_bytes > bounds.bytes || plan.slot_scratch > bounds.bytes) return false;
  if (plan.cost().flops > bounds.flops) return false;
  return std::all_of(plan.values.begin(), plan.values.end(),
                     [&](const PlanValue& v) { return v.bytes <= bounds.bytes; });
}

void run_program(const Checkpoint& checkpoint, const Program& program, const RunBounds& bounds,
                 int round) {
  Session session(checkpoint.graph(), checkpoint.store(),
                  {.threads = 1, .own_keys = true, .verify = true, .poison = true});
  const NamedSizes sizes = sizes_to_try(program, checkpoint.graph(), round);
  const auto plan = session.plan(program, sizes);
  if (!within_bounds(*plan, bounds)) return;
  // The sizes of caches are determined by the first run.
  for (const Variable& v : checkpoint.graph().variables()) {
    if (!within_bounds(v.info().type.dtype, v.info().type.shape.evaluate(plan->bindings), bounds))
      return;
  }
  NamedTensors feeds;
  std::size_t at = 0;
  for (const Value& input : program.inputs()) {
    const auto& [name, wanted] = sizes[at++];
    if (!within_bounds(input.type().dtype, wanted, bounds)) return;
    feeds.emplace_back(name, Tensor::full(input.type().dtype, wanted, 1));
  }
  session.run(program, feeds);
}

}  // namespace

void run_programs(const Checkpoint& checkpoint, const RunBounds& bounds) {
  for (const Program& program : checkpoint.programs()) {
    for (int round = 0; round < 4; ++round) {
      try {
        run_program(checkpoint, program, bounds, round);
      } catch (const Error&) {  // the documented error of an invalid program
      }
    }
  }
}

}  // namespace weft::fuzz
