#include "weft/models/program/options/task_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "weft/models/program/options/field_options.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
namespace {

/// An option that may be shared by several tasks.
struct SharedOption {
  TaskOption option;
  std::vector<TaskText> help;
};

/// Returns the options of all tasks, in the order in which they first occur.
std::vector<SharedOption> shared_options(const std::vector<const Task*>& tasks, bool data_only) {
  std::vector<SharedOption> shared;
  for (const Task* task : tasks) {
    for (const TaskOption& option : task->options().options) {
      if (data_only && !option.data) continue;
      auto found = std::find_if(shared.begin(), shared.end(), [&](const SharedOption& s) {
        return s.option.name == option.name;
      });
      if (found == shared.end()) {
        shared.push_back({option, {}});
        found = shared.end() - 1;
      }
      // If one of the tasks accepts several files, the shared option does as well.
      if (option.type == TaskOption::Type::files) found->option.type = option.type;
      found->help.push_back({task->info().name, option.help});
    }
  }
  return shared;
}

void add_option(OptionList& list, const TaskOption& option, const std::string& help,
                OptionValues& values) {
  using Type = TaskOption::Type;
  const auto keep = [&values, name = option.name](const std::string& text) {
    values.add(name, text);
  };
  switch (option.type) {
    case Type::file: list.add(option.name, kInputType, OptionList::Times::once, help, keep); break;
    case Type::files: list.add(option.name, kInputType, OptionList::Times::list, help, keep); break;
    case Type::integer:
      list.add(option.name, OptionList::integer_type(option.integers), OptionList::Times::once,
               help, [keep, option](const std::string& text) {
                 parse_integer(option.name, text, option.integers);
                 keep(text);
               });
      break;
    case Type::seed:
      list.add(option.name, std::string(kIntegerType) + "[0, 2^64)", OptionList::Times::once, help,
               [keep, option](const std::string& text) {
                 parse_unsigned(option.name, text);
                 keep(text);
               });
      break;
    case Type::real:
      list.add(option.name, OptionList::number_type(option.reals), OptionList::Times::once, help,
               [keep, option](const std::string& text) {
                 parse_real(option.name, text, option.reals);
                 keep(text);
               });
      break;
    case Type::choice: list.choice(option.name, option.choices, keep, help); break;
    case Type::text: list.add(option.name, kTextType, OptionList::Times::once, help, keep); break;
  }
}

/// Returns the names of the tasks that have the option.
std::vector<std::string> tasks_with_option(const std::vector<const Task*>& tasks,
                                           const std::string& option) {
  std::vector<std::string> names;
  for (const Task* task : tasks) {
    const TaskOptions options = task->options();
    const bool plain = std::any_of(options.options.begin(), options.options.end(),
                                   [&](const TaskOption& o) { return o.name == option; });
    const bool field =
        std::any_of(options.fields.begin(), options.fields.end(), [&](const TaskFields& group) {
          return std::any_of(group.list->fields().begin(), group.list->fields().end(),
                             [&](const Field& f) {
                               return option_name(f.name) == option && !group.skip.contains(f.name);
                             });
        });
    if (plain || field) names.push_back(task->info().name);
  }
  return names;
}

void check_option(const Task& task, const std::vector<const Task*>& tasks,
                  const std::string& option) {
  const std::vector<std::string> names = tasks_with_option(tasks, option);
  if (std::find(names.begin(), names.end(), task.info().name) != names.end()) return;
  throw UsageError(fmt::format("{} is for --task {}, not for --task {}", option,
                               fmt::join(names, ", "), task.info().name));
}

}  // namespace

std::string joined_help(const std::vector<TaskText>& texts, std::size_t tasks) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_text;
  for (const TaskText& one : texts) {
    auto found = std::find_if(by_text.begin(), by_text.end(),
                              [&](const auto& entry) { return entry.first == one.text; });
    if (found == by_text.end()) found = by_text.insert(by_text.end(), {one.text, {}});
    found->second.push_back(one.task);
  }
  if (by_text.size() == 1 && texts.size() == tasks) return by_text.front().first;
  std::string all;
  for (const auto& [text, names] : by_text)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", fmt::join(names, ", "), text);
  return all;
}

void add_task_options(OptionList& options, const std::vector<const Task*>& tasks,
                      OptionValues& values) {
  for (const SharedOption& shared : shared_options(tasks, false))
    add_option(options, shared.option, joined_help(shared.help, tasks.size()), values);
  // Field groups of all tasks.
  struct Group {
    const FieldListBase* list;
    std::map<std::string, std::vector<TaskText>> help;
  };
  std::vector<std::pair<std::string, Group>> groups;
  for (const Task* task : tasks) {
    for (const TaskFields& fields : task->options().fields) {
      auto found = std::find_if(groups.begin(), groups.end(),
                                [&](const auto& group) { return group.first == fields.group; });
      if (found == groups.end())
        found = groups.insert(groups.end(), {fields.group, {fields.list, {}}});
      for (const Field& field : fields.list->fields()) {
        if (!fields.skip.contains(field.name))
          found->second.help[field.name].push_back({task->info().name, field.help});
      }
    }
  }
  for (const auto& [name, group] : groups) {
    std::set<std::string> skip;
    FieldHelp help;
    for (const Field& field : group.list->fields()) {
      const auto found = group.help.find(field.name);
      if (found == group.help.end()) {
        skip.insert(field.name);
      } else {
        help[field.name] = joined_help(found->second, tasks.size());
      }
    }
    add_field_options(options, name, *group.list, skip, values.fields(name), help);
  }
}

void add_data_options(OptionList& options, OptionValues& values) {
  for (const SharedOption& shared : shared_options(all_tasks(), true)) {
    const bool path = shared.option.type == TaskOption::Type::file ||
                      shared.option.type == TaskOption::Type::files;
    add_option(options, shared.option,
               path ? "the training data, as passed to weft train; the model is evaluated on the "
                      "part that was held out"
                    : "as in weft train",
               values);
  }
}

void check_task_options(const Task& task, const std::vector<const Task*>& tasks,
                        const OptionValues& values) {
  for (const SharedOption& shared : shared_options(tasks, false)) {
    if (values.has(shared.option.name)) check_option(task, tasks, shared.option.name);
  }
  for (const Task* other : tasks) {
    for (const TaskFields& group : other->options().fields) {
      for (const auto& [field, text] : values.fields(group.group))
        check_option(task, tasks, option_name(field));
    }
  }
}

void require_data(const OptionValues& values) {
  if (values.given()) return;
  std::vector<std::string> names;
  for (const SharedOption& shared : shared_options(all_tasks(), true)) {
    if (shared.option.type == TaskOption::Type::file ||
        shared.option.type == TaskOption::Type::files)
      names.push_back(shared.option.name);
  }
  throw UsageError(fmt::format("the training data is required: {}, as passed to weft train",
                               fmt::join(names, ", ")));
}

void check_data_options(const Task& task, const OptionValues& values, const std::string& file) {
  std::vector<std::string> wanted;
  for (const TaskOption& option : task.options().options) {
    if (option.data && option.name != "--label" &&
        (option.type == TaskOption::Type::file || option.type == TaskOption::Type::files))
      wanted.push_back(option.name);
  }
  const std::string kind = task.empty_model()->layout().kind;
  for (const SharedOption& shared : shared_options(all_tasks(), true)) {
    const std::string& name = shared.option.name;
    if (!values.has(name)) continue;
    const TaskOptions own = task.options();
    const bool taken = std::any_of(own.options.begin(), own.options.end(),
                                   [&](const auto& o) { return o.data && o.name == name; });
    if (!taken) {
      throw UsageError(fmt::format("{} contains {} {}: evaluate it with {}, not with {}", file,
                                   std::string_view("aeiou").find(kind[0]) < 5 ? "an" : "a", kind,
                                   fmt::join(wanted, " or "), name));
    }
  }
}

}  // namespace weft::program
