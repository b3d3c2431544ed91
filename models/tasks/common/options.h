// What a task can be told, and what it was told: names, types and help of its options, without a
// command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/field_list.h"
#include "weft/models/fields/numbers.h"

namespace WEFT_API weft {

/// An option of a task.
struct TaskOption {
  enum class Type : std::uint8_t { file, files, integer, seed, real, choice };

  std::string name;  // "--data"
  Type type;
  std::string help;
  IntegerRange<std::int64_t> integers = {};
  RealRange reals = {};
  std::vector<std::string> choices = {};
  /// Says what the model learns from, and so what it is measured on later: a model of the task is
  /// evaluated with these.
  bool data = false;
  bool of_new_models = false;  // weights to start from decide it: a new tokenizer's size
};

/// Options for the fields of an object, "--mask-ratio" for mask_ratio.
struct TaskFields {
  std::string group;  // a title in the help, and the key of the values
  const FieldListBase* list;
  std::set<std::string> skip = {};
};

/// The options of one task.
struct TaskOptions {
  std::vector<TaskOption> options = {};
  std::vector<TaskFields> fields = {};

  // Each adds one. Data options come first, and are marked so by data().
  TaskOptions& file(std::string name, std::string help);
  TaskOptions& files(std::string name, std::string help);
  TaskOptions& integer(std::string name, IntegerRange<std::int64_t> range, std::string help);
  TaskOptions& seed(std::string name, std::string help);
  TaskOptions& real(std::string name, RealRange range, std::string help);
  TaskOptions& choice(std::string name, std::vector<std::string> choices, std::string help);
  /// The last one says something of new models only.
  TaskOptions& of_new_models();
  /// All that were added so far are data options.
  TaskOptions& data();
  TaskOptions& field_group(std::string group, const FieldListBase& list,
                           std::set<std::string> skip = {});
};

/// Values that were given, by the names of options. They were checked when they were read: asking
/// for another type than the option's is a mistake of the program.
class OptionValues {
 public:
  void add(const std::string& option, const std::string& value) {
    values_[option].push_back(value);
  }
  /// Fields of a group that were given.
  FieldTexts& fields(const std::string& group) { return fields_[group]; }
  const FieldTexts& fields(const std::string& group) const;

  /// Whether there are any.
  bool given() const { return !values_.empty(); }
  bool has(std::string_view option) const { return values_.contains(option); }
  /// "" where it was not given. Throws ArgumentError where there are several.
  const std::string& text(const std::string& option) const;
  const std::vector<std::string>& texts(const std::string& option) const;
  std::int64_t integer(const std::string& option, std::int64_t otherwise) const;
  std::uint64_t seed(const std::string& option, std::uint64_t otherwise) const;
  double real(const std::string& option, double otherwise) const;
  std::string choice(const std::string& option, const std::string& otherwise) const;

  /// The options as they would be given again: " --label first --split-seed 2".
  std::string command_line() const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::map<std::string, FieldTexts, std::less<>> fields_;
};

}  // namespace weft
