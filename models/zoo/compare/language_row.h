// A table that compares language models, with output as Markdown and JSON.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace weft::zoo {

/// Stands for a value that was not measured or does not exist for a model.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Held-out text on which all models are evaluated by predicting every character.
struct HeldOut {
  std::vector<std::int32_t> ids;
  std::int64_t words = 0;  // number of runs of non-whitespace characters
};
/// Counts the words in `text`. `ids` are the encoded characters of `text`.
HeldOut held_out(const std::string& text, std::vector<std::int32_t> ids);

/// The measurements of one model.
struct LanguageRow {
  std::string name;
  std::int64_t parameters = 0;
  /// Mean loss in nats per predicted character of the held-out text. For `windows`, the text is
  /// split into windows that are read independently of each other. For `whole`, the model reads the
  /// text from beginning to end and carries its state; NaN for models without a fixed-size state.
  double windows = kUnknown, whole = kUnknown;
  double train_tokens_per_second = kUnknown;
  /// Pairs of a context length in characters and the time to generate the next character, in
  /// microseconds.
  std::vector<std::pair<std::int64_t, double>> generating = {};
  std::vector<std::int32_t> ids = {};  // the prompt and the generated characters
  std::string sample = {};             // decoded `ids`
};

/// Converts a mean loss in nats per character to bits per character.
double bits_per_character(double loss);
/// Converts a mean loss in nats per character to bits per word, which are the total bits of all
/// predicted characters of the text divided by the number of words.
double bits_per_word(double loss, const HeldOut& text);

/// Returns the rows as a Markdown table.
std::string markdown(const std::vector<LanguageRow>& rows, const HeldOut& text);
/// Returns a JSON array with one object per row. Unknown values are null.
std::string json(const std::vector<LanguageRow>& rows, const HeldOut& text);

}  // namespace weft::zoo
