// Runs the parts of a program with shards.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/graph/distribute/split_shards.h"
#include "weft/graph/run/results.h"

namespace WEFT_API weft {

/// What it takes to run a part: a Session's.
struct PartRunner {
  FunctionRef<Results(const Program& part, const NamedTensors& feeds, const RunOptions& options)>
      run;
  FunctionRef<Tensor(const std::string& name)> value;  // of a variable, now
  Workers& workers;
};

/// Runs a step: `feeds` gives the inputs of one shard, and is called once for each, in order.
/// `options` are those of the whole. An error in a shard is preceded by its number; it leaves all
/// variables as they were, as do those of the step.
Results run_shards(const Program& program, const ShardedProgram& parts,
                   FunctionRef<NamedTensors(int shard)> feeds, const RunOptions& options,
                   const PartRunner& runner);

/// The inputs of one shard, cut from those of the whole batch: rows [shard * n / G, ...) of every
/// input that begins with the axis of `program.shards()`. Throws ShapeError where the rows cannot
/// be cut into equal parts.
NamedTensors cut_feeds(const Program& program, const NamedTensors& feeds, int shard);

}  // namespace weft
