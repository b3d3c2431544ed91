#include "weft/models/vectors/word_similarity.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/metrics/correlation.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

std::vector<std::string> split_fields(std::string_view line) {
  std::vector<std::string> result;
  bool inside = false;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (!blank && !inside) result.emplace_back();
    if (!blank) result.back() += c;
    inside = !blank;
  }
  return result;
}

}  // namespace

std::vector<WordPair> read_word_pairs(const std::string& path) {
  std::vector<WordPair> pairs;
  for_lines(read_utf8_file(path), [&](std::int64_t number, std::string_view line) {
    const std::vector<std::string> fields = split_fields(line);
    if (fields.empty() || fields[0].starts_with('#')) return;
    const std::string place = fmt::format("{}:{}", path, number);
    if (fields.size() != 3) {
      throw FormatError(
          fmt::format("{}: expected two words and a score, found {} fields", place, fields.size()));
    }
    try {
      pairs.push_back({fields[0], fields[1], parse_real("the score", fields[2])});
    } catch (const ArgumentError& e) {
      throw FormatError(fmt::format("{}: {}", place, e.what()));
    }
  });
  if (pairs.empty()) throw FormatError(fmt::format("{}: the file contains no word pairs", path));
  return pairs;
}

WordSimilarity measure_similarity(const WordVectors& vectors, const std::vector<WordPair>& pairs) {
  std::vector<double> cosines, scores;
  for (const WordPair& pair : pairs) {
    const std::int64_t a = vectors.find(pair.first), b = vectors.find(pair.second);
    if (a < 0 || b < 0) continue;
    cosines.push_back(vectors.cosine(a, b));
    scores.push_back(pair.score);
  }
  const double found =
      cosines.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : spearman(cosines, scores);
  return {found, std::ssize(cosines), std::ssize(pairs)};
}

}  // namespace weft
