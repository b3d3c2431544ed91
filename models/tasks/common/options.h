// Task options and their values: names, types and help texts, independent of the command line.
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

/// Names of options that several tasks have.
inline constexpr const char *kDataOption = "--data", *kTextOption = "--text",
                            *kHeldOutOption = "--held-out", *kValidationOption = "--validation",
                            *kTestOption = "--test";

/// An option of a task.
struct TaskOption {
  enum class Type : std::uint8_t { file, files, integer, seed, real, choice, text };

  std::string name;  // "--data"
  Type type;
  std::string help;
  IntegerRange<std::int64_t> integers = {};
  RealRange reals = {};
  std::vector<std::string> choices = {};
  /// True for options that select the training data. `weft evaluate` accepts the same options to
  /// select the evaluation data.
  bool data = false;
  /// True for options that apply only to models trained from scratch, such as the vocabulary size
  /// of a new tokenizer. With --from, the initial weights determine these values.
  bool new_models_only = false;
};

/// Options for the fields of an object: "--mask-ratio" for mask_ratio.
struct TaskFields {
  std::string group;  // title in the help text, and key for the values
  const FieldListBase* list;
  std::set<std::string> skip = {};
};

/// The options of one task.
struct TaskOptions {
  std::vector<TaskOption> options = {};
  std::vector<TaskFields> fields = {};

  // Each of these functions adds one option. Add data options first, followed by a call to data().
  TaskOptions& file(std::string name, std::string help);
  TaskOptions& files(std::string name, std::string help);
  TaskOptions& integer(std::string name, IntegerRange<std::int64_t> range, std::string help);
  TaskOptions& seed(std::string name, std::string help);
  TaskOptions& real(std::string name, RealRange range, std::string help);
  TaskOptions& choice(std::string name, std::vector<std::string> choices, std::string help);
  TaskOptions& text(std::string name, std::string help);
  /// Restricts the last added option to models trained from scratch.
  TaskOptions& new_models_only();
  /// Marks all options added so far as data options.
  TaskOptions& data();
  TaskOptions& field_group(std::string group, const FieldListBase& list,
                           std::set<std::string> skip = {});
};

/// The values that were given, by option name. They were validated when they were parsed. Reading a
/// value as a type other than its option's type is a programming error.
class OptionValues {
 public:
  void add(const std::string& option, const std::string& value) {
    values_[option].push_back(value);
  }
  /// Returns the given fields of a group.
  FieldTexts& fields(const std::string& group) { return fields_[group]; }
  const FieldTexts& fields(const std::string& group) const;

  /// Returns true if any option was given.
  bool given() const { return !values_.empty(); }
  bool has(std::string_view option) const { return values_.contains(option); }
  /// Returns the value, or "" if the option was not given. Throws ArgumentError if the option has
  /// several values.
  const std::string& text(const std::string& option) const;
  const std::vector<std::string>& texts(const std::string& option) const;
  std::int64_t integer(const std::string& option, std::int64_t otherwise) const;
  std::uint64_t seed(const std::string& option, std::uint64_t otherwise) const;
  double real(const std::string& option, double otherwise) const;
  std::string choice(const std::string& option, const std::string& otherwise) const;

  /// Returns the options in command-line form: " --label first --split-seed 2".
  std::string command_line() const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::map<std::string, FieldTexts, std::less<>> fields_;
};

}  // namespace weft
