// What language models are compared by: the rows of one table.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace weft::zoo {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A held-out text that all models predict, character by character.
struct HeldOut {
  std::vector<std::int32_t> ids;
  std::int64_t words = 0;  // runs of characters between blanks and line breaks
};
HeldOut held_out(const std::string& text, std::vector<std::int32_t> ids);

struct LanguageRow {
  std::string name;
  std::int64_t parameters = 0;
  /// Mean loss in nats per predicted character of the held-out text: in windows, each of which
  /// begins anew, and read from its beginning to its end by what carries a state (else NaN).
  double windows = kUnknown, whole = kUnknown;
  double train_tokens_per_second = kUnknown;
  /// Microseconds for one more character behind so many.
  std::vector<std::pair<std::int64_t, double>> generating = {};
  std::vector<std::int32_t> ids = {};  // of what it wrote, behind a prompt
  std::string sample = {};             // the same as a text
};

/// Bits, of a mean loss in nats per character.
double bits_per_character(double loss);
/// The same per word of the text: what all its predicted characters cost, by its words.
double bits_per_word(double loss, const HeldOut& text);

/// A table in Markdown.
std::string markdown(const std::vector<LanguageRow>& rows, const HeldOut& text);
/// A JSON array with an object for each row; null where there is no figure.
std::string json(const std::vector<LanguageRow>& rows, const HeldOut& text);

}  // namespace weft::zoo
