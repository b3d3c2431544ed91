#include "weft/models/metrics/squad_f1.h"

#include <algorithm>
#include <map>
#include <vector>

#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/properties.h"

namespace weft {
namespace {

bool is_ascii_punctuation(char32_t c) { return c < 0x80 && is_punctuation(c); }

/// Returns the text in lower case and without punctuation.
std::u32string bare(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = lower_case(take_character(text, at));
    if (!is_ascii_punctuation(c)) result += c;
  }
  return result;
}

bool is_article(std::u32string_view word) {
  return word == U"a" || word == U"an" || word == U"the";
}

/// Replaces every article by a space. A word is an article only if it is not part of a longer word.
std::u32string without_articles(std::u32string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word_character(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const std::u32string_view word = text.substr(at, end - at);
    result += is_article(word) ? std::u32string_view(U" ") : word;
    at = end;
  }
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::u32string bare_text = without_articles(bare(text));
  std::vector<std::string> words;
  std::u32string word;
  bare_text += U' ';
  for (const char32_t c : bare_text) {
    if (!is_white_space(c)) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(utf8(word));
      word.clear();
    }
  }
  return words;
}

AnswerScore score_words(const std::vector<std::string>& found,
                        const std::vector<std::string>& wanted) {
  const double exact = found == wanted ? 1 : 0;
  if (found.empty() || wanted.empty()) return {exact, exact};
  std::map<std::string_view, std::int64_t> left;
  for (const std::string& word : wanted) ++left[word];
  std::int64_t common = 0;
  for (const std::string& word : found) common += left[word]-- > 0 ? 1 : 0;
  if (common == 0) return {exact, 0};
  const double precision = static_cast<double>(common) / static_cast<double>(found.size());
  const double recall = static_cast<double>(common) / static_cast<double>(wanted.size());
  return {exact, 2 * precision * recall / (precision + recall)};
}

}  // namespace

std::string normalised_answer(std::string_view text) {
  std::string result;
  for (const std::string& word : words_of(text)) {
    if (!result.empty()) result += ' ';
    result += word;
  }
  return result;
}

AnswerScore score_answer(std::string_view found, std::span<const std::string> answers) {
  const std::vector<std::string> words = words_of(found);
  std::vector<std::vector<std::string>> wanted;
  for (const std::string& answer : answers) {
    if (auto of_answer = words_of(answer); !of_answer.empty()) wanted.push_back(of_answer);
  }
  if (wanted.empty()) wanted.emplace_back();
  AnswerScore best;
  for (const std::vector<std::string>& answer : wanted) {
    const AnswerScore score = score_words(words, answer);
    best.exact = std::max(best.exact, score.exact);
    best.f1 = std::max(best.f1, score.f1);
  }
  return best;
}

void SquadScores::add(std::string_view found, std::span<const std::string> answers) {
  const AnswerScore score = score_answer(found, answers);
  exact_ += score.exact;
  f1_ += score.f1;
  ++questions_;
}

}  // namespace weft
