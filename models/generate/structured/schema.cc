#include "weft/models/generate/structured/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/generate/structured/formats.h"
#include "weft/models/generate/structured/json_rules.h"
#include "weft/models/generate/structured/numbers.h"
#include "weft/models/generate/structured/regex.h"

namespace weft::structured {
namespace {

using Json = nlohmann::ordered_json;  // properties are generated in the order of the schema

/// Keywords by the type of the values that they restrict.
struct Keywords {
  std::string_view type;
  std::vector<std::string_view> names;
};

const std::vector<Keywords>& type_keywords() {
  static const std::vector<Keywords> list = {
      {"object", {"properties", "required", "additionalProperties"}},
      {"array", {"items", "minItems", "maxItems"}},
      {"string", {"pattern", "format", "minLength", "maxLength"}},
      {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
      {"integer", {}},
      {"boolean", {}},
      {"null", {}}};
  return list;
}

/// Keywords that change nothing.
bool is_annotation(std::string_view name) {
  constexpr std::string_view kNames[] = {"title",    "description", "$comment", "default",
                                         "examples", "deprecated",  "readOnly", "writeOnly",
                                         "$schema",  "$id",         "$defs",    "definitions"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_type(std::string_view name) {
  return std::any_of(type_keywords().begin(), type_keywords().end(),
                     [&](const Keywords& keywords) { return keywords.type == name; });
}

std::string pointer_to(const std::string& base, std::string_view key) {
  std::string result = base + '/';
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

bool has_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  return value.is_number_integer() ||
         (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
}

class SchemaCompiler {
 public:
  SchemaCompiler(const Json& root, const ConstraintLimits& limits)
      : root_(root), limits_(limits), grammar_(limits.states), json_(grammar_) {}

  Grammar compile() {
    const std::int32_t rule = rule_of(root_, "", 0);
    while (!pending_.empty()) {
      const Pending next = std::move(pending_.front());
      pending_.pop_front();
      if (next.depth > limits_.depth) {
        throw ArgumentError(
            fmt::format("JSON schema at '{}': schemas are nested more than {} deep "
                        "(ConstraintLimits::depth)",
                        next.pointer, limits_.depth));
      }
      const std::int32_t to = grammar_.add_state();
      grammar_.end(to);
      emit(grammar_.start(next.rule), *next.schema, next.pointer, next.depth, to);
    }
    return std::move(grammar_).finish(rule);
  }

 private:
  struct Pending {
    std::int32_t rule;
    const Json* schema;
    std::string pointer;
    std::int64_t depth;
  };

  [[noreturn]] static void fail(const std::string& pointer, const std::string& problem) {
    throw ArgumentError(fmt::format("JSON schema at '{}': {}", pointer, problem));
  }
  [[noreturn]] static void fail_format(const std::string& pointer, std::string_view expected) {
    throw FormatError(fmt::format("JSON schema at '{}': expected {}", pointer, expected));
  }

  /// Returns the rule of a schema. Its body is emitted later, because schemas may be recursive.
  std::int32_t rule_of(const Json& schema, const std::string& pointer, std::int64_t depth) {
    if (schema.is_boolean() && schema.get<bool>()) return json_.value();
    if (schema.is_object() && schema.size() == 1 && schema.contains("type")) {
      const Json& type = schema["type"];
      if (type == "string") return json_.string();
      if (type == "number") return json_.number();
      if (type == "integer") return json_.integer();
      if (type == "boolean") return json_.boolean();
      if (type == "null") return json_.null();
    }
    const auto [found, is_new] = rules_.try_emplace(pointer, -1);
    if (is_new) {
      found->second = grammar_.add_rule();
      pending_.push_back({found->second, &schema, pointer, depth});
    }
    return found->second;
  }

  /// Emits the values that conform to `schema`, from a state to another.
  void emit(std::int32_t from, const Json& schema, const std::string& pointer, std::int64_t depth,
            std::int32_t to) {
    if (schema.is_boolean()) {
      if (schema.get<bool>()) grammar_.call(from, json_.value(), to);
      return;
    }
    if (!schema.is_object()) fail_format(pointer, "a schema: an object, true or false");
    check_keywords(schema, pointer);
    if (const auto ref = schema.find("$ref"); ref != schema.end()) {
      check_alone(schema, pointer, "$ref", {});
      if (!ref->is_string()) fail_format(pointer + "/$ref", "a string");
      const auto [target, place] = resolve(ref->get_ref<const std::string&>(), pointer);
      grammar_.call(from, rule_of(*target, place, 0), to);
      return;
    }
    for (const std::string_view name : {"anyOf", "allOf"}) {
      const auto list = schema.find(name);
      if (list == schema.end()) continue;
      const std::string place = pointer_to(pointer, name);
      check_alone(schema, pointer, name, {});
      if (!list->is_array() || list->empty()) fail_format(place, "an array of schemas");
      if (name == "allOf" && list->size() > 1)
        fail(place, "'allOf' is supported only with one schema: merge its schemas into one");
      for (std::size_t i = 0; i < list->size(); ++i) {
        grammar_.call(from, rule_of((*list)[i], fmt::format("{}/{}", place, i), depth + 1), to);
      }
      return;
    }
    const std::vector<std::string> types = types_of(schema, pointer);
    if (emit_values(from, schema, pointer, types, to)) return;
    if (types.empty()) {
      grammar_.call(from, json_.value(), to);
      return;
    }
    for (const std::string& type : types) emit_type(from, type, schema, pointer, depth, to);
  }

  static void check_keywords(const Json& schema, const std::string& pointer) {
    constexpr std::string_view kOthers[] = {"type", "enum", "const", "anyOf", "allOf", "$ref"};
    for (const auto& [name, value] : schema.items()) {
      const std::string& keyword = name;
      const bool is_known =
          is_annotation(keyword) ||
          std::find(std::begin(kOthers), std::end(kOthers), keyword) != std::end(kOthers) ||
          std::any_of(type_keywords().begin(), type_keywords().end(), [&](const Keywords& list) {
            return std::find(list.names.begin(), list.names.end(), keyword) != list.names.end();
          });
      if (!is_known)
        fail(pointer_to(pointer, keyword), fmt::format("keyword '{}' is not supported", keyword));
    }
  }

  /// Throws if `keyword` is combined with keywords other than `others` and annotations.
  static void check_alone(const Json& schema, const std::string& pointer, std::string_view keyword,
                          std::initializer_list<std::string_view> others) {
    for (const auto& [name, value] : schema.items()) {
      if (name == keyword || is_annotation(name) ||
          std::find(others.begin(), others.end(), name) != others.end())
        continue;
      fail(pointer_to(pointer, name),
           fmt::format("'{}' cannot be combined with '{}': move it into the schemas of '{}'", name,
                       keyword, keyword));
    }
  }

  /// Returns the schema to which a reference points, and its pointer.
  std::pair<const Json*, std::string> resolve(const std::string& reference,
                                              const std::string& pointer) const {
    const std::string place = pointer + "/$ref";
    if (!reference.starts_with('#')) {
      fail(place, fmt::format("'{}' is outside the schema: only references that begin with '#' are "
                              "supported",
                              reference));
    }
    const std::string text = reference.substr(1);
    try {
      const Json::json_pointer target(text);
      return {&root_.at(target), target.to_string()};
    } catch (const nlohmann::json::exception&) {
      fail(place, fmt::format("'{}' does not exist in the schema", reference));
    }
  }

  /// Returns the types of a schema: those of `type`, or those that its keywords restrict, or none
  /// for any value.
  static std::vector<std::string> types_of(const Json& schema, const std::string& pointer) {
    std::vector<std::string> types;
    if (const auto type = schema.find("type"); type != schema.end()) {
      const Json list = type->is_array() ? *type : Json::array({*type});
      for (const Json& entry : list) {
        if (!entry.is_string() || !is_type(entry.get_ref<const std::string&>()))
          fail_format(
              pointer + "/type",
              "object, array, string, number, integer, boolean or null, or an array of them");
        types.push_back(entry);
      }
      if (types.empty()) fail_format(pointer + "/type", "at least one type");
      return types;
    }
    for (const Keywords& keywords : type_keywords()) {
      if (std::any_of(keywords.names.begin(), keywords.names.end(),
                      [&](std::string_view name) { return schema.contains(name); }))
        types.emplace_back(keywords.type);
    }
    return types;
  }

  /// Emits the values of `enum` or `const`. Returns false if the schema has neither.
  bool emit_values(std::int32_t from, const Json& schema, const std::string& pointer,
                   const std::vector<std::string>& types, std::int32_t to) {
    const bool is_enum = schema.contains("enum");
    if (!is_enum && !schema.contains("const")) return false;
    const std::string_view keyword = is_enum ? "enum" : "const";
    check_alone(schema, pointer, keyword, {"type"});
    const Json list = is_enum ? schema["enum"] : Json::array({schema["const"]});
    if (!list.is_array() || list.empty()) fail_format(pointer + "/enum", "an array of values");
    std::vector<std::string> texts;
    for (const Json& value : list) {
      if (types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& type) {
            return has_type(value, type);
          }))
        texts.push_back(value.dump());
    }
    grammar_.empty(grammar_.one_of(from, {texts.begin(), texts.end()}), to);
    return true;
  }

  void emit_type(std::int32_t from, std::string_view type, const Json& schema,
                 const std::string& pointer, std::int64_t depth, std::int32_t to) {
    if (type == "object") {
      emit_object(from, schema, pointer, depth, to);
    } else if (type == "array") {
      const auto items = schema.find("items");
      const std::int64_t min = count(schema, pointer, "minItems", 0);
      const std::int64_t max = count(schema, pointer, "maxItems", -1);
      const std::int32_t item =
          items == schema.end() ? json_.value() : rule_of(*items, pointer + "/items", depth + 1);
      grammar_.empty(json_.array(from, item, min, max), to);
    } else if (type == "string") {
      emit_string(from, schema, pointer, to);
    } else if (type == "boolean") {
      grammar_.call(from, json_.boolean(), to);
    } else if (type == "null") {
      grammar_.call(from, json_.null(), to);
    } else {
      emit_numbers(from, type == "integer", schema, pointer, to);
    }
  }

  static std::int64_t count(const Json& schema, const std::string& pointer, const char* name,
                            std::int64_t otherwise) {
    const auto found = schema.find(name);
    if (found == schema.end()) return otherwise;
    const double value = found->is_number() ? found->get<double>() : -1;
    if (value < 0 || value != std::floor(value))
      fail_format(pointer_to(pointer, name), "a number of 0 or more without a fraction");
    return static_cast<std::int64_t>(std::min(value, 1e12));
  }

  void emit_string(std::int32_t from, const Json& schema, const std::string& pointer,
                   std::int32_t to) {
    const std::int64_t min = count(schema, pointer, "minLength", 0);
    const std::int64_t max = count(schema, pointer, "maxLength", -1);
    const auto pattern = schema.find("pattern"), format = schema.find("format");
    if (pattern == schema.end() && format == schema.end()) {
      if (min == 0 && max < 0) {
        grammar_.call(from, json_.string(), to);
      } else {
        grammar_.empty(json_.string(from, min, max), to);
      }
      return;
    }
    // A text must match all of them. If there is a pattern, an unknown format is an annotation.
    std::vector<Regex> expressions;
    const auto text_of = [&](auto keyword) -> std::string_view {
      if (!keyword->is_string()) fail_format(pointer_to(pointer, keyword.key()), "a string");
      return keyword->template get_ref<const std::string&>();
    };
    if (pattern != schema.end()) expressions.push_back({text_of(pattern), RegexMatch::part});
    if (format != schema.end()) {
      const std::string_view name = text_of(format);
      if (const std::optional<std::string_view> known = format_pattern(name)) {
        expressions.push_back({*known, RegexMatch::whole});
      } else if (pattern == schema.end()) {
        fail(pointer + "/format",
             fmt::format("format '{}' is not supported (supported: {}): use 'pattern'", name,
                         fmt::join(format_names(), ", ")));
      }
    }
    const std::string length = fmt::format("[^]{{{},{}}}", min, max < 0 ? "" : std::to_string(max));
    if (min > 0 || max >= 0) expressions.push_back({length, RegexMatch::whole});
    from = grammar_.text(from, "\"");
    try {
      from = emit_regex(grammar_, from, expressions, TextForm::json_string, limits_);
    } catch (const Error& e) {
      const char* name = pattern != schema.end() ? "pattern" : "format";
      e.rethrow_as(fmt::format("JSON schema at '{}': {}", pointer_to(pointer, name), e.what()));
    }
    grammar_.bytes(from, '"', '"', to);
  }

  void emit_numbers(std::int32_t from, bool is_integer, const Json& schema,
                    const std::string& pointer, std::int32_t to) {
    NumberLimits limits;
    bool is_limited = false;
    const auto bound = [&](const char* name, bool is_min, bool is_exclusive) {
      const auto found = schema.find(name);
      if (found == schema.end()) return;
      const std::string place = pointer_to(pointer, name);
      if (!found->is_number()) fail_format(place, "a number");
      const double value = found->get<double>();
      constexpr double kExact = 9007199254740992,
                       kMost = 1e18;  // 2^53; the digits that are emitted
      if ((is_min ? value : -value) >= kMost)
        fail(place, "numbers have at most 18 digits before the point");
      if (found->is_number_integer() && std::abs(value) >= kExact && std::abs(value) < kMost)
        fail(place, "bounds of 2^53 and more are not supported, because JSON numbers are doubles");
      std::optional<NumberBound>& other = is_min ? limits.min : limits.max;
      if (!other || (is_min ? value >= other->value : value <= other->value))
        other = {value, is_exclusive};
      is_limited = true;
    };
    bound("minimum", true, false);
    bound("maximum", false, false);
    bound("exclusiveMinimum", true, true);
    bound("exclusiveMaximum", false, true);
    if (const auto found = schema.find("multipleOf"); found != schema.end()) {
      const double step = found->is_number() ? found->get<double>() : 0;
      const std::string place = pointer + "/multipleOf";
      if (!(step > 0)) fail_format(place, "a number above 0");
      is_limited = true;
      if (step == std::floor(step) && step < 1e9) {
        is_integer = true;
        limits.multiple = static_cast<std::int64_t>(step);
      } else if (const int decimals = decimals_of(step); decimals > 0) {
        limits.decimals = decimals;
      } else {
        fail(place, "only whole numbers below 1e9 and 0.1, 0.01, ... are supported");
      }
    }
    if (!is_limited) {
      grammar_.call(from, is_integer ? json_.integer() : json_.number(), to);
    } else {
      grammar_.empty(
          is_integer ? emit_integer(grammar_, from, limits) : emit_number(grammar_, from, limits),
          to);
    }
  }

  /// Returns n if `step` is 10^-n, else 0.
  static int decimals_of(double step) {
    for (int n = 1; n <= 17; ++n) {
      double power = 0;
      const std::string text = fmt::format("1e-{}", n);
      std::from_chars(text.data(), text.data() + text.size(), power);
      if (step == power) return n;
    }
    return 0;
  }

  void emit_object(std::int32_t from, const Json& schema, const std::string& pointer,
                   std::int64_t depth, std::int32_t to) {
    struct Property {
      std::string name;
      std::int32_t rule;
      bool is_required;
    };
    std::vector<Property> properties;
    if (const auto found = schema.find("properties"); found != schema.end()) {
      const std::string place = pointer + "/properties";
      if (!found->is_object()) fail_format(place, "an object");
      for (const auto& [name, value] : found->items())
        properties.push_back({name, rule_of(value, pointer_to(place, name), depth + 1), false});
    }
    // The rule of other properties, or -1 if there are none.
    std::int32_t others = json_.value();
    if (const auto found = schema.find("additionalProperties"); found != schema.end()) {
      if (found->is_boolean()) {
        if (!found->get<bool>()) others = -1;
      } else {
        others = rule_of(*found, pointer + "/additionalProperties", depth + 1);
      }
    }
    if (const auto found = schema.find("required"); found != schema.end()) {
      const std::string place = pointer + "/required";
      if (!found->is_array()) fail_format(place, "an array of names");
      std::map<std::string, std::size_t> places;
      for (std::size_t i = 0; i < properties.size(); ++i) places[properties[i].name] = i;
      for (const Json& name : *found) {
        if (!name.is_string()) fail_format(place, "an array of names");
        const auto [known, is_new] = places.try_emplace(name, properties.size());
        if (is_new) {
          if (others < 0) {
            fail(place, fmt::format("'{}' is not in 'properties', and 'additionalProperties' is "
                                    "false: no object has it",
                                    known->first));
          }
          properties.push_back({name, others, false});
        }
        properties[known->second].is_required = true;
      }
    }
    // The states before a property, after '{' or after another property.
    std::int32_t first = json_.byte_and_space(from, '{'), next = grammar_.add_state();
    const auto name_place = [&] {
      const std::int32_t place = grammar_.add_state();
      grammar_.empty(first, place);
      grammar_.empty(json_.byte_and_space(next, ','), place);
      return place;
    };
    std::vector<std::string> names;
    for (const Property& property : properties) {
      names.push_back(property.name);
      const std::int32_t value = json_.name(name_place(), Json(property.name).dump());
      const std::int32_t new_first = grammar_.add_state(), new_next = grammar_.add_state();
      grammar_.call(value, property.rule, new_next);
      if (!property.is_required) {
        grammar_.empty(first, new_first);
        grammar_.empty(next, new_next);
      }
      first = new_first;
      next = new_next;
    }
    if (others >= 0) {
      const std::int32_t value = json_.other_name(name_place(), std::move(names));
      grammar_.call(value, others, next);
    }
    grammar_.bytes(first, '}', '}', to);
    json_.space_and_byte(next, '}', to);
  }

  const Json& root_;
  const ConstraintLimits& limits_;
  GrammarBuilder grammar_;
  JsonRules json_;
  std::map<std::string, std::int32_t> rules_;  // by pointer
  std::deque<Pending> pending_;
};

}  // namespace

Grammar schema_grammar(std::string_view schema, const ConstraintLimits& limits) {
  Json root;
  try {
    root = Json::parse(schema);
  } catch (const nlohmann::json::exception& e) {
    throw FormatError(fmt::format("the JSON schema is not valid JSON: {}", e.what()));
  }
  return SchemaCompiler(root, limits).compile();
}

}  // namespace weft::structured
