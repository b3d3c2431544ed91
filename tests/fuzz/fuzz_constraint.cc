// Fuzzes constraints. The first byte selects a JSON schema or a regular expression, the rest is its
// text. Compiling it throws an Error within the limits; otherwise a random text by masks either
// continues, or ends as valid JSON. Masks and accept() agree.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/generate/structured/constraint.h"

namespace {

using namespace weft;

constexpr std::int64_t kEnd = 256;

/// All bytes and a few longer tokens.
std::vector<std::string> tokens() {
  std::vector<std::string> result;
  for (int byte = 0; byte < 256; ++byte) result.emplace_back(1, static_cast<char>(byte));
  result.insert(result.end(),
                {"", "{\"", "\":", "\",", "}]", "ab", " \"", "\xC3\xA4", "\\u00", "12"});
  return result;
}

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> bytes = tokens();
  static const auto vocabulary = std::make_shared<const ConstraintVocabulary>(
      bytes, static_cast<std::int64_t>(bytes.size()), std::vector<std::int64_t>{kEnd});
  if (size == 0) return 0;
  const bool is_schema = data[0] % 2 == 0;
  const std::string_view source(reinterpret_cast<const char*>(data) + 1, size - 1);
  const ConstraintLimits limits{.source_bytes = 4096, .depth = 16, .states = 20'000};
  try {
    ConstraintState state(is_schema ? Constraint::json_schema(source, vocabulary, limits)
                                    : Constraint::regex(source, vocabulary, limits));
    std::uint64_t random = 0x9E3779B97F4A7C15 ^ data[0];
    std::string text;
    std::vector<std::uint64_t> mask((bytes.size() + 63) / 64);
    for (int step = 0; step < 64; ++step) {
      state.allowed_ids(mask);
      std::vector<std::int64_t> ids;
      for (std::size_t id = 0; id < bytes.size(); ++id) {
        if ((mask[id / 64] >> (id % 64) & 1) != 0) ids.push_back(static_cast<std::int64_t>(id));
      }
      check(!ids.empty());
      random = random * 6364136223846793005 + 1442695040888963407;
      const std::int64_t id = ids[(random >> 33) % ids.size()];
      state.accept(id);
      if (id == kEnd) {
        check(!is_schema || nlohmann::json::accept(text));
        break;
      }
      text += bytes[static_cast<std::size_t>(id)];
      // An id that the mask excludes is rejected.
      const std::int64_t other = static_cast<std::int64_t>((random >> 40) % bytes.size());
      ConstraintState copy = state;
      state.allowed_ids(mask);
      bool is_accepted = true;
      try {
        copy.accept(other);
      } catch (const DataError&) {
        is_accepted = false;
      }
      check(is_accepted == ((mask[static_cast<std::size_t>(other) / 64] >> (other % 64) & 1) != 0));
    }
  } catch (const Error&) {
  }
  return 0;
}
