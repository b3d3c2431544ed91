// A program with shards, taken apart into programs that are run once per shard and one that is run
// once per step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// Inputs and outputs that the parts of a program have besides its own. `i` counts sums, concats
/// and statistics, `name` is a variable's.
namespace shard_names {
inline const std::string kIndex = "shards.index";  // i64 scalar: the number of the shard
std::string key(const std::string& name);          // what the random key is in this step
std::string state(const std::string& name);        // a variable that shards update in their order
std::string sum(std::size_t i);                    // of one shard, or of all that are added
std::optional<std::size_t> number_of_sum(std::string_view name);  // i of sum(i)
std::string early(std::size_t i);  // most of sum(i), of one shard: see early_sums.h
std::optional<std::size_t> number_of_early(std::string_view name);
std::string rows(std::size_t i);               // of one shard, or of all, behind one another
std::string statistic(std::size_t i);          // of one shard, for the update of states
std::string exit(std::size_t i);               // a scalar of an owned unit, or its block_sums()
std::string owned(const std::string& name);    // the owned range of a parameter
std::string updated(const std::string& name);  // its new value, of all of it or of that range
}  // namespace shard_names

/// The parts. A step runs every stage for every shard, one stage after the other, adds up or joins
/// what it gives and feeds that to the stages behind it; then `carry` for the statistics of every
/// shard, in order of the shards, and `step`. Each part has a graph of its own, over the variables
/// of the whole program, by name; `step` alone updates any.
struct ShardedProgram {
  struct Stage {
    Module module;
    std::vector<std::size_t> sums = {};        // outputs sum(i), to be added over the shards
    std::vector<std::size_t> early = {};       // those that have an output early(i)
    std::vector<std::size_t> rows = {};        // outputs rows(i), to be joined
    std::vector<std::size_t> statistics = {};  // outputs statistic(i), to be kept of each shard
    /// The names of the outputs that are sums. They are added up when they are there, and not kept.
    std::vector<std::string> sum_names() const;
  };
  std::vector<Stage> stages = {};
  /// Takes state(name) before and the statistics of one shard, gives state(name) behind it. Without
  /// outputs where no shard updates anything.
  Module carry;
  /// Takes the sums, rows and state(name), has the program's outputs and updates. Sums over all
  /// elements of large values are those of block_sums(), of which ranks can have a part each.
  Module step;
  std::vector<std::string> states = {};  // names of the variables that `carry` updates
  std::vector<std::string> keys = {};    // names of the keys that stages draw from
};

/// Of a sum, whose sizes are constant.
std::size_t bytes_of_sum(const ValueType& type);

/// Takes a program with shards apart. In a stage, random keys are folded with the number of the
/// shard, so that every shard draws numbers of its own. Updates that come with a value that differs
/// by shard (with_update(): running statistics of a batch norm) happen once per shard, in their
/// order. Throws GraphError, with the line, for an output or any other update that differs by
/// shard, a sum whose sizes do, a sum or concat inside of a function or a loop, a concat that
/// shards read, and a cache.
ShardedProgram split_shards(const Program& program);

}  // namespace weft
