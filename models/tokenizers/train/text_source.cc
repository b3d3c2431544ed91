#include "weft/models/tokenizers/train/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/tokenizers/unicode/properties.h"
#include "weft/models/tokenizers/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// True where a character begins at `at` that is white space; what is no UTF-8 is none.
bool is_white_at(std::string_view text, std::size_t at) {
  return examine_character(text, at) > 0 && is_white_space(next_code_point(text, at));
}

/// The first byte of the character that ends at `end`.
std::size_t character_begin(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && end - at < 4 && goes_on(text[at])) --at;
  return at;
}

}  // namespace

std::size_t end_of_part(std::string_view text) {
  std::size_t line = std::string_view::npos;
  for (std::size_t at = text.size(); (at = text.rfind('\n', at)) != std::string_view::npos; --at) {
    const std::size_t behind = at + 1;
    if (line == std::string_view::npos) line = behind;
    if (at > 0 && behind < text.size() && !is_white_at(text, behind) &&
        !is_white_at(text, character_begin(text, at)))
      return behind;
    if (at == 0) break;
  }
  if (line != std::string_view::npos) return line;
  if (const std::size_t blank = text.rfind(' ');
      blank != std::string_view::npos && blank > 0 && text[blank - 1] != ' ')
    return blank;
  const std::size_t whole = text.size() - unfinished_bytes(text);
  return whole == 0 ? text.size() : whole;
}

bool TextList::next(std::string& part) {
  while (text_ < texts_.size() && begin_ == texts_[text_].size()) {
    ++text_;
    begin_ = 0;
  }
  if (text_ == texts_.size()) return false;
  const std::string_view rest = std::string_view(texts_[text_]).substr(begin_);
  const std::size_t size =
      rest.size() <= kTextPartBytes ? rest.size() : end_of_part(rest.substr(0, kTextPartBytes));
  part.assign(rest.substr(0, size));
  begin_ += size;
  return true;
}

// Fills `rest_` up; false where there is nothing left of this file, or none is open.
bool TextFiles::read() {
  while (!at_end_ && rest_.size() < kTextPartBytes) {
    const std::size_t had = rest_.size();
    rest_.resize(kTextPartBytes);
    file_.read(rest_.data() + had, static_cast<std::streamsize>(kTextPartBytes - had));
    rest_.resize(had + static_cast<std::size_t>(file_.gcount()));
    if (file_.bad()) {
      throw IoError(fmt::format("cannot read {}: {}", paths_[opened_ - 1], std::strerror(errno)));
    }
    at_end_ = file_.eof();
    if (std::exchange(at_begin_, false) && rest_.starts_with(kByteOrderMark))
      rest_.erase(0, kByteOrderMark.size());
  }
  return !rest_.empty();
}

bool TextFiles::next(std::string& part) {
  while (!read()) {
    if (opened_ == paths_.size()) return false;
    const std::string& path = paths_[opened_++];
    if (std::filesystem::is_directory(path))
      throw IoError(fmt::format("cannot read {}: it is a folder, not a text file", path));
    file_ = std::ifstream(path, std::ios::binary);
    if (!file_) throw IoError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    at_end_ = false;
    at_begin_ = true;
  }
  const std::size_t size = at_end_ ? rest_.size() : end_of_part(rest_);
  part.assign(rest_, 0, size);
  rest_.erase(0, size);
  return true;
}

}  // namespace weft
