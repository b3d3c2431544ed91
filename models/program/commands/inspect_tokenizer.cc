#include "weft/models/program/commands/inspect_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "weft/core/excerpt.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/text/tokens/token_file.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/repair.h"

namespace weft::program {
namespace {

using nlohmann::json;

constexpr std::size_t kShownPieces = 10;
constexpr std::size_t kShownBytes = 60;  // maximum length of a printed piece or setting

/// Describes a tokenizer component, for example "Split (pattern {"Regex":"..."}, behavior
/// Isolated)". The steps of a sequence are joined by arrows.
std::string summary(const json& part) {
  if (!part.is_object()) return "none";
  for (const char* list : {"normalizers", "pretokenizers", "processors", "decoders"}) {
    if (!part.contains(list)) continue;
    std::string joined;
    for (const json& step : part[list]) joined += (joined.empty() ? "" : " -> ") + summary(step);
    return joined.empty() ? "nothing" : joined;
  }
  std::string text = part.value("type", "?");
  std::string settings;
  for (const auto& [key, value] : part.items()) {
    if (key == "type") continue;
    settings += fmt::format("{}{} {}", settings.empty() ? "" : ", ", key,
                            excerpt(value.dump(), kShownBytes));
  }
  return settings.empty() ? text : fmt::format("{} ({})", text, settings);
}

void print_parts(const SubwordTokenizer& tokenizer) {
  const json parts = json::parse(tokenizer.to_bytes());
  for (const char* name : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
    say("  {:<16} {}\n", name, summary(parts.value(name, json())));
  json model = parts.at("model");
  const std::size_t merges = model.contains("merges") ? model["merges"].size() : 0;
  model.erase("vocab");
  model.erase("merges");
  say("  {:<16} {}\n", "model", summary(model));
  if (merges > 0) say("  {:<16} {}\n", "merges", grouped(static_cast<std::int64_t>(merges)));
  say("  {:<16} {}\n", "added tokens",
      grouped(static_cast<std::int64_t>(parts.value("added_tokens", json::array()).size())));
}

void print_parts(const SentencePieceTokenizer& tokenizer) {
  constexpr const char* kAlgorithms[] = {"unigrams", "byte pairs", "words", "characters"};
  const SentencePieceModel& model = tokenizer.model();
  say("  {:<16} {}\n", "model", kAlgorithms[static_cast<std::size_t>(model.algorithm)]);
  say("  {:<16} {}{}{}\n", "normalizer",
      model.normalizer.name.empty() ? "none" : model.normalizer.name,
      model.normalizer.dummy_prefix ? ", a blank is prepended" : "",
      model.normalizer.remove_extra_whitespace ? "" : ", extra blanks are kept");
  say("  {:<16} {}\n", "unknown", model.byte_fallback ? "becomes bytes" : "one id");
}

void print_parts(const CharacterTokenizer&) {}

}  // namespace

void inspect_tokenizer(const std::string& path, const Tokenizer& tokenizer) {
  say("{}: {}\n", path, tokenizer.type());
  say("  {:<16} {} {}\n", "vocabulary", grouped(tokenizer.vocab_size()), tokenizer.unit());
  for (const SpecialIdName& special : kSpecialIds) {
    const std::int32_t id = tokenizer.special().*special.id;
    if (id >= 0)
      say("  {:<16} {} {}\n", special.name, id, excerpt(tokenizer.piece(id), kShownBytes));
  }
  tokenizer.visit([](const auto& kind) { print_parts(kind); });
  std::vector<std::pair<std::size_t, std::int32_t>> sizes;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id))
      sizes.emplace_back(count_characters(repaired(tokenizer.piece(id))), id);
  }
  const auto shown =
      sizes.begin() + static_cast<std::ptrdiff_t>(std::min(sizes.size(), kShownPieces));
  std::partial_sort(sizes.begin(), shown, sizes.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (!sizes.empty()) say("  longest pieces\n");
  for (auto size = sizes.begin(); size != shown; ++size) {
    say("    {:>8}  {}\n", size->second, excerpt(tokenizer.piece(size->second), kShownBytes));
  }
  say("  {:<16} {} ({})\n", "digest", str(tokenizer_digest(tokenizer)),
      short_bytes(static_cast<double>(tokenizer.bytes().size())));
}

}  // namespace weft::program
