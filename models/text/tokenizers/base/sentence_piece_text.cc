#include "weft/models/text/tokenizers/base/sentence_piece_text.h"

#include "weft/models/text/unicode/utf8.h"

namespace weft::sentence_piece {
namespace {

/// A text under construction, and for each of its bytes the corresponding offset in the input.
struct Made {
  std::string text = {};
  std::vector<std::uint32_t>* origins;

  void append(std::string_view bytes, std::size_t origin) {
    text += bytes;
    if (origins != nullptr)
      origins->insert(origins->end(), bytes.size(), static_cast<std::uint32_t>(origin));
  }
  std::string finished(std::size_t end) {
    if (origins != nullptr) origins->push_back(static_cast<std::uint32_t>(end));
    return std::move(text);
  }
};

}  // namespace

std::string normalise(std::string_view text, TextPlace place, std::vector<std::uint32_t>* origins) {
  if (origins != nullptr) origins->clear();
  Made result{.origins = origins};
  bool between = place == TextPlace::beginning;  // true between words
  std::size_t blank = 0;                         // start of the last whitespace run
  std::size_t end = 0;                           // end of the last word
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t begin = offset;
    const char32_t c = next_code_point(text, offset);
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      if (!between) blank = begin;
      between = true;
      continue;
    }
    if (between) result.append(kBlank, blank);
    between = false;
    result.append(text.substr(begin, offset - begin), begin);
    end = offset;
  }
  return result.finished(end);
}

std::string with_all_whitespace(std::string_view text, TextPlace place,
                                std::vector<std::uint32_t>* origins) {
  if (origins != nullptr) origins->clear();
  Made result{.origins = origins};
  if (place == TextPlace::beginning && !text.empty()) result.append(kBlank, 0);
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t begin = offset;
    if (next_code_point(text, offset) == ' ') {
      result.append(kBlank, begin);
    } else {
      result.append(text.substr(begin, offset - begin), begin);
    }
  }
  return result.finished(text.size());
}

}  // namespace weft::sentence_piece
