// What a training prints before and after its steps.
#pragma once

#include <string>
#include <vector>

#include "weft/models/program/train_arguments.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

/// What a new model took over, and what of it is trained.
void print_start(const TaskRun& run, const TrainedModel& model, const TrainArguments& args);
/// The line "training". UsageError where a batch is too large for the machine.
void print_training(const TrainSettings& settings, const TaskRun& run);
/// The line "ranks" before a run of several.
void print_ranks(const TrainArguments& args, std::int64_t shards);
/// The line "plan"; `batch` is the inputs of a shard. UsageError where a memory budget is too
/// small, or the machine.
void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args);
/// How the run goes on, where it ended before its last step.
void print_ending(const TrainOutcome& outcome, const TrainSettings& settings,
                  const TrainArguments& args);
/// The line "ranks" behind a run of several: what each did per second, in these units.
void print_speeds(const std::vector<RankSpeed>& ranks, const std::string& unit);

}  // namespace weft::program
