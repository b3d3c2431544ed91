// Splits a sharded program into programs that run once per shard and one that runs once per
// step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// Names of the inputs and outputs that the parts of a program have in addition to the program's
/// own inputs and outputs. `i` is the index of a sum, concat, statistic or cross-unit scalar;
/// `name` is the name of a variable.
namespace shard_names {
inline const std::string kIndex = "shards.index";  // i64 scalar: the shard's number
std::string key(const std::string& name);          // value of a random key in this step
std::string state(const std::string& name);        // variable that the shards update in shard order
std::string sum(std::size_t i);                    // sum of one shard, or total over all shards
std::optional<std::size_t> number_of_sum(std::string_view name);  // parses i from sum(i)
std::string rows(std::size_t i);               // rows of one shard, or of all shards
std::string statistic(std::size_t i);          // statistic of one shard, for state updates
std::string unit_scalar(std::size_t i);        // cross-unit scalar (see OwnedUnits)
std::string owned(const std::string& name);    // the owned range of a parameter
std::string updated(const std::string& name);  // new value of a parameter or of its owned range
}  // namespace shard_names

/// The parts of a program. A step runs the stages one after the other, each of them for every
/// shard. After each stage, it adds or concatenates the stage's outputs over the shards and feeds
/// the results to the later stages. Then it runs `carry` for the statistics of every shard, in
/// shard order, and finally `step`. Each part has a separate graph, which refers to the variables
/// of the whole program by name. Only `step` updates variables.
struct ShardedProgram {
  struct Stage {
    Module module;
    std::vector<std::size_t> sums = {};        // outputs sum(i), added over the shards
    std::vector<std::size_t> rows = {};        // outputs rows(i), concatenated over the shards
    std::vector<std::size_t> statistics = {};  // outputs statistic(i), kept for each shard
    /// Names of the outputs that are sums. Each sum is accumulated as soon as it is complete and
    /// then freed.
    std::vector<std::string> sum_names() const;
  };
  std::vector<Stage> stages = {};
  /// Program that computes the new state(name) from state(name) and the statistics of one shard. It
  /// has no outputs if no update runs once per shard.
  Module carry;
  /// Program that computes the original program's outputs and updates from the sums, rows and
  /// state(name). Sums over all elements of large values are computed as sums of block_sums(),
  /// which can be split across ranks.
  Module step;
  std::vector<std::string> states = {};  // names of the variables that `carry` updates
  std::vector<std::string> keys = {};    // names of the keys that stages draw from
};

/// Returns the size of a sum in bytes. The sizes in `type` must be constant.
std::size_t bytes_of_sum(const ValueType& type);

/// Splits a sharded program into its parts. In a stage, random keys are folded with the shard's
/// number, so that every shard draws different numbers. If an update is attached to a value that
/// differs by shard (see with_update(); for example, the running statistics of batch norm), it runs
/// once per shard, in shard order. Throws GraphError, with the source line, if the program contains
/// an output or any other update that differs by shard, a sum whose sizes differ by shard, a sum or
/// concat inside a function or a loop, a concat that shards read, a cache, or a collective op.
ShardedProgram split_shards(const Program& program);

}  // namespace weft
