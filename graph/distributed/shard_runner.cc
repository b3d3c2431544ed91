#include "weft/graph/distributed/shard_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/owned_state.h"
#include "weft/graph/distributed/shard_rows.h"
#include "weft/graph/distributed/shard_sums.h"
#include "weft/graph/text/literal.h"

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

// Returns true if the program's graph has no input of this name. The Session rejects such feeds.
bool unknown(const Program& program, const std::string& name) {
  return !program.graph()->find_input(name).defined();
}

// Adds the sizes that are determined by inputs of the program but not by inputs of the stage.
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

class StepRun {
 public:
  StepRun(const Program& program, const ShardedProgram& parts, const OwnedStep& owned,
          const RunOptions& options, const PartRunner& runner)
      : program_(program),
        parts_(parts),
        owned_(owned),
        options_(options),
        runner_(runner),
        run_(shards_of_rank(runner.world.rank(), runner.world.size(), program.shards().count,
                            runner.sums_owned)),
        fed_(static_cast<std::size_t>(run_.size())),
        statistics_(static_cast<std::size_t>(run_.size())) {
    for (const std::string& name : parts.keys) {
      extra_[shard_names::key(name)] = runner.value(name);
    }
    for (const Program* part : {&parts.carry.program, &parts.step.program}) {
      for (const std::string& name : input_names(*part)) {
        if (!unknown(program, name) && !has(step_inputs_, name)) step_inputs_.push_back(name);
      }
    }
  }

  Results run(FunctionRef<NamedTensors(int shard)> feeds) {
    if (parts_.stages.empty()) {
      for_shards([&](int shard, std::size_t) { record_step_inputs(feeds(shard)); });
    }
    for (std::size_t s = 0; s < parts_.stages.size(); ++s) {
      const ShardedProgram::Stage& stage = parts_.stages[s];
      const bool last = s + 1 == parts_.stages.size();
      StageSums sums(stage, owned_, program_.shards().count, runner_);
      StageRows rows(stage, runner_.world, program_.shards().count, runner_.sums_owned);
      const std::vector<std::string> wanted = input_names(stage.module.program);
      // On an error, the world is poisoned before the memory that other ranks may be writing to is
      // freed.
      runner_.poison_on_error([&] {
        for_shards([&](int shard, std::size_t i) {
          NamedTensors& fed = fed_[i];
          if (s == 0) {
            fed = feeds(shard);
            record_step_inputs(fed);
          }
          rows.add(run_stage(stage, wanted, shard, i, sums));
          if (last) fed.clear();
        });
        set_phase("the sums of all shards");
        for (auto& [name, total] : sums.totals()) extra_[name] = std::move(total);
        for (auto& [name, all] : rows.gather_all()) extra_[name] = std::move(all);
      });
    }
    runner_.wait_for_parameters();
    compare_step_inputs();
    for (const auto& entry : fed_step_inputs_) extra_.insert(entry);
    carry_states();
    set_phase("the end of the step");
    if (!owned_.empty()) return run_owned_part();
    NamedTensors fed = extra_of(parts_.step.program);
    for (const auto& entry : fed_step_inputs_) {
      if (unknown(program_, entry.first)) fed.push_back(entry);
    }
    return runner_.run(parts_.step.program, fed, options_);
  }

 private:
  void set_phase(const std::string& phase) const {
    const std::string& part_of = options_.part_of;
    runner_.world.set_phase(part_of.empty() ? phase : part_of + ": " + phase);
  }

  // Calls body() for each shard of this rank, with its number and its index `i` on this rank.
  void for_shards(FunctionRef<void(int shard, std::size_t i)> body) const {
    const int count = program_.shards().count;
    for (int i = 0; i < run_.size(); ++i) {
      const int shard = run_.shard(i);
      set_phase(fmt::format("shard {} of {}", shard, count));
      try {
        body(shard, static_cast<std::size_t>(i));
      } catch (const WorldError&) {
        throw;  // another rank failed while sums were being sent
      } catch (const Error& e) {
        e.rethrow_as(fmt::format("shard {} of {}: {}", shard, count, e.what()));
      }
    }
  }

  // Records inputs that exist once per step: scalars (a learning rate, for example) that are fed to
  // all shards.
  void record_step_inputs(const NamedTensors& fed) {
    for (const auto& [name, tensor] : fed) {
      if (parts_.stages.empty() && unknown(program_, name)) fed_step_inputs_.emplace(name, tensor);
      if (!has(step_inputs_, name)) continue;
      const auto [it, first] = fed_step_inputs_.emplace(name, tensor);
      if (first || bitwise_equal(it->second, tensor)) continue;
      throw ArgumentError(
          fmt::format("input '{}' is {}, but was {} in earlier shards; the step reads it once, so "
                      "it must be equal in all shards",
                      name, tensor.str(), it->second.str()));
    }
  }

  // Ranks with different step inputs would diverge silently.
  void compare_step_inputs() const {
    if (step_inputs_.empty() || runner_.world.size() == 1) return;
    std::string text;
    for (const auto& [name, tensor] : fed_step_inputs_) {
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name,
                          tensor.numel() == 1 ? element_text(tensor, 0) : tensor.str());
    }
    runner_.world.check_same("the inputs of the step", text);
  }

  NamedTensors extra_of(const Program& part) const {
    NamedTensors feeds;
    for (const std::string& name : input_names(part)) {
      if (const auto it = extra_.find(name); it != extra_.end()) feeds.push_back(*it);
    }
    return feeds;
  }

  Results run_step(const Program& step, const RunOptions& options) {
    return runner_.run(step, extra_of(step), options);
  }

  // Runs this rank's part of the step and starts the exchange of parameters with the other ranks.
  Results run_owned_part() {
    runner_.partition_state(owned_);
    const std::shared_ptr<ParameterExchange> exchange = runner_.exchange_parameters(owned_);
    try {
      return run_owned_part(*exchange);
    } catch (...) {
      exchange->abandon();
      throw;
    }
  }

  Results run_owned_part(ParameterExchange& exchange) {
    feed_owned_ranges(exchange);
    const Program& unit_scalars = owned_.compute_unit_scalars.program;
    if (!owned_.unit_scalars.empty()) {
      const Results own =
          unit_scalars.outputs().empty() ? Results({}) : run_step(unit_scalars, part_options());
      for (auto& [name, unit_scalar] : gather_unit_scalars(owned_, runner_.world, own))
        extra_[name] = std::move(unit_scalar);
    }
    const auto& outputs_of_program = parts_.step.program.outputs();
    RunOptions options = options_;
    options.on_output = [&](const std::string& name, const Tensor& value) {
      if (runner_.overlap) exchange.publish(name, value);
      const auto is_it = [&](const auto& output) { return output.first == name; };
      if (options_.on_output &&
          std::any_of(outputs_of_program.begin(), outputs_of_program.end(), is_it))
        options_.on_output(name, value);
    };
    if (options_.cancel) {
      options.cancel = [&] { return !exchange.moving() && options_.cancel(); };
    }
    const Results results = run_step(owned_.step.program, options);
    // Handles to the ranges would prevent in-place updates of the parameters.
    const std::string prefix = shard_names::owned("");
    std::erase_if(extra_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    set_phase("the exchange of parameters");
    exchange.finish(results);
    NamedTensors outputs;
    for (const auto& [name, value] : outputs_of_program) {
      if (results.contains(name))
        outputs.emplace_back(name, results[name]);  // streamed outputs are absent
    }
    return Results(std::move(outputs));
  }

  // Feeds the variables that partitioned units read in addition to their state. The feeds are the
  // owned ranges, as views of the whole variables.
  void feed_owned_ranges(const ParameterExchange& exchange) {
    for (const OwnedPiece& piece : owned_.pieces[static_cast<std::size_t>(runner_.world.rank())]) {
      for (const std::string& name : owned_.units[piece.unit].reads) {
        Tensor whole = exchange.old_value(name);
        if (!whole.defined()) whole = runner_.value(name);
        const std::size_t begin = static_cast<std::size_t>(piece.begin) * dtype_size(whole.dtype());
        extra_[shard_names::owned(name)] = Tensor::view(
            whole.dtype(), {piece.end - piece.begin}, whole.buffer(), whole.byte_offset() + begin);
      }
    }
  }

  RunOptions part_options() const {
    RunOptions options;
    options.cancel = options_.cancel;
    options.dims = options_.dims;
    return options;
  }

  Results run_stage(const ShardedProgram::Stage& stage, const std::vector<std::string>& wanted,
                    int shard, std::size_t i, StageSums& sums) {
    extra_[shard_names::kIndex] = Tensor::of<std::int64_t>({}, {shard});
    NamedTensors feeds = extra_of(stage.module.program);
    for (const auto& entry : fed_[i]) {
      if (has(wanted, entry.first) || unknown(program_, entry.first)) feeds.push_back(entry);
    }
    RunOptions options = part_options();
    add_dims(program_, stage.module.program, sizes_of(fed_[i]), options.dims);
    options.streamed = stage.sum_names();
    static const std::vector<std::size_t> any_order;
    const std::vector<std::size_t>& order =
        runner_.sums_owned ? runner_.order_of_sums(stage, feeds, options) : any_order;
    sums.before(shard, order, i + 1 == fed_.size(), options);
    Results results = runner_.run(stage.module.program, feeds, options);
    for (const std::size_t k : stage.statistics) {
      const std::string name = shard_names::statistic(k);
      statistics_[i].emplace_back(name, results[name]);
    }
    sums.after();
    return results;
  }

  // Returns the statistics of all shards of all ranks, in shard order.
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
    std::vector<NamedTensors> result(static_cast<std::size_t>(program_.shards().count));
    std::size_t at = 0;
    for (int rank = 0; rank < runner_.world.size(); ++rank) {
      const ShardRun run =
          shards_of_rank(rank, runner_.world.size(), program_.shards().count, runner_.sums_owned);
      for (int i = 0; i < run.size(); ++i) {
        NamedTensors& of_shard = result[static_cast<std::size_t>(run.shard(i))];
        for (const auto& [name, like] : statistics_[0]) {
          Tensor tensor = Tensor::empty(like.dtype(), like.sizes());
          if (tensor.bytes() > 0)
            std::memcpy(tensor.mutable_raw(), all.data() + at, tensor.bytes());
          at += tensor.bytes();
          of_shard.emplace_back(name, std::move(tensor));
        }
      }
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
      for (const auto& [name, state] : runner_.run(carry, feeds, part_options()))
        extra_[name] = state;
    }
  }

  const Program& program_;
  const ShardedProgram& parts_;
  const OwnedStep& owned_;
  const RunOptions& options_;
  const PartRunner& runner_;
  const ShardRun run_;                    // the shards of this rank
  std::map<std::string, Tensor> extra_;   // additional inputs of parts, by name
  std::vector<std::string> step_inputs_;  // inputs of the program that the step reads
  std::map<std::string, Tensor> fed_step_inputs_;
  std::vector<NamedTensors> fed_;         // indexed by shard of this rank; reused by later stages
  std::vector<NamedTensors> statistics_;  // indexed by shard of this rank
};

// Throws ArgumentError if the symbol in Shards::axis appears to be wrong, that is, if no input
// would be sliced although inputs have another symbol as their first axis. Every shard would then
// process the whole batch.
void reject_unsliced_feeds(const Program& program, const NamedTensors& feeds) {
  std::vector<std::string> axes, inputs;
  for (const auto& [name, tensor] : feeds) {
    const Value input = program.graph()->find_input(name);
    if (!input.defined() || input.rank() == 0 || input.shape()[0].is_constant()) continue;
    axes.push_back(input.shape()[0].str());
    inputs.push_back(fmt::format("'{}' {}", name, input.type().str()));
  }
  if (inputs.empty()) return;
  const std::string& axis = program.shards().axis;
  throw ArgumentError(
      fmt::format("program '{}' splits its batch along '{}', but no fed input has this symbol as "
                  "its first axis{}: {}; set Shards::axis to the right symbol, or feed each shard "
                  "separately (Session::run_shards)",
                  program.name(), axis, did_you_mean(axis, axes), list_names(inputs)));
}

}  // namespace

Results run_shards(const Program& program, const ShardedProgram& parts, const OwnedStep& owned,
                   FunctionRef<NamedTensors(int shard)> feeds, const RunOptions& options,
                   const PartRunner& runner) {
  return StepRun(program, parts, owned, options, runner).run(feeds);
}

StageSizes sizes_of_stage(const Program& program, const Program& stage, const NamedSizes& feeds,
                          const DimValues& dims) {
  StageSizes result{.feeds = {}, .dims = dims};
  const std::vector<std::string> wanted = input_names(stage);
  for (const auto& entry : feeds) {
    if (has(wanted, entry.first) || unknown(program, entry.first)) result.feeds.push_back(entry);
  }
  for (const Value& input : stage.inputs()) {
    if (unknown(program, name_of(input)))
      result.feeds.emplace_back(name_of(input), input.shape().constant());
  }
  add_dims(program, stage, feeds, result.dims);
  return result;
}

NamedTensors slice_feeds(const Program& program, const NamedTensors& feeds, int shard) {
  const Shards& shards = program.shards();
  NamedTensors result;
  bool any_cut = false;
  for (const auto& [name, tensor] : feeds) {
    const Value input = program.graph()->find_input(name);
    const bool is_cut = input.defined() && tensor.defined() && tensor.rank() > 0 &&
                        input.rank() > 0 && input.shape()[0].str() == shards.axis;
    if (!is_cut) {
      result.emplace_back(name, tensor);
      continue;
    }
    any_cut = true;
    const std::int64_t rows = tensor.size(0);
    if (rows % shards.count != 0) {
      throw ShapeError(fmt::format(
          "'{}' has {} rows along '{}', which cannot be divided into {} equal shards; feed a "
          "multiple of {} rows, or feed each shard separately (Session::run_shards)",
          name, rows, shards.axis, shards.count, shards.count));
    }
    Sizes sizes = tensor.sizes();
    sizes[0] = rows / shards.count;
    const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(shards.count);
    result.emplace_back(
        name, Tensor::view(tensor.dtype(), sizes, tensor.buffer(),
                           tensor.byte_offset() + bytes * static_cast<std::size_t>(shard)));
  }
  if (!any_cut) reject_unsliced_feeds(program, feeds);
  return result;
}

}  // namespace weft
