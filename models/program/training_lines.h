// The lines that a training run prints before and after its steps.
#pragma once

#include <string>
#include <vector>

#include "weft/models/program/train_arguments.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

/// Prints what a new model took over from --from, and which parameters are trained.
void print_start(const TaskRun& run, const TrainedModel& model, const TrainArguments& args);
/// Prints the line "training". Throws UsageError if a batch does not fit into memory.
void print_training(const TrainSettings& settings, const TaskRun& run);
/// Prints the line "ranks" before a run on several ranks.
void print_ranks(const TrainArguments& args, std::int64_t shards);
/// Prints the line "plan". `batch` contains the inputs of one shard. Throws UsageError if the
/// memory budget or the memory of the machine is too small.
void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args);
/// Prints how to continue a run that ended before its last step.
void print_ending(const TrainOutcome& outcome, const TrainSettings& settings,
                  const TrainArguments& args);
/// Prints the line "ranks" after a run on several ranks: the throughput of each, in this unit.
void print_speeds(const std::vector<RankSpeed>& ranks, const std::string& unit);

}  // namespace weft::program
