#include "weft/models/program/commands/training_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/models/fields/numbers.h"
#include "weft/models/program/limits/memory_guard.h"
#include "weft/models/program/limits/step_memory.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/training/optimizers.h"

namespace weft::program {

void print_start(const TaskRun& run, const TrainedModel& model, const TrainArguments& args) {
  if (run.loaded) {
    say("from      {}: {}\n", args.from.path, run.loaded->str());
    say("settings  training settings of preset {}\n", run.preset);
  }
  say("{}", run.notes);
  std::int64_t frozen = 0, trained = 0;
  for (const Variable& variable : model.graph->variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind != VariableKind::parameter) continue;
    frozen += info.trainable ? 0 : 1;
    trained += info.trainable ? variable.shape().numel().constant() : 0;
  }
  if (!args.freeze.empty()) say("frozen    {} parameters\n", frozen);
  if (model.lora) {
    say("adapters  rank {}, alpha {:g}{}: {} trainable parameters\n", model.lora->rank,
        model.lora->alpha, is_quantized(*model.graph) ? ", on quantised weights" : "",
        grouped(trained));
  }
}

void print_training(const TrainSettings& s, const TaskRun& run) {
  constexpr double kBytesEach = 8;  // inputs and targets
  check_memory("a batch",
               kBytesEach * static_cast<double>(s.batch) * static_cast<double>(run.row_size()),
               "reduce --batch");
  say("training  {} steps of {} {}{}, {}, learning rate {:g}", grouped(s.steps), s.batch,
      run.batch_unit(), s.shards > 1 ? fmt::format(" in {} shards", s.shards) : "",
      train_optimizer(s.optimizer).title, s.lr);
  if (s.schedule == LearningRate::cosine || s.schedule == LearningRate::linear)
    say(" -> {:g}", s.min_lr);
  if (s.patience > 0) say(", patience {}", s.patience);
  if (s.ema > 0) say(", averages of the weights with decay {:g}", s.ema);
  say(", seed {}\n", s.seed);
}

void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args) {
  const auto plan = rethrow_as_usage([&] { return session.plan(train, sizes_of(batch)); });
  const MemoryReport memory = plan->memory();
  const StepMemory step =
      step_memory(train, *plan, session.options().world.size(), session.options());
  check_memory("a training step", step.total(),
               "reduce --batch or the model, increase --shards, or set a --memory-budget");
  const int threads = args.threads == 0 ? hardware_threads() : args.threads;
  const int shards = train.shards().count;
  say("plan      {} FLOP per step; {} of variables, {} of working memory{}; {} {}\n",
      short_number(plan->cost().flops * shards), short_bytes(step.variables),
      short_bytes(step.working),
      shards > 1 ? fmt::format(" for a shard and {} for sums", short_bytes(step.sums)) : "",
      threads, threads == 1 ? "thread" : "threads");
  if (memory.recomputed_bytes > 0) {
    say("budget    {}: {} of intermediate results are recomputed, {} FLOP per step\n",
        short_bytes(static_cast<double>(memory.budget)),
        short_bytes(static_cast<double>(memory.recomputed_bytes)),
        short_number(memory.recomputed_flops * shards));
  }
  flush_stdout();
}

void print_ending(const TrainOutcome& outcome, const TrainSettings& settings,
                  const TrainArguments& args) {
  const std::string& out = args.destination();
  const std::string resume =
      fmt::format("continue with: {} --resume {} --out {}{}", args.command_line(), out, out,
                  args.best.empty() ? "" : " --best " + args.best);
  if (outcome.stopped)
    say("stopped   at step {} of {}; {}\n", outcome.step, settings.steps, resume);
  if (outcome.out_of_patience) {
    say("patience  ended the run at step {} of {}: no improvement in {} consecutive evaluations; "
        "{} --patience {}\n",
        outcome.step, settings.steps, outcome.best.since, resume, 2 * settings.patience);
  }
  if (outcome.skipped > 0)
    say("skipped   {} steps with a non-finite loss or gradient\n", outcome.skipped);
}

void print_ranks(const TrainArguments& args, std::int64_t shards) {
  const World& world = args.world;
  const int ranks = world.size();
  if (ranks == 1) return;
  std::set<std::string> machines;
  for (int rank = 0; rank < ranks; ++rank) machines.insert(world.transport()->host(rank));
  const std::int64_t least = shards / ranks, most = (shards + ranks - 1) / ranks;
  say("ranks     {}{}; each computes {} of {} shards\n", ranks,
      machines.size() > 1 ? fmt::format(" on {} machines", machines.size()) : "",
      least == most ? fmt::format("{}", least) : fmt::format("{} or {}", least, most), shards);
  if (args.sharded && !args.all_write) {
    say("files     rank 0 writes all of them despite --sharded: not all ranks can access and write "
        "to the folder\n");
  }
}

void print_speeds(const std::vector<RankSpeed>& ranks, const std::string& unit) {
  if (ranks.empty()) return;
  double least = ranks[0].items_per_second, most = least, all = 0, waiting = 0;
  for (const RankSpeed& rank : ranks) {
    least = std::min(least, rank.items_per_second);
    most = std::max(most, rank.items_per_second);
    all += rank.items_per_second;
    waiting += rank.waiting / static_cast<double>(ranks.size());
  }
  say("ranks     {}: {} to {} {}/s each, {} together; waiting {:.1f}%\n", ranks.size(),
      short_number(least), short_number(most), unit, short_number(all), 100 * waiting);
}

}  // namespace weft::program
