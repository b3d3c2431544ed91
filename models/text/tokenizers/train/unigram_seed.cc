#include "weft/models/text/tokenizers/train/unigram_seed.h"

#include <unicode/uscript.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/unicode/properties.h"

namespace weft {
namespace {

constexpr std::size_t kLongestPiece = 16;  // number of characters

}  // namespace

bool is_possible_piece(std::u32string_view text) {
  if (text.empty() || text.size() > kLongestPiece) return false;
  int before = USCRIPT_INVALID_CODE;  // no script yet
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 0 || text[i] == U' ') return false;
    if (text[i] == sentence_piece::kBlankCharacter) {
      if (i > 0) return false;
      continue;
    }
    const int script = script_of(text[i]);
    if (script == USCRIPT_INHERITED) continue;
    if (before != USCRIPT_INVALID_CODE && script != before) return false;
    before = script;
  }
  return true;
}

std::vector<std::pair<std::u32string, std::int64_t>> frequent_parts(const CountedWords& words,
                                                                    std::size_t most) {
  std::u32string all;
  std::vector<std::uint32_t> ends;  // ends[i] is the end of the word that contains character i
  std::vector<std::int64_t> counts;
  for (const auto& [word, count] : words) {
    all += word;
    ends.resize(all.size(), static_cast<std::uint32_t>(all.size()));
    counts.resize(all.size(), count);
  }
  if (all.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError("the distinct words have more than 2^32 characters");
  // A suffix array: all start positions, sorted by the text that follows them. Common prefixes of
  // adjacent suffixes are the repeated substrings.
  const auto from = [&](std::size_t begin) {
    return std::u32string_view(all).substr(begin, std::min(kLongestPiece + 1, ends[begin] - begin));
  };
  std::vector<std::uint32_t> begins;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 < ends[i]) begins.push_back(static_cast<std::uint32_t>(i));
  }
  std::sort(begins.begin(), begins.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto left = from(a), right = from(b);
    return left != right ? left < right : a < b;
  });
  std::vector<std::int64_t> before = {0};  // prefix sums of the counts of suffixes
  for (const std::uint32_t begin : begins) before.push_back(before.back() + counts[begin]);
  // Returns the length of the common prefix of suffix i and the suffix before it.
  const auto shared = [&](std::size_t i) {
    if (i == 0 || i == begins.size()) return std::size_t{0};
    const auto left = from(begins[i - 1]), right = from(begins[i]);
    const auto [a, b] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    return static_cast<std::size_t>(a - left.begin());
  };
  struct Run {  // adjacent suffixes that have a common prefix of `size` characters
    std::size_t size, first;
  };
  std::vector<Run> open;
  std::vector<std::pair<std::u32string, std::int64_t>> found;
  const auto close = [&](const Run& run, std::size_t end) {
    if (run.size < 2 || run.size > kLongestPiece) return;
    const std::u32string_view text = std::u32string_view(all).substr(begins[run.first], run.size);
    if (!is_possible_piece(text)) return;
    found.emplace_back(text,
                       (before[end] - before[run.first]) * static_cast<std::int64_t>(run.size));
  };
  for (std::size_t i = 1; i <= begins.size(); ++i) {
    const std::size_t size = shared(i);
    std::size_t first = i - 1;
    while (!open.empty() && open.back().size > size) {
      close(open.back(), i);
      first = open.back().first;
      open.pop_back();
    }
    if (size > 0 && (open.empty() || open.back().size < size)) open.push_back({size, first});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace weft
