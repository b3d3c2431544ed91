#include "weft/models/text/tokenizers/normalizers/character_rules.h"

#include <fmt/format.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/normalizers/characters.h"
#include "weft/models/text/tokenizers/subwords/double_array.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;

const icu::Normalizer2& form(bool composed) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* found = composed ? icu::Normalizer2::getNFKCInstance(status)
                                           : icu::Normalizer2::getNFKDInstance(status);
  if (U_FAILURE(status) || found == nullptr)
    throw Error(
        fmt::format("ICU has no data for Unicode normalisation forms: {}", u_errorName(status)));
  return *found;
}

std::u32string in_form(const icu::Normalizer2& form, const std::u32string& text) {
  icu::UnicodeString from;
  for (const char32_t c : text) from.append(static_cast<UChar32>(c));
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString to = form.normalize(from, status);
  if (U_FAILURE(status)) throw Error(fmt::format("ICU: {}", u_errorName(status)));
  std::u32string result;
  for (std::int32_t i = 0; i < to.length(); i = to.moveIndex32(i, 1))
    result += static_cast<char32_t>(to.char32At(i));
  return result;
}

using Origins = std::map<char32_t, std::vector<char32_t>>;

/// Returns all texts that are converted to `text` if each character is decomposed separately.
std::vector<std::u32string> unnormalised(const std::u32string& text, const Origins& origins) {
  std::vector<std::u32string> results = {U""};
  for (const char32_t c : text) {
    std::vector<std::u32string> longer;
    for (const std::u32string& begun : results) {
      longer.push_back(begun + c);
      if (const auto it = origins.find(c); it != origins.end()) {
        for (const char32_t origin : it->second) longer.push_back(begun + origin);
      }
    }
    results = std::move(longer);
  }
  return results;
}

/// Applies `rules` to `text`; the longest match takes precedence. `longest` is the maximum size of
/// a match.
std::u32string applied(const CharacterRules& rules, const std::u32string& text,
                       std::size_t longest) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t size = std::min(longest, text.size() - at);
    auto rule = rules.find(text.substr(at, size));
    while (rule == rules.end() && size > 1) rule = rules.find(text.substr(at, --size));
    result += rule == rules.end() ? text.substr(at, 1) : rule->second;
    at += size;
  }
  return result;
}

/// Removes rules that are implied by shorter rules.
void remove_redundant(CharacterRules& rules) {
  std::size_t longest = 0;
  for (const auto& [from, to] : rules) longest = std::max(longest, from.size());
  CharacterRules kept;
  for (const auto& [from, to] : rules) {
    if (from.size() == 1) kept.emplace(from, to);
  }
  for (std::size_t size = 2; size <= longest; ++size) {
    CharacterRules more;
    for (const auto& [from, to] : rules) {
      if (from.size() == size && applied(kept, from, size - 1) != to) more.emplace(from, to);
    }
    kept.merge(more);
  }
  rules = std::move(kept);
}

CharacterRules nfkc() {
  const icu::Normalizer2& composed = form(true);
  const icu::Normalizer2& decomposed = form(false);
  CharacterRules rules;
  std::map<std::u32string, bool> decompositions;
  Origins origins;
  for (char32_t c = 1; c <= kLastCharacter; ++c) {
    if (!U_IS_UNICODE_CHAR(c)) continue;
    const std::u32string one(1, c);
    if (decomposed.isInert(static_cast<UChar32>(c)) && composed.isInert(static_cast<UChar32>(c)))
      continue;
    if (const std::u32string to = in_form(composed, one); to != one) rules[one] = to;
    const std::u32string parts = in_form(decomposed, one);
    if (parts.size() == 1 && parts != one) origins[parts[0]].push_back(c);
    if (parts.size() > 1) decompositions[parts] = true;
  }
  // Add rules for character sequences that are equivalent to a composed character.
  for (const auto& [parts, _] : decompositions) {
    const std::u32string to = in_form(composed, parts);
    if (to == parts) continue;
    for (const std::u32string& from : unnormalised(parts, origins)) {
      if (from != to) rules[from] = to;
    }
  }
  remove_redundant(rules);
  return rules;
}

void add_nmt(CharacterRules& rules) {
  /// ZERO WIDTH JOINER, which SentencePiece's models keep.
  constexpr char32_t kJoiner = 0x200D;
  for (char32_t c = 1; c <= 0xFFFF; ++c) {
    const std::optional<char32_t> mapped = normalizers::nmt(c);
    if (mapped != c && c != kJoiner) rules[{c}] = mapped ? U" " : U"";
  }
  rules.erase({0xFF5E});  // in Japanese, the full-width tilde differs from the ASCII tilde
}

void fold_case(CharacterRules& rules) {
  const auto folded = [](char32_t c) {
    return static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT));
  };
  for (auto& [from, to] : rules) {
    for (char32_t& c : to) c = folded(c);
  }
  for (char32_t c = 1; c <= kLastCharacter; ++c) {
    if (U_IS_UNICODE_CHAR(c) && folded(c) != c)
      rules.try_emplace({c}, std::u32string(1, folded(c)));
  }
  remove_redundant(rules);
}

}  // namespace

CharacterRules character_rules(std::string_view name) {
  if (name == "identity") return {};
  const bool nmt = name == "nmt_nfkc" || name == "nmt_nfkc_cf";
  const bool fold = name == "nfkc_cf" || name == "nmt_nfkc_cf";
  if (!nmt && !fold && name != "nfkc") {
    throw ArgumentError(fmt::format(
        "character rules must be identity, nfkc, nmt_nfkc, nfkc_cf or nmt_nfkc_cf, not '{}'",
        name));
  }
  CharacterRules rules = nfkc();
  if (nmt) add_nmt(rules);
  if (fold) fold_case(rules);
  return rules;
}

std::string compile(const CharacterRules& rules) {
  if (rules.empty()) return {};
  std::string replacements;
  std::map<std::string, std::int32_t> places;  // equal replacements share one entry
  std::vector<std::pair<std::string, std::int32_t>> keys;
  for (const auto& [from, to] : rules) {
    if (from.empty() || (from + to).find(U'\0') != std::u32string::npos)
      throw ArgumentError("a character rule is empty or contains U+0000");
    const std::string text = utf8(to);
    const auto [it, added] = places.emplace(text, static_cast<std::int32_t>(replacements.size()));
    if (added) replacements += text + '\0';
    keys.emplace_back(utf8(from), it->second);
  }
  // The format of a unit: the highest bit is set in value units. In a node unit, bits 0 to 7 are
  // its label, bit 8 is set if it has a leaf, and the bits from 10 on are the offset of its
  // children, multiplied by 256 if bit 9 is set.
  constexpr std::size_t kMaxUnits = std::size_t{1} << 21;
  const auto nodes = double_array({keys.begin(), keys.end()}, true, kMaxUnits);
  std::string blob;
  const auto append = [&](std::uint32_t number) {
    for (int i = 0; i < 4; ++i) blob += static_cast<char>(number >> (8 * i) & 0xFF);
  };
  append(static_cast<std::uint32_t>(nodes.size() * 4));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const DoubleArrayNode& node = nodes[i];
    std::uint32_t unit = node.label & 0xFF;
    if (node.label == DoubleArrayNode::kLeaf) {
      unit = std::uint32_t{1} << 31 | static_cast<std::uint32_t>(node.value);
    } else if (node.label == DoubleArrayNode::kFree) {
      unit = std::uint32_t{1} << 31;  // this label does not match any byte
    } else if (node.base != 0) {
      const bool leaf = nodes[node.base].label == DoubleArrayNode::kLeaf;
      unit |= (static_cast<std::uint32_t>(i) ^ node.base) << 10 | (leaf ? 1U << 8 : 0U);
    }
    append(unit);
  }
  return blob + replacements;
}

}  // namespace weft
