// Tiny training runs for every task inside the test process, configured by command-line options.
#pragma once

#include <algorithm>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "task_shell.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainable.h"

namespace weft {

/// Parses `weft train` options such as "--layers 1 --lr 0.1": task options, model options and
/// TrainSettings. Throws std::logic_error if an option is unknown.
inline TaskArguments task_arguments(const Task& task, const std::string& options) {
  TaskArguments args;
  const TaskOptions own = task.options();
  const auto take = [&](const std::string& option, const std::string& value) {
    std::string field = option.substr(2);
    std::replace(field.begin(), field.end(), '-', '_');
    const auto has = [&](const FieldListBase& list) {
      return std::any_of(list.fields().begin(), list.fields().end(),
                         [&](const Field& f) { return f.name == field; });
    };
    for (const TaskOption& known : own.options) {
      if (known.name == option) return args.options.add(option, value);
    }
    for (const TaskFields& group : own.fields) {
      if (has(*group.list)) {
        args.options.fields(group.group)[field] = value;
        return;
      }
    }
    const bool training = has(TrainSettings::fields());
    if (!training && !has(*task.config_fields().list))
      throw std::logic_error(task.info().id + " has no option " + option);
    (training ? args.training : args.model)[field] = value;
  };
  std::istringstream words(options);
  for (std::string option, value; words >> option >> value;) {
    const std::size_t at = value.find("{data}");
    if (at != std::string::npos)
      value.replace(at, 6, std::string(WEFT_FIXTURES) + "/weft_files/data");
    if (option == "--from") {
      args.from = load_pretrained(value);
    } else {
      take(option, value);
    }
  }
  return args;
}

/// Returns a new trainable model with the sizes given in kTinyRuns and the data from the fixtures.
/// Adds adapters if `lora` is not null.
inline std::unique_ptr<TaskRun> tiny_run(const Task& task, const std::string& options,
                                         const LoraOptions* lora = nullptr) {
  const TinyRun& tiny = kTinyRuns.at(task.info().id);
  TaskArguments args =
      task_arguments(task, tiny.data + " " + tiny.model + " " + tiny.options + " " + options);
  std::unique_ptr<TaskRun> run = task.start(args);
  if (lora != nullptr) add_adapters(run->model(), *lora);
  make_trainable(run->model());
  return run;
}

}  // namespace weft
