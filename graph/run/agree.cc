#include "weft/graph/run/agree.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/version.h"
#include "weft/graph/text/text.h"
#include "weft/ops/kernels/simd_targets.h"

namespace weft {
namespace {

// FNV-1a: ranks compare it, nobody keeps it.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

void agree_on_program(const World& world, const Program& program, const SessionOptions& options) {
  if (world.size() == 1) return;
  world.check_same("the version of Weft", version());
  world.check_same("the instructions of their CPUs", kernels::cpu_kernels());
  world.check_same("the seed", std::to_string(options.seed));
  world.check_same("the precision of the Session", precision_name(options.precision));
  world.check_same("SessionOptions::passes", options.passes ? "true" : "false");
  world.check_same("SessionOptions::check_finite", options.check_finite ? "true" : "false");
  world.check_same("the number of shards", std::to_string(program.shards().count));
  world.check_same(fmt::format("the graph of program '{}' (a hash of its text)", program.name()),
                   fmt::format("{:016x}", hash_of(to_text(program))));
}

}  // namespace weft
