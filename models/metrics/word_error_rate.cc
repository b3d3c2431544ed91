#include "weft/models/metrics/word_error_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <sstream>

#include "weft/core/error.h"

namespace weft {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::int64_t word_errors(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::int64_t> row(b.size() + 1);  // distances from a prefix of a to all prefixes of b
  std::iota(row.begin(), row.end(), 0);
  for (const std::string& word : a) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::int64_t substituted = diagonal + (word == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

double word_error_rate(const std::vector<std::string>& outputs,
                       const std::vector<std::string>& references) {
  if (outputs.size() != references.size())
    throw ArgumentError(
        fmt::format("there are {} outputs, but {} references", outputs.size(), references.size()));
  std::int64_t errors = 0, words = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<std::string> reference = words_of(references[i]);
    errors += word_errors(words_of(outputs[i]), reference);
    words += std::ssize(reference);
  }
  if (words == 0 && errors > 0)
    throw DataError("the word error rate is not defined: the references contain no words");
  return words == 0 ? 0 : static_cast<double>(errors) / static_cast<double>(words);
}

}  // namespace weft
