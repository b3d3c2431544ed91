// Inputs of the shards and stages of a program.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/engine/results.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// The sizes for which a stage of `program` is planned.
struct StageSizes {
  NamedSizes feeds;
  DimValues dims;
};
/// Returns the sizes for planning `stage`. `feeds` contains the sizes of the program's inputs. The
/// stage has additional inputs with constant sizes, and may not have all inputs that determine the
/// values of symbols.
StageSizes sizes_of_stage(const Program& program, const Program& stage, const NamedSizes& feeds,
                          const DimValues& dims);

/// Returns the inputs of one shard of the whole batch: rows [shard * n / G, (shard + 1) * n / G) of
/// every input whose first axis is the axis of `program.shards()`. Throws ShapeError if the rows
/// cannot be divided into equal parts, and ArgumentError if no input has this first axis but some
/// inputs have a different symbol as their first axis.
NamedTensors slice_feeds(const Program& program, const NamedTensors& feeds, int shard);

/// Returns the names of the inputs of a part of a program.
std::vector<std::string> input_names(const Program& part);
/// Returns true if `names` contains `name`.
bool has_name(const std::vector<std::string>& names, const std::string& name);
/// Returns true if the program's graph has no input of this name. Engine::run() rejects such feeds.
bool is_unknown_input(const Program& program, const std::string& name);
/// Adds the sizes that are determined by inputs of the program but not by inputs of the stage.
void add_dims(const Program& program, const Program& stage, const NamedSizes& fed, DimValues& dims);

}  // namespace weft
