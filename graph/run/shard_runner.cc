#include "weft/graph/run/shard_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/tree_sum.h"
#include "weft/graph/run/sum_layout.h"

namespace weft {
namespace {

std::string name_of(const Value& input) { return input.node().attributes().text("name"); }

std::vector<std::string> input_names(const Program& part) {
  std::vector<std::string> names;
  for (const Value& v : part.inputs()) names.push_back(name_of(v));
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Sizes that the inputs of the program show and those of the stage do not.
void add_dims(const Program& program, const Program& stage, const NamedSizes& fed,
              DimValues& dims) {
  std::vector<std::string> known;
  for (const auto& [name, size] : dims) known.push_back(name);
  const auto each_symbol = [](const Value& input, const auto& body) {
    for (int axis = 0; axis < input.rank(); ++axis) {
      if (const SymbolPtr symbol = input.shape()[axis].as_symbol()) body(symbol->name, axis);
    }
  };
  for (const Value& input : stage.inputs()) {
    each_symbol(input, [&](const std::string& name, int) { known.push_back(name); });
  }
  for (const auto& [fed_name, sizes] : fed) {
    const Value input = program.graph()->find_input(fed_name);
    if (!input.defined() || std::ssize(sizes) != input.rank()) continue;
    each_symbol(input, [&, &of_input = sizes](const std::string& name, int axis) {
      if (has(known, name)) return;
      dims.emplace_back(name, of_input[static_cast<std::size_t>(axis)]);
      known.push_back(name);
    });
  }
}

NamedSizes sizes_of(const NamedTensors& fed) {
  NamedSizes sizes;
  for (const auto& [name, tensor] : fed) {
    if (tensor.defined()) sizes.emplace_back(name, tensor.sizes());
  }
  return sizes;
}

// The sums of a stage over all shards: those of this rank are added as they come, then those of
// all.
class StageSums {
 public:
  StageSums(const Program& program, const ShardedProgram::Stage& stage, const PartRunner& runner)
      : program_(program), runner_(runner), layout_(types_of(stage), program.graph()->ops()) {
    for (const std::size_t i : stage.sums) names_.push_back(shard_names::sum(i));
  }

  /// Tensors for the sums of the next shard.
  NamedTensors next() {
    next_ = runner_.memory(layout_.bytes());
    return named(next_);
  }
  /// Adds them to those before.
  void push(int shard) {
    for (int more = tree_.push({.first = shard, .count = 1}); more > 0; --more) {
      std::shared_ptr<Buffer>& lower = stack_.back();
      layout_.add(0, bytes_of(*lower), bytes_of(*next_), runner_.workers);
      next_ = std::move(lower);
      stack_.pop_back();
    }
    stack_.push_back(std::move(next_));
  }
  /// After all shards of all ranks.
  NamedTensors totals() {
    std::vector<SubtreeSums> own;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      own.push_back({tree_.stack()[i], bytes_of(*stack_[i])});
    }
    const auto add = [&](std::size_t begin, std::span<std::byte> into,
                         std::span<const std::byte> x) {
      layout_.add(begin, into, x, runner_.workers);
    };
    sum_over_ranks(runner_.world, program_.shards().count, own, add, runner_.memory);
    return named(stack_.at(0));
  }

 private:
  static std::vector<ValueType> types_of(const ShardedProgram::Stage& stage) {
    std::vector<ValueType> types;
    for (std::size_t i = 0; i < stage.sums.size(); ++i) {
      types.push_back(stage.module.program.outputs()[i].second.type());
    }
    return types;
  }
  static std::span<std::byte> bytes_of(Buffer& buffer) { return {buffer.data(), buffer.bytes()}; }
  NamedTensors named(const std::shared_ptr<Buffer>& block) const {
    const std::vector<Tensor> tensors = layout_.tensors(block);
    NamedTensors result;
    for (std::size_t i = 0; i < names_.size(); ++i) result.emplace_back(names_[i], tensors[i]);
    return result;
  }

  const Program& program_;
  const PartRunner& runner_;
  const SumLayout layout_;
  std::vector<std::string> names_;
  TreeFold tree_;
  std::vector<std::shared_ptr<Buffer>> stack_;
  std::shared_ptr<Buffer> next_;
};

class StepRun {
 public:
  StepRun(const Program& program, const ShardedProgram& parts, const RunOptions& options,
          const PartRunner& runner)
      : program_(program),
        parts_(parts),
        options_(options),
        runner_(runner),
        run_(run_of_rank(runner.world.rank(), runner.world.size(), program.shards().count)),
        own_(input_names(program)),
        fed_(static_cast<std::size_t>(run_.size())),
        statistics_(static_cast<std::size_t>(run_.size())) {
    for (const std::string& name : parts.keys) {
      extra_[shard_names::key(name)] = runner.value(name);
    }
  }

  Results run(FunctionRef<NamedTensors(int shard)> feeds) {
    for (std::size_t s = 0; s < parts_.stages.size(); ++s) {
      const ShardedProgram::Stage& stage = parts_.stages[s];
      const bool last = s + 1 == parts_.stages.size();
      StageSums sums(program_, stage, runner_);
      const std::vector<std::string> wanted = input_names(stage.module.program);
      for (int shard = run_.begin; shard < run_.end; ++shard) {
        set_phase(fmt::format("shard {} of {}", shard, program_.shards().count));
        const auto i = static_cast<std::size_t>(shard - run_.begin);
        try {
          if (s == 0) fed_[i] = feeds(shard);
          run_stage(stage, wanted, shard, sums);
        } catch (const Error& e) {
          e.rethrow_as(fmt::format("shard {} of {}: {}", shard, program_.shards().count, e.what()));
        }
        if (last) fed_[i].clear();
      }
      set_phase("the sums of all shards");
      if (stage.sums.empty()) continue;
      for (auto& [name, total] : sums.totals()) extra_[name] = std::move(total);
    }
    carry_states();
    set_phase("the end of the step");
    return runner_.run(parts_.step.program, extra_of(parts_.step.program), options_);
  }

 private:
  void set_phase(const std::string& phase) const {
    const std::string& part_of = options_.part_of;
    runner_.world.set_phase(part_of.empty() ? phase : part_of + ": " + phase);
  }

  NamedTensors extra_of(const Program& part) const {
    NamedTensors feeds;
    for (const std::string& name : input_names(part)) {
      if (const auto it = extra_.find(name); it != extra_.end()) feeds.push_back(*it);
    }
    return feeds;
  }

  RunOptions of_part() const {
    RunOptions options;
    options.cancel = options_.cancel;
    options.dims = options_.dims;
    return options;
  }

  void run_stage(const ShardedProgram::Stage& stage, const std::vector<std::string>& wanted,
                 int shard, StageSums& sums) {
    const auto i = static_cast<std::size_t>(shard - run_.begin);
    extra_[shard_names::kIndex] = Tensor::of<std::int64_t>({}, {shard});
    NamedTensors feeds = extra_of(stage.module.program);
    for (const auto& entry : fed_[i]) {
      // What the program does not know is for the Session to refuse.
      if (has(wanted, entry.first) || !has(own_, entry.first)) feeds.push_back(entry);
    }
    RunOptions options = of_part();
    options.into = sums.next();
    add_dims(program_, stage.module.program, sizes_of(fed_[i]), options.dims);
    const Results results = runner_.run(stage.module.program, feeds, options);
    for (const std::size_t k : stage.statistics) {
      const std::string name = shard_names::statistic(k);
      statistics_[i].emplace_back(name, results[name]);
    }
    sums.push(shard);
  }

  // The statistics of every shard of all ranks, in order of the shards.
  std::vector<NamedTensors> all_statistics() const {
    if (runner_.world.size() == 1) return statistics_;
    std::string own;
    for (const NamedTensors& of_shard : statistics_) {
      for (const auto& [name, tensor] : of_shard) {
        own.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
      }
    }
    std::string all;
    for (const std::string& of_rank : runner_.world.gather(own)) all += of_rank;
    std::vector<NamedTensors> result;
    for (std::size_t at = 0; at < all.size();) {
      NamedTensors of_shard;
      for (const auto& [name, like] : statistics_[0]) {
        Tensor tensor = Tensor::empty(like.dtype(), like.sizes());
        std::memcpy(tensor.mutable_raw(), all.data() + at, tensor.bytes());
        at += tensor.bytes();
        of_shard.emplace_back(name, std::move(tensor));
      }
      result.push_back(std::move(of_shard));
    }
    return result;
  }

  void carry_states() {
    if (parts_.states.empty()) return;
    for (const std::string& name : parts_.states) {
      extra_[shard_names::state(name)] = runner_.value(name);
    }
    const Program& carry = parts_.carry.program;
    const std::vector<std::string> wanted = input_names(carry);
    for (const NamedTensors& statistics : all_statistics()) {
      NamedTensors feeds = extra_of(carry);
      for (const auto& entry : statistics) {
        if (has(wanted, entry.first)) feeds.push_back(entry);
      }
      for (const auto& [name, state] : runner_.run(carry, feeds, of_part())) extra_[name] = state;
    }
  }

  const Program& program_;
  const ShardedProgram& parts_;
  const RunOptions& options_;
  const PartRunner& runner_;
  const ShardRun run_;                    // the shards of this rank
  const std::vector<std::string> own_;    // names of the program's inputs
  std::map<std::string, Tensor> extra_;   // what parts are fed besides: by name
  std::vector<NamedTensors> fed_;         // by shard of this rank; stages feed them again
  std::vector<NamedTensors> statistics_;  // by shard of this rank
};

}  // namespace

Results run_shards(const Program& program, const ShardedProgram& parts,
                   FunctionRef<NamedTensors(int shard)> feeds, const RunOptions& options,
                   const PartRunner& runner) {
  return StepRun(program, parts, options, runner).run(feeds);
}

SizesOfPart sizes_of_stage(const Program& program, const Program& stage, const NamedSizes& feeds,
                           const DimValues& dims) {
  SizesOfPart result{.feeds = {}, .dims = dims};
  const std::vector<std::string> own = input_names(program), wanted = input_names(stage);
  for (const auto& entry : feeds) {
    // What the program does not know is for the Session to refuse.
    if (has(wanted, entry.first) || !has(own, entry.first)) result.feeds.push_back(entry);
  }
  for (const Value& input : stage.inputs()) {
    if (!has(own, name_of(input)))
      result.feeds.emplace_back(name_of(input), input.shape().constant());
  }
  add_dims(program, stage, feeds, result.dims);
  return result;
}

NamedTensors cut_feeds(const Program& program, const NamedTensors& feeds, int shard) {
  const Shards& shards = program.shards();
  NamedTensors result;
  for (const auto& [name, tensor] : feeds) {
    const Value input = program.graph()->find_input(name);
    const bool is_cut = input.defined() && tensor.defined() && tensor.rank() > 0 &&
                        input.rank() > 0 && input.shape()[0].str() == shards.axis;
    if (!is_cut) {
      result.emplace_back(name, tensor);
      continue;
    }
    const std::int64_t rows = tensor.size(0);
    if (rows % shards.count != 0) {
      throw ShapeError(fmt::format(
          "'{}' has {} rows along '{}', which cannot be cut into {} equal shards; feed a multiple "
          "of {} rows, or the inputs of every shard by themselves",
          name, rows, shards.axis, shards.count, shards.count));
    }
    Sizes sizes = tensor.sizes();
    sizes[0] = rows / shards.count;
    const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(shards.count);
    result.emplace_back(
        name, Tensor::view(tensor.dtype(), sizes, tensor.buffer(),
                           tensor.byte_offset() + bytes * static_cast<std::size_t>(shard)));
  }
  return result;
}

}  // namespace weft
