// Strict parsing of JSON files. Internal: the JSON library stays out of public headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Limits for untrusted input. The depth limit is above the nesting of all files that Weft reads;
/// deeper trees could overflow the stack in recursive functions.
struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  int max_depth = 64;
};

/// Parses `text`; `what` is its name in messages. Throws FormatError with line, column and byte if
/// the text is invalid JSON, too long or nested too deeply, or if a key is duplicated (JSON parsers
/// disagree about which value to use).
nlohmann::json parse_json(std::string_view text, std::string_view what,
                          const JsonLimits& limits = {});

/// Same as parse_json(), but also throws FormatError if the value is not an object.
nlohmann::json parse_json_object(std::string_view text, std::string_view what,
                                 const JsonLimits& limits = {});

/// Returns `parsed`, the result of parse_json() for `text`, with all keys in their order in `text`.
/// Throws FormatError if an object has more than 1024 keys, because the time is quadratic in their
/// number.
nlohmann::ordered_json in_order(const nlohmann::json& parsed, std::string_view text,
                                std::string_view what);

/// Large parts of an object that are read into lists instead of a tree, which would be too slow for
/// hundreds of thousands of values. A path consists of one or two keys, separated by a dot
/// ("model.vocab"). An empty path is the whole text.
struct JsonLists {
  std::optional<std::string> table_path = {};   // path of an object of integers
  std::optional<std::string> pairs_path = {};   // path of an array of strings or string pairs
  std::optional<std::string> scores_path = {};  // path of an array of [string, number] pairs
  bool table_found = false, pairs_found = false, scores_found = false;
  std::vector<std::pair<std::string, std::int64_t>> table = {};  // may have duplicate keys
  /// For a single string, the second element is empty.
  std::vector<std::pair<std::string, std::string>> pairs = {};
  std::vector<std::pair<std::string, double>> scores = {};
};
/// As above, and also fills `lists`. In the returned object, the parts read into lists are null. If
/// the value at one of the paths is not an object or array as required, it is parsed as usual.
/// Throws FormatError if a list contains an element of another type.
nlohmann::json parse_json_object(std::string_view text, std::string_view what, JsonLists& lists,
                                 const JsonLimits& limits = {});

/// Returns the reason for a parse error, without the position, which the caller reports. The
/// returned text is short even if the input is long.
std::string json_reason(const nlohmann::json::exception& e);

/// Returns a value as text for messages, truncated if it is long.
std::string json_excerpt(const nlohmann::json& value);

}  // namespace weft
