#include "weft/graph/run/agree.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "weft/core/random.h"
#include "weft/core/version.h"
#include "weft/core/world/build_id.h"
#include "weft/core/world/control_message.h"
#include "weft/graph/text/text.h"
#include "weft/ops/kernels/simd_targets.h"

namespace weft {
namespace {

// Returns a hash of the program. The number of shards is not included, because it is compared
// separately.
std::uint64_t hash_of(const Program& program) {
  Program uncut = program;
  uncut.shards({.count = 1, .axis = program.shards().axis});
  return stable_hash(to_text(uncut));
}

}  // namespace

Greeting greeting_of(const Program& program, const SessionOptions& options) {
  const auto word = [](bool on) { return on ? "true" : "false"; };
  Greeting greeting;
  greeting.add("the protocol of Weft", std::to_string(kWorldProtocol));
  greeting.add("the version of Weft", version());
  greeting.add("the build of the executable (its build id)", build_id());
  greeting.add("the instruction set of their kernels", kernels::cpu_kernels());
  greeting.add("the seed", std::to_string(options.seed));
  greeting.add("the precision of the Session", precision_name(options.precision));
  greeting.add("SessionOptions::passes", word(options.passes));
  greeting.add("SessionOptions::check_finite", word(options.check_finite));
  greeting.add("SessionOptions::bucket_bytes", std::to_string(options.bucket_bytes));
  greeting.add("the placement of gradient sums (SessionOptions::gradients and memory_budget)",
               options.sums_are_owned() ? "owned" : "whole");
  const Shards& shards = program.shards();
  greeting.add("WorldOptions::max_direct", std::to_string(options.world.options().max_direct));
  greeting.add("the number of shards", std::to_string(shards.count));
  greeting.add("the axis of the shards", shards.axis);
  greeting.add("the program (its name, and a hash of its text)",
               fmt::format("'{}' {:016x}", program.name(), hash_of(program)));
  return greeting;
}

void agree_on_program(const World& world, const Program& program, const SessionOptions& options) {
  if (world.size() == 1) return;
  world.set_phase(fmt::format("the comparison of program '{}'", program.name()));
  agree(world, greeting_of(program, options));
}

}  // namespace weft
