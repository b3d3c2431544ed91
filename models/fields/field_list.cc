#include "weft/models/fields/field_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/closest.h"
#include "weft/core/excerpt.h"
#include "weft/core/overload.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/fields/read_json.h"

namespace weft {
namespace {

constexpr const char* kFamily = "family";

}  // namespace

const Field& FieldListBase::field(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& field) { return field.name == name; });
  if (found != fields_.end()) return *found;
  std::vector<std::string> known;
  for (const Field& field : fields_) known.push_back(field.name);
  throw ArgumentError(fmt::format("{}: {}", what_, unknown_name("field", excerpt(name), known)));
}

std::string FieldListBase::write(void* object) const {
  nlohmann::ordered_json out;
  for (const Field& field : fields_) {
    std::visit(Overload{[&](const ChoiceRef& choice) {
                          out[field.name] = std::string(choice.name(choice.value));
                        },
                        [&](const auto* value) { out[field.name] = *value; }},
               field.access(object));
  }
  if (!family_.empty()) out[kFamily] = family_;
  return out.dump();
}

void FieldListBase::read(void* object, std::string_view text) const {
  const nlohmann::json parsed = parse_json_object(text, what_);
  std::set<std::string_view> known;
  if (!family_.empty()) {
    known.insert(kFamily);
    const nlohmann::json found = parsed.value(kFamily, nlohmann::json());
    if (found != family_) {
      throw FormatError(
          fmt::format("{} is of family {}, not \"{}\"", what_, json_excerpt(found), family_));
    }
  }
  for (const Field& field : fields_) {
    known.insert(field.name);
    const auto found = parsed.find(field.name);
    if (found == parsed.end()) {
      if (!field.added) throw FormatError(fmt::format("{} lacks '{}'", what_, field.name));
      continue;
    }
    std::visit(Overload{[&](const ChoiceRef& choice) {
                          std::string name;
                          read_json(*found, field.name, name);
                          choice.parse(name, choice.value);
                        },
                        [&](auto* value) { read_json(*found, field.name, *value); }},
               field.access(object));
  }
  for (const auto& [key, value] : parsed.items()) {
    if (!known.contains(key))
      throw FormatError(fmt::format("{} has an unknown field '{}'", what_, excerpt(key)));
  }
}

void FieldListBase::set(void* object, std::string_view name, std::string_view text) const {
  std::visit(Overload{[&](bool* value) {
                        if (text != "true" && text != "false")
                          throw ArgumentError(
                              fmt::format("{} must be true or false, not {}", name, excerpt(text)));
                        *value = text == "true";
                      },
                      [&](std::int64_t* value) { *value = parse_integer(name, text); },
                      [&](std::uint64_t* value) { *value = parse_unsigned(name, text); },
                      [&](double* value) { *value = parse_real(name, text); },
                      [&](std::string* value) { *value = text; },
                      [&](std::vector<double>* value) { *value = parse_reals(name, text); },
                      [&](const ChoiceRef& choice) { choice.parse(text, choice.value); }},
             field(name).access(object));
}

}  // namespace weft
