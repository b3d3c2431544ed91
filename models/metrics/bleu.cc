#include "weft/models/metrics/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

void check(const std::vector<std::string>& outputs, const std::vector<References>& references) {
  if (outputs.empty()) throw ArgumentError("there are no outputs to score");
  if (outputs.size() != references.size()) {
    throw ArgumentError(
        fmt::format("{} outputs have {} lists of references: each output needs one list",
                    outputs.size(), references.size()));
  }
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (references[i].empty()) throw ArgumentError(fmt::format("output {} has no reference", i));
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns true for the white space at which Python's str.split() splits. Such white space
/// separates 13a tokens.
bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/// Returns true for symbols that are always separate tokens: all ASCII characters except letters,
/// digits and the characters ' , - .
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Applies one rule to the whole text: inserts a space between two adjacent characters that match,
/// and puts `before` and `after` around them. Pairs do not overlap. Working on bytes is sufficient,
/// because the rules contain only ASCII characters, and no byte of any other character is a
/// digit.
template <class First, class Second>
std::string split_pairs(const std::string& text, First&& first, Second&& second,
                        std::string_view before, std::string_view after) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && first(text[i]) && second(text[i + 1])) {
      out += before;
      out += text[i];
      out += ' ';
      out += text[i + 1];
      out += after;
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Returns the code points of a text. Throws FormatError if it is not valid UTF-8.
std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) out += next_code_point(text, at);
  return out;
}

/// Counts the occurrences of each n-gram of length `order`.
template <class Sequence>
std::map<Sequence, std::int64_t> count_ngrams(const Sequence& tokens, std::size_t order) {
  std::map<Sequence, std::int64_t> counts;
  for (std::size_t i = 0; i + order <= tokens.size(); ++i) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(i);
    ++counts[Sequence(first, first + static_cast<std::ptrdiff_t>(order))];
  }
  return counts;
}

using Tokens = std::vector<std::string>;

void count_output(Bleu& bleu, const Tokens& output, const std::vector<Tokens>& references) {
  const auto length = static_cast<std::int64_t>(output.size());
  std::int64_t closest = -1;
  for (const Tokens& reference : references) {
    const auto size = static_cast<std::int64_t>(reference.size());
    const auto distance = std::abs(size - length), least = std::abs(closest - length);
    if (closest < 0 || distance < least || (distance == least && size < closest)) closest = size;
  }
  bleu.output_length += length;
  bleu.reference_length += closest;
  for (std::size_t n = 1; n <= Bleu::kOrder; ++n) {
    std::map<Tokens, std::int64_t> most;
    for (const Tokens& reference : references) {
      for (const auto& [ngram, count] : count_ngrams(reference, n))
        most[ngram] = std::max(most[ngram], count);
    }
    for (const auto& [ngram, count] : count_ngrams(output, n)) {
      bleu.total[n - 1] += count;
      const auto found = most.find(ngram);
      if (found != most.end()) bleu.correct[n - 1] += std::min(count, found->second);
    }
  }
}

void finish(Bleu& bleu) {
  const auto length = static_cast<double>(bleu.output_length);
  const auto wanted = static_cast<double>(bleu.reference_length);
  bleu.brevity_penalty = length >= wanted ? 1 : length > 0 ? std::exp(1 - wanted / length) : 0;
  // Smoothing applies to orders without a match. If no order has a match, there is nothing to
  // smooth.
  if (bleu.correct[0] == 0) return;
  double share = 1, logarithms = 0;
  for (std::size_t n = 0; n < Bleu::kOrder; ++n) {
    if (bleu.total[n] == 0) return;  // no output is long enough for this order: the score is 0
    double matches = static_cast<double>(bleu.correct[n]);
    if (bleu.correct[n] == 0) matches = share /= 2;
    bleu.precisions[n] = 100 * matches / static_cast<double>(bleu.total[n]);
    logarithms += std::log(bleu.precisions[n]);
  }
  bleu.score = bleu.brevity_penalty * std::exp(logarithms / static_cast<double>(Bleu::kOrder));
}

/// Returns the number of references per output, or "var" if outputs have different numbers.
std::string reference_count(const std::vector<References>& references) {
  const std::size_t count = references.front().size();
  const bool same = std::all_of(references.begin(), references.end(),
                                [&](const References& r) { return r.size() == count; });
  return same ? std::to_string(count) : "var";
}

constexpr std::size_t kCharacterOrder = 6;

struct CharacterCounts {
  std::array<double, kCharacterOrder> output{}, reference{}, match{};

  CharacterCounts& operator+=(const CharacterCounts& other) {
    for (std::size_t n = 0; n < kCharacterOrder; ++n) {
      output[n] += other.output[n];
      reference[n] += other.reference[n];
      match[n] += other.match[n];
    }
    return *this;
  }
  /// Returns F2 of the mean precision and the mean recall over the orders that both the output and
  /// the reference have.
  double score() const {
    double precision = 0, recall = 0;
    int orders = 0;
    for (std::size_t n = 0; n < kCharacterOrder; ++n) {
      if (output[n] == 0 || reference[n] == 0) continue;
      precision += match[n] / output[n];
      recall += match[n] / reference[n];
      ++orders;
    }
    if (precision + recall == 0) return 0;
    constexpr double kBetaSquared = 4;
    return 100 * (1 + kBetaSquared) * precision * recall / (kBetaSquared * precision + recall) /
           orders;
  }
};

std::u32string without_space(std::string_view text) {
  std::u32string characters = code_points(text);
  std::erase_if(characters, is_space);
  return characters;
}

CharacterCounts count_characters(const std::u32string& output, const std::u32string& reference) {
  CharacterCounts counts;
  for (std::size_t n = 1; n <= kCharacterOrder; ++n) {
    const auto ours = count_ngrams(output, n), theirs = count_ngrams(reference, n);
    for (const auto& [ngram, count] : theirs) counts.reference[n - 1] += static_cast<double>(count);
    for (const auto& [ngram, count] : ours) {
      // As in sacreBLEU, an output counts only in orders in which its reference has n-grams.
      if (!theirs.empty()) counts.output[n - 1] += static_cast<double>(count);
      const auto found = theirs.find(ngram);
      if (found != theirs.end())
        counts.match[n - 1] += static_cast<double>(std::min(count, found->second));
    }
  }
  return counts;
}

}  // namespace

std::vector<std::string> tokenize_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  // The order of the replacements matters: "&amp;lt;" becomes "<".
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");

  std::string spaced = " ";
  for (const char c : text) {
    if (is_symbol(c)) {
      spaced += ' ';
      spaced += c;
      spaced += ' ';
    } else {
      spaced += c;
    }
  }
  spaced += ' ';
  const auto stop = [](char c) { return c == '.' || c == ','; };
  const auto no_digit = [](char c) { return !is_digit(c); };
  spaced = split_pairs(spaced, no_digit, stop, "", " ");
  spaced = split_pairs(spaced, stop, no_digit, " ", "");
  spaced = split_pairs(
      spaced, is_digit, [](char c) { return c == '-'; }, "", " ");

  std::vector<std::string> tokens;
  std::string token;
  const auto end_token = [&] {
    if (!token.empty()) tokens.push_back(std::exchange(token, {}));
  };
  for (std::size_t at = 0; at < spaced.size();) {
    const std::size_t start = at;
    if (is_space(next_code_point(spaced, at))) {
      end_token();
    } else {
      token += std::string_view(spaced).substr(start, at - start);
    }
  }
  end_token();
  return tokens;
}

std::string Bleu::to_string() const {
  return fmt::format(
      "BLEU = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len "
      "= {})",
      score, precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty,
      reference_length == 0
          ? 0.0
          : static_cast<double>(output_length) / static_cast<double>(reference_length),
      output_length, reference_length);
}

Bleu corpus_bleu(const std::vector<std::string>& outputs,
                 const std::vector<References>& references) {
  check(outputs, references);
  Bleu bleu;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<Tokens> tokens;
    for (const std::string& reference : references[i]) tokens.push_back(tokenize_13a(reference));
    count_output(bleu, tokenize_13a(outputs[i]), tokens);
  }
  finish(bleu);
  bleu.signature = fmt::format("nrefs:{}|case:mixed|eff:no|tok:13a|smooth:exp|version:weft-0.1.0",
                               reference_count(references));
  return bleu;
}

double corpus_chrf(const std::vector<std::string>& outputs,
                   const std::vector<References>& references) {
  check(outputs, references);
  CharacterCounts sum;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::u32string output = without_space(outputs[i]);
    CharacterCounts best;
    double best_score = -1;
    for (const std::string& reference : references[i]) {
      const CharacterCounts counts = count_characters(output, without_space(reference));
      const double score = counts.score();
      if (score > best_score) {
        best_score = score;
        best = counts;
      }
    }
    sum += best;
  }
  return sum.score();
}

double exact_match(const std::vector<std::string>& outputs,
                   const std::vector<References>& references) {
  check(outputs, references);
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const References& legal = references[i];
    if (std::find(legal.begin(), legal.end(), outputs[i]) != legal.end()) ++equal;
  }
  return static_cast<double>(equal) / static_cast<double>(outputs.size());
}

}  // namespace weft
