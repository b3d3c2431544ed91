// The options of tasks on a command line.
#pragma once

#include <string>
#include <vector>

#include "weft/models/program/options.h"
#include "weft/models/tasks/common/task.h"

namespace weft::program {

/// Adds the options of all these tasks, each once; help says which of them it is for where it is
/// not for all. Values go to `values`, which must outlive `options`.
void add_task_options(OptionList& options, const std::vector<const Task*>& tasks,
                      OptionValues& values);
/// Adds those that say what models are measured on, of all tasks there are.
void add_data_options(OptionList& options, OptionValues& values);

/// UsageError where an option was given that is not for `task` but for another one of `tasks`.
void check_task_options(const Task& task, const std::vector<const Task*>& tasks,
                        const OptionValues& values);
/// UsageError where none was given.
void require_data(const OptionValues& values);
/// UsageError where values were given that models of `task`, in `file`, are not measured with.
void check_data_options(const Task& task, const OptionValues& values, const std::string& file);

/// What people read of a thing that several tasks have: one text where all say the same, else
/// "classify: texts per step; mlm, rtd: rows per step".
struct TaskText {
  std::string task, text;
};
std::string joined_help(const std::vector<TaskText>& texts, std::size_t tasks);

}  // namespace weft::program
