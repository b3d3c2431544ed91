#include "weft/models/program/options/field_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/program/options/options.h"

namespace weft::program {
namespace {

/// The name of a field type in the help, and the check for its values.
struct FieldType {
  std::string name;
  void (*check)(const std::string& option, const std::string& text);
};

FieldType type_of(const FieldRef& type) {
  if (std::holds_alternative<std::int64_t*>(type))
    return {kIntegerType, [](const std::string& o, const std::string& v) { parse_integer(o, v); }};
  if (std::holds_alternative<std::uint64_t*>(type))
    return {std::string(kIntegerType) + "[0, 2^64)",
            [](const std::string& o, const std::string& v) { parse_unsigned(o, v); }};
  if (std::holds_alternative<double*>(type))
    return {kNumberType, [](const std::string& o, const std::string& v) { parse_real(o, v); }};
  if (std::holds_alternative<std::vector<double>*>(type))
    return {std::string(kNumberType) + ",...",
            [](const std::string& o, const std::string& v) { parse_reals(o, v); }};
  return {kTextType, [](const std::string&, const std::string&) {}};
}

}  // namespace

std::string option_name(const std::string& field) {
  std::string name = "--" + field;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void add_field_options(OptionList& options, const std::string& group, const FieldListBase& fields,
                       const std::set<std::string>& skip, FieldTexts& given,
                       const FieldHelp& help) {
  for (const Field& field : fields.fields()) {
    if (skip.contains(field.name)) continue;
    const std::string name = option_name(field.name);
    const auto more = help.find(field.name);
    const std::string about = more == help.end() ? field.help : more->second;
    const auto keep = [&given, key = field.name](const std::string& text) { given[key] = text; };
    std::optional<AddedOption> option;
    if (std::holds_alternative<bool*>(field.type)) {
      option = options.switches(
          name, [keep](bool on) { keep(on ? "true" : "false"); }, about);
    } else if (const auto* choice = std::get_if<ChoiceRef>(&field.type)) {
      option = options.add(
          name, fmt::format("{}{{{}}}", kChoiceType, fmt::join(choice->names.names, "|")),
          OptionList::Times::once, about,
          [keep, name, parse = choice->parse](const std::string& text) {
            try {
              parse(text, nullptr);
            } catch (const ArgumentError& e) {
              throw ArgumentError(fmt::format("{}: {}", name, e.what()));
            }
            keep(text);
          });
    } else {
      const FieldType type = type_of(field.type);
      option = options.add(name, type.name, OptionList::Times::once, about,
                           [keep, name, check = type.check](const std::string& text) {
                             check(name, text);
                             keep(text);
                           });
    }
    option->group(field.section.empty() ? group : group + ": " + field.section);
  }
}

}  // namespace weft::program
