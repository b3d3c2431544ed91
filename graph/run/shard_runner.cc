#include "weft/graph/run/shard_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/ops/kernel.h"
#include "weft/ops/row_kernel.h"

namespace weft {
namespace {

constexpr std::int64_t kAddedAtOnce = std::int64_t{1} << 16;  // elements

// into += x.
void add_to(Tensor& into, const Tensor& x, const OpSet& ops, Workers& workers) {
  const OpRecord& op = ops.at("add");
  const Attributes attributes = op.complete({});
  const RowKernel add = op.row(
      {.inputs = {into.dtype(), x.dtype()}, .output = into.dtype(), .attributes = attributes});
  const std::int64_t chunks = chunk_count(into.numel(), kAddedAtOnce);
  const std::size_t size = dtype_size(into.dtype());
  std::byte* to = into.mutable_raw();
  const std::byte* from = x.raw();
  workers.for_chunks(
      chunks,
      [&](std::int64_t chunk, int) {
        const auto [begin, end] = chunk_range(into.numel(), chunks, chunk);
        const std::size_t at = static_cast<std::size_t>(begin) * size;
        const void* const in[] = {to + at, from + at};
        add(in, to + at, end - begin, begin);
      },
      static_cast<double>(into.bytes()) / 8);
}

// Adds the sums of shards along the tree.
class Fold {
 public:
  Fold(const OpSet& ops, Workers& workers) : ops_(ops), workers_(workers) {}

  void push(int shard, std::vector<Tensor> sums) {
    for (int more = tree_.push({.first = shard, .count = 1}); more > 0; --more) {
      std::vector<Tensor>& lower = stack_.back();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (lower[i].sizes() != sums[i].sizes()) {
          throw ShapeError(fmt::format("the sizes to be added are {}, and {} in earlier shards",
                                       to_string(sums[i].sizes()), to_string(lower[i].sizes())));
        }
        add_to(lower[i], sums[i], ops_, workers_);
      }
      sums = std::move(lower);
      stack_.pop_back();
    }
    stack_.push_back(std::move(sums));
  }

  // After all shards.
  std::vector<Tensor> total() { return std::move(stack_.at(0)); }

 private:
  const OpSet& ops_;
  Workers& workers_;
  TreeFold tree_;
  std::vector<std::vector<Tensor>> stack_;
};

class StepRun {
 public:
  StepRun(const Program& program, const ShardedProgram& parts, const RunOptions& options,
          const PartRunner& runner)
      : program_(program), parts_(parts), options_(options), runner_(runner) {
    for (const Value& v : program.inputs()) own_.push_back(name_of(v));
    for (const std::string& name : parts.keys) {
      extra_[shard_names::key(name)] = runner.value(name);
    }
  }

  Results run(FunctionRef<NamedTensors(int shard)> feeds) {
    const int count = program_.shards().count;
    statistics_.resize(static_cast<std::size_t>(count));
    // Fed again by the stages behind the first.
    std::vector<NamedTensors> kept(static_cast<std::size_t>(count));
    for (std::size_t s = 0; s < parts_.stages.size(); ++s) {
      const ShardedProgram::Stage& stage = parts_.stages[s];
      const std::vector<std::string> wanted = input_names(stage.module.program);
      Fold fold(program_.graph()->ops(), runner_.workers);
      for (int shard = 0; shard < count; ++shard) {
        NamedTensors& fed = kept[static_cast<std::size_t>(shard)];
        try {
          if (s == 0) fed = feeds(shard);
          std::vector<Tensor> sums = run_stage(stage, wanted, fed, shard);
          fold.push(shard, std::move(sums));
        } catch (const Error& e) {
          e.rethrow_as(fmt::format("shard {} of {}: {}", shard, count, e.what()));
        }
        if (s + 1 == parts_.stages.size()) fed.clear();
      }
      if (stage.sums.empty()) continue;
      std::vector<Tensor> totals = fold.total();
      for (std::size_t i = 0; i < totals.size(); ++i) {
        extra_[shard_names::sum(stage.sums[i])] = std::move(totals[i]);
      }
    }
    carry_states();
    return runner_.run(parts_.step.program, extra_of(parts_.step.program), options_);
  }

 private:
  static std::string name_of(const Value& input) { return input.node().attributes().text("name"); }

  static std::vector<std::string> input_names(const Program& part) {
    std::vector<std::string> names;
    for (const Value& v : part.inputs()) names.push_back(name_of(v));
    return names;
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

  std::vector<Tensor> run_stage(const ShardedProgram::Stage& stage,
                                const std::vector<std::string>& wanted, const NamedTensors& fed,
                                int shard) {
    extra_[shard_names::kIndex] = Tensor::of<std::int64_t>({}, {shard});
    NamedTensors feeds = extra_of(stage.module.program);
    for (const auto& entry : fed) {
      const auto has = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), entry.first) != names.end();
      };
      // What the program does not know is for the Session to refuse.
      if (has(wanted) || !has(own_)) feeds.push_back(entry);
    }
    Results results = runner_.run(stage.module.program, feeds, of_part());
    std::vector<Tensor> sums;
    for (const std::size_t i : stage.sums) sums.push_back(results[shard_names::sum(i)]);
    for (const std::size_t i : stage.statistics) {
      statistics_[static_cast<std::size_t>(shard)].emplace_back(shard_names::statistic(i),
                                                                results[shard_names::statistic(i)]);
    }
    return sums;
  }

  void carry_states() {
    if (parts_.states.empty()) return;
    for (const std::string& name : parts_.states) {
      extra_[shard_names::state(name)] = runner_.value(name);
    }
    const Program& carry = parts_.carry.program;
    const std::vector<std::string> wanted = input_names(carry);
    for (const NamedTensors& statistics : statistics_) {
      NamedTensors feeds = extra_of(carry);
      for (const auto& entry : statistics) {
        if (std::find(wanted.begin(), wanted.end(), entry.first) != wanted.end()) {
          feeds.push_back(entry);
        }
      }
      for (const auto& [name, state] : runner_.run(carry, feeds, of_part())) extra_[name] = state;
    }
  }

  const Program& program_;
  const ShardedProgram& parts_;
  const RunOptions& options_;
  const PartRunner& runner_;
  std::vector<std::string> own_;          // names of the program's inputs
  std::map<std::string, Tensor> extra_;   // what parts are fed besides: by name
  std::vector<NamedTensors> statistics_;  // by shard
};

}  // namespace

Results run_shards(const Program& program, const ShardedProgram& parts,
                   FunctionRef<NamedTensors(int shard)> feeds, const RunOptions& options,
                   const PartRunner& runner) {
  return StepRun(program, parts, options, runner).run(feeds);
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
