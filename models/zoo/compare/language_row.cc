#include "weft/models/zoo/compare/language_row.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numbers>

namespace weft::zoo {
namespace {

std::string figure(double value, int digits) {
  return std::isnan(value) ? "" : fmt::format("{:.{}f}", value, digits);
}

nlohmann::json number(double value) {
  return std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
}

}  // namespace

HeldOut held_out(const std::string& text, std::vector<std::int32_t> ids) {
  HeldOut out{std::move(ids), 0};
  bool inside = false;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    out.words += !blank && !inside ? 1 : 0;
    inside = !blank;
  }
  return out;
}

double bits_per_character(double loss) { return loss / std::numbers::ln2; }

double bits_per_word(double loss, const HeldOut& text) {
  return bits_per_character(loss) * static_cast<double>(std::ssize(text.ids) - 1) /
         static_cast<double>(text.words);
}

std::string markdown(const std::vector<LanguageRow>& rows, const HeldOut& text) {
  std::string out =
      "| model | parameters | bits per character, windows | bits per word, windows | bits per "
      "character, whole text | training, characters/s |";
  std::string line = "| --- | ---: | ---: | ---: | ---: | ---: |";
  for (const auto& [context, us] : rows.empty() ? LanguageRow().generating : rows[0].generating) {
    out += fmt::format(" us/character at context {} |", context);
    line += " ---: |";
  }
  out += "\n" + line + "\n";
  for (const LanguageRow& row : rows) {
    out += fmt::format(
        "| {} | {} | {} | {} | {} | {} |", row.name, row.parameters,
        figure(bits_per_character(row.windows), 3), figure(bits_per_word(row.windows, text), 2),
        figure(bits_per_character(row.whole), 3), figure(row.train_tokens_per_second, 0));
    for (const auto& [context, us] : row.generating) out += fmt::format(" {} |", figure(us, 1));
    out += "\n";
  }
  return out;
}

std::string json(const std::vector<LanguageRow>& rows, const HeldOut& text) {
  nlohmann::json out = nlohmann::json::array();
  for (const LanguageRow& row : rows) {
    nlohmann::json generating = nlohmann::json::object();
    for (const auto& [context, us] : row.generating)
      generating[std::to_string(context)] = number(us);
    out.push_back({{"model", row.name},
                   {"parameters", row.parameters},
                   {"loss_windows", number(row.windows)},
                   {"bits_per_character_windows", number(bits_per_character(row.windows))},
                   {"bits_per_word_windows", number(bits_per_word(row.windows, text))},
                   {"bits_per_character_whole", number(bits_per_character(row.whole))},
                   {"bits_per_word_whole", number(bits_per_word(row.whole, text))},
                   {"train_characters_per_second", number(row.train_tokens_per_second)},
                   {"generate_microseconds", generating},
                   {"sample", row.sample}});
  }
  return out.dump(2) + "\n";
}

}  // namespace weft::zoo
