#include "weft/models/serve/http/protocol/json_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/excerpt.h"
#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_body(std::string_view body) {
  constexpr std::string_view kWhat = "the body of the request";
  if (body.empty())
    throw ApiError(400, "the request has no body: send a JSON object", "invalid_json");
  try {
    return in_order(parse_json_object(body, kWhat), body, kWhat);
  } catch (const FormatError& e) {
    throw ApiError(400, e.what(), "invalid_json");
  }
}

Fields::Fields(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
  if (json.is_object()) return;
  const std::string name = place_.substr(0, place_.find_last_not_of('.') + 1);
  throw ApiError(400, fmt::format("'{}' must be an object", name), "invalid_type", name);
}

void Fields::fail(const std::string& name, const std::string& wanted) const {
  const auto found = json_.find(name);
  throw ApiError(400,
                 fmt::format("'{}' must be {}, not {}", place(name), wanted,
                             found == json_.end() ? "missing" : excerpt(json_text(*found))),
                 "invalid_value", place(name));
}

const Json* Fields::find(const std::string& name) {
  read_.insert(name);
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

const Json& Fields::require(const std::string& name) {
  if (const Json* found = find(name)) return *found;
  throw ApiError(400, fmt::format("the request lacks the field '{}'", place(name)), "missing_field",
                 place(name));
}

std::optional<std::string> Fields::text(const std::string& name) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) fail(name, "a string");
  return found->get<std::string>();
}

std::optional<bool> Fields::flag(const std::string& name) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_boolean()) fail(name, "true or false");
  return found->get<bool>();
}

std::optional<double> Fields::number(const std::string& name, double low, double high) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  const auto wanted = [&] { return fmt::format("a number in [{:g}, {:g}]", low, high); };
  if (!found->is_number()) fail(name, wanted());
  const auto value = found->get<double>();
  if (!(value >= low && value <= high)) fail(name, wanted());
  return value;
}

std::optional<std::int64_t> Fields::integer(const std::string& name, std::int64_t low,
                                            std::int64_t high) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  const auto wanted = [&] { return fmt::format("an integer in [{}, {}]", low, high); };
  if (!found->is_number_integer()) fail(name, wanted());
  const bool fits =
      !found->is_number_unsigned() || std::in_range<std::int64_t>(found->get<std::uint64_t>());
  if (!fits || found->get<std::int64_t>() < low || found->get<std::int64_t>() > high)
    fail(name, wanted());
  return found->get<std::int64_t>();
}

std::vector<std::string> Fields::texts(const std::string& name) {
  const Json* found = find(name);
  if (found == nullptr) return {};
  if (found->is_string()) return {found->get<std::string>()};
  if (!found->is_array() ||
      !std::all_of(found->begin(), found->end(), [](const Json& x) { return x.is_string(); }))
    fail(name, "a string or a list of strings");
  return found->get<std::vector<std::string>>();
}

std::optional<std::string> Fields::object_text(const std::string& name) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_object()) fail(name, "an object");
  return json_text(*found);
}

void Fields::ignore(std::initializer_list<const char*> names) {
  read_.insert(names.begin(), names.end());
}

void Fields::only(const std::string& name, const std::vector<Json>& accepted) {
  const Json* found = find(name);
  if (found == nullptr || std::find(accepted.begin(), accepted.end(), *found) != accepted.end())
    return;
  throw ApiError(400,
                 fmt::format("'{}' is not supported with the value {}", place(name),
                             excerpt(json_text(*found))),
                 "unsupported_value", place(name));
}

void Fields::end() const {
  for (const auto& [name, value] : json_.items()) {
    if (read_.contains(name) || value.is_null()) continue;
    const std::string full = excerpt(place(name));
    throw ApiError(400, fmt::format("the field '{}' is not supported", full), "unsupported_field",
                   full);
  }
}

}  // namespace weft
