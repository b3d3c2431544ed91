// JSON from files, read strictly. Internal: the parser stays out of public headers.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft {

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

/// A value as messages show it: cut where it is long.
std::string json_excerpt(const nlohmann::json& value);

}  // namespace weft
