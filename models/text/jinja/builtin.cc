#include "weft/models/text/jinja/builtin.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/excerpt.h"
#include "weft/models/text/jinja/operators.h"

namespace weft::chat {
namespace {

// A named argument is copied and compared with the names of all parameters.
constexpr std::size_t kStepsOfName = 8;

}  // namespace

std::size_t Builtin::count() const {
  return static_cast<std::size_t>(
      std::find(parameters.begin(), parameters.end(), std::string_view()) - parameters.begin());
}

std::string argument_mismatch(const Builtin& builtin, std::size_t positional,
                              std::span<const std::string> names) {
  const std::size_t count = builtin.count();
  if (positional > count && !builtin.takes_rest)
    return fmt::format("'{}' takes at most {} arguments, not {}", builtin.name, count, positional);
  std::array<bool, CallArguments::kMaxParameters> given = {};
  std::set<std::string_view> others;
  for (std::size_t i = 0; i < std::min(positional, count); ++i) given[i] = true;
  for (const std::string& name : names) {
    const auto place = static_cast<std::size_t>(
        std::find(builtin.parameters.begin(), builtin.parameters.end(), name) -
        builtin.parameters.begin());
    if (place < count) {
      if (given[place])
        return fmt::format("'{}' receives the argument '{}' twice", builtin.name, name);
      given[place] = true;
    } else if (!builtin.takes_named) {
      return fmt::format("'{}' has no parameter '{}'", builtin.name, excerpt(name));
    } else if (!others.insert(name).second) {
      return fmt::format("'{}' receives the argument '{}' twice", builtin.name, excerpt(name));
    }
  }
  for (std::size_t i = 0; i < builtin.required; ++i) {
    if (!given[i])
      return fmt::format("'{}' lacks the argument '{}'", builtin.name, builtin.parameters[i]);
  }
  return "";
}

Value call(Run& run, const Builtin& builtin, const Value& subject, std::vector<Value> positional,
           std::vector<std::pair<std::string, Value>> named) {
  run.step(1 + positional.size() + kStepsOfName * named.size());
  std::vector<std::string> names;
  for (const auto& argument : named) names.push_back(argument.first);
  if (const std::string why = argument_mismatch(builtin, positional.size(), names); !why.empty())
    run.fail(why);
  const std::size_t count = builtin.count();
  CallArguments arguments;
  for (std::size_t i = 0; i < positional.size(); ++i) {
    if (i < count) {
      arguments.slots[i] = std::move(positional[i]);
    } else {
      arguments.rest.push_back(std::move(positional[i]));
    }
  }
  for (auto& [name, value] : named) {
    const auto place = static_cast<std::size_t>(
        std::find(builtin.parameters.begin(), builtin.parameters.end(), name) -
        builtin.parameters.begin());
    if (place < count) {
      arguments.slots[place] = std::move(value);
    } else {
      arguments.named.emplace_back(std::move(name), std::move(value));
    }
  }
  return builtin.call(run, subject, arguments);
}

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Builtin& builtin) { return builtin.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Builtin* find_filter(std::string_view name) {
  const Builtin* found = find_in(text_filters(), name);
  return found != nullptr ? found : find_in(sequence_filters(), name);
}

const Builtin* find_method(const Value& value, std::string_view name) {
  if (is<TextPtr>(value)) return find_in(text_methods(), name);
  if (is<MappingPtr>(value)) return find_in(mapping_methods(), name);
  const Sequence* sequence = as_sequence(value);
  if (sequence != nullptr &&
      (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple))
    return find_in(sequence_methods(), name);
  return nullptr;
}

bool is_method(std::string_view name) {
  return find_in(text_methods(), name) != nullptr || find_in(mapping_methods(), name) != nullptr ||
         find_in(sequence_methods(), name) != nullptr;
}

const TracedText& text_argument(Run& run, const Value& value, std::string_view what) {
  require_defined(run, value);
  const TracedText* text = as_text(value);
  if (text == nullptr) run.fail(fmt::format("'{}' must be a string, not {}", what, kind_of(value)));
  return *text;
}

std::int64_t integer_argument(Run& run, const Value& value, std::string_view what) {
  require_defined(run, value);
  if (const auto* flag = as<bool>(value)) return *flag ? 1 : 0;
  const auto* number = as<std::int64_t>(value);
  if (number == nullptr)
    run.fail(fmt::format("'{}' must be an integer, not {}", what, kind_of(value)));
  return *number;
}

}  // namespace weft::chat
