#include "weft/models/tasks/common/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "weft/core/error.h"

namespace weft {

TaskOptions& TaskOptions::file(std::string name, std::string help) {
  options.push_back({std::move(name), TaskOption::Type::file, std::move(help)});
  return *this;
}

TaskOptions& TaskOptions::files(std::string name, std::string help) {
  options.push_back({std::move(name), TaskOption::Type::files, std::move(help)});
  return *this;
}

TaskOptions& TaskOptions::integer(std::string name, IntegerRange<std::int64_t> range,
                                  std::string help) {
  options.push_back({std::move(name), TaskOption::Type::integer, std::move(help), range});
  return *this;
}

TaskOptions& TaskOptions::seed(std::string name, std::string help) {
  options.push_back({std::move(name), TaskOption::Type::seed, std::move(help)});
  return *this;
}

TaskOptions& TaskOptions::real(std::string name, RealRange range, std::string help) {
  options.push_back({std::move(name), TaskOption::Type::real, std::move(help), {}, range});
  return *this;
}

TaskOptions& TaskOptions::choice(std::string name, std::vector<std::string> choices,
                                 std::string help) {
  options.push_back(
      {std::move(name), TaskOption::Type::choice, std::move(help), {}, {}, std::move(choices)});
  return *this;
}

TaskOptions& TaskOptions::text(std::string name, std::string help) {
  options.push_back({std::move(name), TaskOption::Type::text, std::move(help)});
  return *this;
}

TaskOptions& TaskOptions::new_models_only() {
  options.back().new_models_only = true;
  return *this;
}

TaskOptions& TaskOptions::data() {
  for (TaskOption& option : options) option.data = true;
  return *this;
}

TaskOptions& TaskOptions::field_group(std::string group, const FieldListBase& list,
                                      std::set<std::string> skip) {
  fields.push_back({std::move(group), &list, std::move(skip)});
  return *this;
}

const FieldTexts& OptionValues::fields(const std::string& group) const {
  static const FieldTexts none;
  const auto found = fields_.find(group);
  return found == fields_.end() ? none : found->second;
}

const std::vector<std::string>& OptionValues::texts(const std::string& option) const {
  static const std::vector<std::string> none;
  const auto found = values_.find(option);
  return found == values_.end() ? none : found->second;
}

const std::string& OptionValues::text(const std::string& option) const {
  static const std::string none;
  const std::vector<std::string>& values = texts(option);
  if (values.size() > 1)
    throw ArgumentError(
        fmt::format("{} accepts a single path here, not {}", option, values.size()));
  return values.empty() ? none : values.front();
}

std::int64_t OptionValues::integer(const std::string& option, std::int64_t otherwise) const {
  return has(option) ? parse_integer(option, text(option)) : otherwise;
}

std::uint64_t OptionValues::seed(const std::string& option, std::uint64_t otherwise) const {
  return has(option) ? parse_unsigned(option, text(option)) : otherwise;
}

double OptionValues::real(const std::string& option, double otherwise) const {
  return has(option) ? parse_real(option, text(option)) : otherwise;
}

std::string OptionValues::choice(const std::string& option, const std::string& otherwise) const {
  return has(option) ? text(option) : otherwise;
}

std::string OptionValues::command_line() const {
  std::string line;
  for (const auto& [option, values] : values_)
    line += fmt::format(" {} {}", option, fmt::join(values, " "));
  return line;
}

}  // namespace weft
