#include "weft/graph/distributed/agree.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "weft/core/random.h"
#include "weft/core/version.h"
#include "weft/core/world/build_id.h"
#include "weft/core/world/control_message.h"
#include "weft/graph/text/text.h"
#include "weft/ops/kernels/targets/simd_targets.h"

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

Handshake handshake_of(const Program& program, const SessionOptions& options) {
  const auto word = [](bool on) { return on ? "true" : "false"; };
  Handshake handshake;
  handshake.add("the protocol of Weft", std::to_string(kWorldProtocol));
  handshake.add("the version of Weft", version());
  handshake.add("the build of the executable (its build id)", build_id());
  handshake.add("the instruction set of their kernels", kernels::cpu_kernels());
  handshake.add("the seed", std::to_string(options.seed));
  handshake.add("the precision of the Session", precision_name(options.precision));
  handshake.add("SessionOptions::batch_invariant", word(options.batch_invariant));
  handshake.add("SessionOptions::passes", word(options.passes));
  handshake.add("SessionOptions::check_finite", word(options.check_finite));
  handshake.add("SessionOptions::bucket_bytes", std::to_string(options.bucket_bytes));
  handshake.add("the placement of gradient sums (SessionOptions::gradients and memory_budget)",
                options.sums_are_owned() ? "owned" : "whole");
  const Shards& shards = program.shards();
  handshake.add("WorldOptions::max_direct", std::to_string(options.world.options().max_direct));
  handshake.add("the number of shards", std::to_string(shards.count));
  handshake.add("the axis of the shards", shards.axis);
  handshake.add("the program (its name, and a hash of its text)",
                fmt::format("'{}' {:016x}", program.name(), hash_of(program)));
  return handshake;
}

void agree_on_program(const World& world, const Program& program, const SessionOptions& options) {
  if (world.size() == 1) return;
  world.set_phase(fmt::format("the comparison of program '{}'", program.name()));
  agree(world, handshake_of(program, options));
}

}  // namespace weft
