// Command-line options of tasks.
#pragma once

#include <string>
#include <vector>

#include "weft/models/program/options/options.h"
#include "weft/models/tasks/common/task.h"

namespace weft::program {

/// Adds the options of all `tasks`. An option that several tasks share is added once. If not all
/// tasks have an option, its help lists the tasks that do. Values are stored in `values`, which
/// must outlive `options`.
void add_task_options(OptionList& options, const std::vector<const Task*>& tasks,
                      OptionValues& values);
/// Adds the data options of all tasks, which select the data that models are evaluated on.
void add_data_options(OptionList& options, OptionValues& values);

/// Throws UsageError if an option was given that belongs to other `tasks` but not to `task`.
void check_task_options(const Task& task, const std::vector<const Task*>& tasks,
                        const OptionValues& values);
/// Throws UsageError if no data option was given.
void require_data(const OptionValues& values);
/// Throws UsageError if a data option was given that does not apply to models of `task`. `file` is
/// the model file, for the message.
void check_data_options(const Task& task, const OptionValues& values, const std::string& file);

/// The help text of one task for a shared option or preset.
struct TaskText {
  std::string task, text;
};
/// Joins the help texts of several tasks. Returns a single text if all tasks have the same text,
/// otherwise a list such as "classify: texts per step; mlm, rtd: rows per step". `tasks` is the
/// total number of tasks.
std::string joined_help(const std::vector<TaskText>& texts, std::size_t tasks);

}  // namespace weft::program
