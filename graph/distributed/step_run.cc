#include "weft/graph/distributed/step_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/shard_feeds.h"
#include "weft/graph/distributed/stage_rows.h"
#include "weft/graph/text/literal.h"

namespace weft {

StepRun::StepRun(StepRunner& runner, SplitCache::Entry& entry, const RunOptions& options)
    : runner_(runner),
      entry_(entry),
      program_(entry.program),
      parts_(entry.parts),
      owned_(entry.owned),
      options_(options),
      world_(runner.world()),
      sums_(runner.sum_context(entry)),
      run_(shards_of_rank(world_.rank(), world_.size(), program_.shards().count, sums_.owned)),
      fed_(static_cast<std::size_t>(run_.size())),
      statistics_(static_cast<std::size_t>(run_.size())) {
  for (const std::string& name : parts_.keys) {
    extra_[shard_names::key(name)] = runner.engine().value(name);
  }
  for (const Program* part : {&parts_.carry.program, &parts_.step.program}) {
    for (const std::string& name : input_names(*part)) {
      if (!is_unknown_input(program_, name) && !has_name(step_inputs_, name))
        step_inputs_.push_back(name);
    }
  }
}

Results StepRun::run(FunctionRef<NamedTensors(int shard)> feeds) {
  if (parts_.stages.empty()) {
    for_shards([&](int shard, std::size_t) { record_step_inputs(feeds(shard)); });
  }
  for (std::size_t s = 0; s < parts_.stages.size(); ++s) {
    const ShardedProgram::Stage& stage = parts_.stages[s];
    const bool last = s + 1 == parts_.stages.size();
    StageSums sums(stage, owned_, sums_);
    StageRows rows(stage, world_, program_.shards().count, sums_.owned);
    const std::vector<std::string> wanted = input_names(stage.module.program);
    // On an error, the world is poisoned before the memory that other ranks may be writing to is
    // freed.
    runner_.poison_on_error(options_, [&] {
      for_shards([&](int shard, std::size_t i) {
        NamedTensors& fed = fed_[i];
        if (s == 0) {
          fed = feeds(shard);
          record_step_inputs(fed);
        }
        rows.add(run_stage(s, wanted, shard, i, sums));
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
    if (is_unknown_input(program_, entry.first)) fed.push_back(entry);
  }
  return runner_.run_part(parts_.step.program, fed, options_);
}

void StepRun::set_phase(const std::string& phase) const {
  const std::string& part_of = options_.part_of;
  world_.set_phase(part_of.empty() ? phase : part_of + ": " + phase);
}

void StepRun::for_shards(FunctionRef<void(int shard, std::size_t i)> body) const {
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

void StepRun::record_step_inputs(const NamedTensors& fed) {
  for (const auto& [name, tensor] : fed) {
    if (parts_.stages.empty() && is_unknown_input(program_, name))
      fed_step_inputs_.emplace(name, tensor);
    if (!has_name(step_inputs_, name)) continue;
    const auto [it, first] = fed_step_inputs_.emplace(name, tensor);
    if (first || bitwise_equal(it->second, tensor)) continue;
    throw ArgumentError(
        fmt::format("input '{}' is {}, but was {} in earlier shards; the step reads it once, so "
                    "it must be equal in all shards",
                    name, tensor.str(), it->second.str()));
  }
}

void StepRun::compare_step_inputs() const {
  if (step_inputs_.empty() || world_.size() == 1) return;
  std::string text;
  for (const auto& [name, tensor] : fed_step_inputs_) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name,
                        tensor.numel() == 1 ? element_text(tensor, 0) : tensor.str());
  }
  world_.check_same("the inputs of the step", text);
}

NamedTensors StepRun::extra_of(const Program& part) const {
  NamedTensors feeds;
  for (const std::string& name : input_names(part)) {
    if (const auto it = extra_.find(name); it != extra_.end()) feeds.push_back(*it);
  }
  return feeds;
}

Results StepRun::run_step(const Program& step, const RunOptions& options) {
  return runner_.run_part(step, extra_of(step), options);
}

Results StepRun::run_owned_part() {
  runner_.partition_state(owned_);
  const std::shared_ptr<ParameterExchange> exchange = runner_.exchange_parameters(program_, owned_);
  try {
    return run_owned_part(*exchange);
  } catch (...) {
    exchange->abandon();
    throw;
  }
}

Results StepRun::run_owned_part(ParameterExchange& exchange) {
  feed_owned_ranges(exchange);
  const Program& unit_scalars = owned_.compute_unit_scalars.program;
  if (!owned_.unit_scalars.empty()) {
    const Results own =
        unit_scalars.outputs().empty() ? Results({}) : run_step(unit_scalars, part_options());
    for (auto& [name, unit_scalar] : gather_unit_scalars(owned_, world_, own))
      extra_[name] = std::move(unit_scalar);
  }
  const auto& outputs_of_program = parts_.step.program.outputs();
  RunOptions options = options_;
  options.on_output = [&](const std::string& name, const Tensor& value) {
    if (sums_.overlap) exchange.publish(name, value);
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

void StepRun::feed_owned_ranges(const ParameterExchange& exchange) {
  for (const OwnedPiece& piece : owned_.pieces[static_cast<std::size_t>(world_.rank())]) {
    for (const std::string& name : owned_.units[piece.unit].reads) {
      Tensor whole = exchange.old_value(name);
      if (!whole.defined()) whole = runner_.engine().value(name);
      const std::size_t begin = static_cast<std::size_t>(piece.begin) * dtype_size(whole.dtype());
      extra_[shard_names::owned(name)] = Tensor::view(whole.dtype(), {piece.end - piece.begin},
                                                      whole.buffer(), whole.byte_offset() + begin);
    }
  }
}

RunOptions StepRun::part_options() const {
  RunOptions options;
  options.cancel = options_.cancel;
  options.dims = options_.dims;
  return options;
}

Results StepRun::run_stage(std::size_t number, const std::vector<std::string>& wanted, int shard,
                           std::size_t i, StageSums& sums) {
  const ShardedProgram::Stage& stage = parts_.stages[number];
  extra_[shard_names::kIndex] = Tensor::of<std::int64_t>({}, {shard});
  NamedTensors feeds = extra_of(stage.module.program);
  for (const auto& entry : fed_[i]) {
    if (has_name(wanted, entry.first) || is_unknown_input(program_, entry.first))
      feeds.push_back(entry);
  }
  RunOptions options = part_options();
  add_dims(program_, stage.module.program, sizes_of(fed_[i]), options.dims);
  options.streamed = stage.sum_names();
  static const std::vector<std::size_t> any_order;
  const std::vector<std::size_t>& order =
      sums_.owned ? runner_.order_of_sums(entry_, number, feeds, options) : any_order;
  sums.before(shard, order, i + 1 == fed_.size(), options);
  Results results = runner_.run_part(stage.module.program, feeds, options);
  for (const std::size_t k : stage.statistics) {
    const std::string name = shard_names::statistic(k);
    statistics_[i].emplace_back(name, results[name]);
  }
  sums.after();
  return results;
}

std::vector<NamedTensors> StepRun::all_statistics() const {
  if (world_.size() == 1) return statistics_;
  std::string own;
  for (const NamedTensors& of_shard : statistics_) {
    for (const auto& [name, tensor] : of_shard) {
      own.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
    }
  }
  std::string all;
  for (const std::string& of_rank : world_.gather(own)) all += of_rank;
  std::vector<NamedTensors> result(static_cast<std::size_t>(program_.shards().count));
  std::size_t at = 0;
  for (int rank = 0; rank < world_.size(); ++rank) {
    const ShardRun run = shards_of_rank(rank, world_.size(), program_.shards().count, sums_.owned);
    for (int i = 0; i < run.size(); ++i) {
      NamedTensors& of_shard = result[static_cast<std::size_t>(run.shard(i))];
      for (const auto& [name, like] : statistics_[0]) {
        Tensor tensor = Tensor::empty(like.dtype(), like.sizes());
        if (tensor.bytes() > 0) std::memcpy(tensor.mutable_raw(), all.data() + at, tensor.bytes());
        at += tensor.bytes();
        of_shard.emplace_back(name, std::move(tensor));
      }
    }
  }
  return result;
}

void StepRun::carry_states() {
  if (parts_.states.empty()) return;
  for (const std::string& name : parts_.states) {
    extra_[shard_names::state(name)] = runner_.engine().value(name);
  }
  const Program& carry = parts_.carry.program;
  const std::vector<std::string> wanted = input_names(carry);
  for (const NamedTensors& statistics : all_statistics()) {
    NamedTensors feeds = extra_of(carry);
    for (const auto& entry : statistics) {
      if (has_name(wanted, entry.first)) feeds.push_back(entry);
    }
    for (const auto& [name, state] : runner_.run_part(carry, feeds, part_options()))
      extra_[name] = state;
  }
}

}  // namespace weft
