#include "weft/graph/distributed/parts_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/graph/text/text.h"

namespace weft {
namespace {

class Writer {
 public:
  Writer(const Program& program, const PartsTextOptions& of)
      : program_(program),
        of_(of),
        parts_(split_shards(program)),
        owned_(own_step(parts_, of.rank, of.ranks)) {}

  std::string write() {
    const int count = program_.shards().count;
    const ShardRun run = contiguous_shards(of_.rank, of_.ranks, count);
    text_ = fmt::format("# program {} in {} shards along {}: rank {} of {} computes {} to {}\n",
                        program_.name(), count, program_.shards().axis, of_.rank, of_.ranks,
                        run.begin, run.end - 1);
    for (std::size_t s = 0; s < parts_.stages.size(); ++s) {
      const ShardedProgram::Stage& stage = parts_.stages[s];
      part(fmt::format("stage {}, for each of these shards", s), stage.module.program);
      write_sums(stage);
      write_joined(stage);
    }
    if (!parts_.states.empty()) {
      exchange("all_gather", "the statistics of all shards");
      part("then, for each shard of all ranks", parts_.carry.program);
    }
    if (owned_.empty()) {
      part("then the step, on every rank", parts_.step.program);
      return std::move(text_);
    }
    if (!owned_.unit_scalars.empty()) {
      part("then the values of this rank's units that other ranks need",
           owned_.compute_unit_scalars.program);
      for (std::size_t i = 0; i < owned_.unit_scalars.size(); ++i)
        exchange("all_gather",
                 shard_names::unit_scalar(i) + ": " + owned_.unit_scalars[i].type.str());
    }
    part("then the step", owned_.step.program);
    for (const OwnedStep::Unit& unit : owned_.units) {
      for (const std::string& name : unit.parameters) exchange("all_gather", name);
    }
    write_owners();
    return std::move(text_);
  }

 private:
  void part(std::string_view when, const Program& program) {
    text_ += fmt::format("\n# {}\n{}", when, to_text(program));
  }
  void exchange(std::string_view how, std::string_view what) {
    if (of_.ranks > 1) text_ += fmt::format("# {} {}\n", how, what);
  }

  static std::string typed(const ShardedProgram::Stage& stage, const std::string& name) {
    for (const auto& [output, value] : stage.module.program.outputs()) {
      if (output == name) return name + ": " + value.type().str();
    }
    return name;
  }

  void write_sums(const ShardedProgram::Stage& stage) {
    for (const std::size_t i : stage.sums) {
      const bool owned = std::find(owned_.sums.begin(), owned_.sums.end(), i) != owned_.sums.end();
      exchange(owned ? "reduce_scatter" : "all_reduce", typed(stage, shard_names::sum(i)));
    }
  }
  void write_joined(const ShardedProgram::Stage& stage) {
    for (const std::size_t i : stage.rows)
      exchange("all_gather", typed(stage, shard_names::rows(i)));
  }

  // Appends a description of the elements that each rank owns.
  void write_owners() {
    text_ += "\n";
    for (std::size_t r = 0; r < owned_.pieces.size(); ++r) {
      std::string all;
      for (const OwnedPiece& piece : owned_.pieces[r]) {
        const OwnedStep::Unit& unit = owned_.units[piece.unit];
        const std::string name =
            unit.parameters.empty() ? fmt::format("sum {}", unit.sums.at(0)) : unit.parameters[0];
        const bool part = !piece.whole && (piece.begin > 0 || piece.end < unit.elements);
        all += fmt::format("{}{}{}", all.empty() ? "" : ", ", name,
                           part ? fmt::format("[{}:{}]", piece.begin, piece.end) : "");
      }
      text_ += fmt::format("# rank {} owns {}\n", r, all.empty() ? "nothing" : all);
    }
  }

  const Program& program_;
  const PartsTextOptions of_;
  const ShardedProgram parts_;
  const OwnedStep owned_;
  std::string text_;
};

}  // namespace

std::string parts_text(const Program& program, const PartsTextOptions& of) {
  if (program.shards().count == 1) {
    throw ArgumentError(
        fmt::format("program '{}' has no shards: every rank runs it unchanged", program.name()));
  }
  check_shards(program.shards().count, of.ranks);
  if (of.rank < 0 || of.rank >= of.ranks)
    throw ArgumentError(fmt::format("rank is {}, but ranks are 0 to {}", of.rank, of.ranks - 1));
  return Writer(program, of).write();
}

}  // namespace weft
