// JSON from files, read strictly. Internal: the parser stays out of public headers.
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

/// What a text may ask for. No file that Weft reads nests as deep; deeper trees could exhaust the
/// stack of whoever walks over them.
struct JsonLimits {
  std::size_t most_bytes = std::size_t{64} << 20;
  int most_depth = 64;
};

/// The value in `text`; `what` names it in messages. Throws FormatError with line, column and byte
/// for what is no JSON, and for a text that is too long, nests too deep or has a key twice (readers
/// disagree about which of the two counts).
nlohmann::json parse_json(std::string_view text, std::string_view what,
                          const JsonLimits& limits = {});

/// The same of an object; also throws FormatError where the value is none.
nlohmann::json parse_json_object(std::string_view text, std::string_view what,
                                 const JsonLimits& limits = {});

/// Large parts of an object that are read into lists: as a tree, a hundred thousand values take too
/// long. Paths are keys with dots between them ("model.vocab"), of at most two; an empty one is the
/// whole text.
struct JsonLists {
  std::optional<std::string> table_path = {};   // of an object of integers
  std::optional<std::string> pairs_path = {};   // of an array of strings or of pairs of strings
  std::optional<std::string> scores_path = {};  // of an array of pairs of a string and a number
  bool table_found = false, pairs_found = false, scores_found = false;
  std::vector<std::pair<std::string, std::int64_t>> table = {};  // keys may occur twice
  std::vector<std::pair<std::string, std::string>> pairs =
      {};  // a string has an empty one behind it
  std::vector<std::pair<std::string, double>> scores = {};
};
/// The same; the lists are null in the object. A part that is no such container is read as always.
/// Throws FormatError also where one holds anything else.
nlohmann::json parse_json_object(std::string_view text, std::string_view what, JsonLists& lists,
                                 const JsonLimits& limits = {});

/// Why a text is no JSON, without the place: that is said by who reports. Short, whatever was read.
std::string json_reason(const nlohmann::json::exception& e);

/// A value as messages show it: cut where it is long.
std::string json_excerpt(const nlohmann::json& value);

}  // namespace weft
