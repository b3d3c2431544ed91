// The options of tasks on the command line.
#pragma once

#include <string>
#include <vector>

#include "weft/models/program/options.h"
#include "weft/models/tasks/common/task.h"

namespace weft::program {

/// Adds the options of all these tasks, each of them once. The help of an option that not all tasks
/// have names its tasks. Values are stored in `values`, which must outlive `options`.
void add_task_options(OptionList& options, const std::vector<const Task*>& tasks,
                      OptionValues& values);
/// Adds the data options of all existing tasks: those that select what models are evaluated on.
void add_data_options(OptionList& options, OptionValues& values);

/// Throws UsageError if an option was given that belongs to other `tasks` but not to `task`.
void check_task_options(const Task& task, const std::vector<const Task*>& tasks,
                        const OptionValues& values);
/// Throws UsageError if no data option was given.
void require_data(const OptionValues& values);
/// Throws UsageError if data options were given that models of `task`, such as the one in `file`,
/// are not evaluated with.
void check_data_options(const Task& task, const OptionValues& values, const std::string& file);

/// The help text that one task has for a shared option or preset.
struct TaskText {
  std::string task, text;
};
/// Joins the help texts of several tasks: one text if all tasks have the same, otherwise "classify:
/// texts per step; mlm, rtd: rows per step". `tasks` is the number of all tasks.
std::string joined_help(const std::vector<TaskText>& texts, std::size_t tasks);

}  // namespace weft::program
