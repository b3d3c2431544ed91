// Strict reading of JSON requests. Internal: includes the JSON library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// JSON whose keys keep their order.
using Json = nlohmann::ordered_json;

/// Returns JSON as text. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const Json& json);

template <class T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// Parses the body of a request. Throws ApiError (400) if it is not a JSON object, or if it is
/// nested too deeply or has duplicate keys.
Json json_body(std::string_view body);

/// The fields of an object of a request. Null counts as missing. All functions throw ApiError (400)
/// with the name of the field if its value is invalid. Fields that were not read are rejected by
/// end().
class Fields {
 public:
  /// `place` precedes names in messages, such as "stream_options."; `json` must outlive the object.
  explicit Fields(const Json& json, std::string place = {});

  /// Returns the value, or null.
  const Json* find(const std::string& name);
  /// Returns the value. Throws ApiError if it is missing.
  const Json& require(const std::string& name);

  std::optional<std::string> text(const std::string& name);
  std::optional<bool> flag(const std::string& name);
  std::optional<double> number(const std::string& name, double low, double high);
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t low, std::int64_t high);
  /// A string or a list of strings.
  std::vector<std::string> texts(const std::string& name);
  /// An object, as JSON text.
  std::optional<std::string> object_text(const std::string& name);

  /// Accepts fields that change nothing.
  void ignore(std::initializer_list<const char*> names);
  /// Rejects a field unless it has one of the values `accepted`, which change nothing.
  void only(const std::string& name, const std::vector<Json>& accepted);
  /// Throws ApiError for fields that were not read.
  void end() const;

  /// Throws ApiError: 'name' must be `wanted`.
  [[noreturn]] void fail(const std::string& name, const std::string& wanted) const;
  std::string place(const std::string& name) const { return place_ + name; }

 private:
  const Json& json_;
  std::string place_;
  std::set<std::string> read_;
};

}  // namespace weft
