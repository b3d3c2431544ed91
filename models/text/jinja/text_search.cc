#include "weft/models/text/jinja/text_search.h"

#include <algorithm>
#include <iterator>

namespace weft::chat {
namespace {

/// Returns the borders of all prefixes of `wanted`.
template <class Text>
std::vector<std::uint32_t> borders_of(const Text& wanted, std::size_t size) {
  std::vector<std::uint32_t> borders(size, 0);
  std::uint32_t matched = 0;
  for (std::size_t i = 1; i < size; ++i) {
    while (matched > 0 && wanted[i] != wanted[matched]) matched = borders[matched - 1];
    if (wanted[i] == wanted[matched]) ++matched;
    borders[i] = matched;
  }
  return borders;
}

/// Returns the end of the first occurrence of `wanted` in the `size` bytes of `text`, or `size` + 1
/// if there is none.
template <class Text>
std::size_t end_of_first(const Text& text, std::size_t size, const Text& wanted,
                         const std::vector<std::uint32_t>& borders) {
  std::size_t matched = 0;
  for (std::size_t at = 0; at < size; ++at) {
    if (matched == 0) {
      at = static_cast<std::size_t>(std::find(text + at, text + size, wanted[0]) - text);
      if (at == size) break;
    }
    while (matched > 0 && text[at] != wanted[matched]) matched = borders[matched - 1];
    if (text[at] == wanted[matched]) ++matched;
    if (matched == borders.size()) return at + 1;
  }
  return size + 1;
}

}  // namespace

TextSearch::TextSearch(Run& run, std::string_view wanted, From from)
    : run_(run), wanted_(wanted), from_(from) {
  run.pass(Pass::decode, wanted.size());
  borders_ = from == From::left ? borders_of(wanted.begin(), wanted.size())
                                : borders_of(wanted.rbegin(), wanted.size());
}

std::size_t TextSearch::in(std::string_view text) const {
  const bool left = from_ == From::left;
  if (wanted_.empty()) return left ? 0 : text.size();
  if (wanted_.size() > text.size()) {
    run_.step();
    return std::string_view::npos;
  }
  const std::size_t end =
      left ? end_of_first(text.begin(), text.size(), wanted_.begin(), borders_)
           : end_of_first(text.rbegin(), text.size(), wanted_.rbegin(), borders_);
  run_.pass(Pass::search, end);
  if (end > text.size()) return std::string_view::npos;
  return left ? end - wanted_.size() : text.size() - end;
}

}  // namespace weft::chat
