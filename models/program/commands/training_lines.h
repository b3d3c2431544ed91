// Status lines that a training run prints before its first step and after its last.
#pragma once

#include <string>
#include <vector>

#include "weft/models/program/commands/train_arguments.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/training/trainer.h"

namespace weft::program {

/// Prints which parts of a new model were loaded from --from, and which parameters are trained.
void print_start(const TaskRun& run, const TrainedModel& model, const TrainArguments& args);
/// Prints the status line "training". Throws UsageError if a batch does not fit into memory.
void print_training(const TrainSettings& settings, const TaskRun& run);
/// Prints the status line "ranks" before a run on several ranks.
void print_ranks(const TrainArguments& args, std::int64_t shards);
/// Prints the status line "plan". `batch` contains the inputs of one shard. Throws UsageError if
/// the memory budget or the memory of the machine is too small.
void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args);
/// If a run ended before its last step, prints the command that continues it.
void print_ending(const TrainOutcome& outcome, const TrainSettings& settings,
                  const TrainArguments& args);
/// Prints the status line "ranks" after a run on several ranks, with the throughput of the ranks in
/// `unit`.
void print_speeds(const std::vector<RankSpeed>& ranks, const std::string& unit);

}  // namespace weft::program
