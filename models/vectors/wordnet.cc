#include "weft/models/vectors/wordnet.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

// Consumes and returns the next field; fields are separated by spaces.
std::string_view next_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

int hexadecimal(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return -1;
    value = 16 * value + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return text.size() == 2 ? value : -1;
}

// Parses "offset lex_filenum ss_type w_cnt word lex_id [word lex_id...] ... | gloss".
WordNetEntry read_entry(std::string_view line, const std::string& place) {
  const std::size_t bar = line.find(" | ");
  std::string_view rest = line;
  for (int i = 0; i < 3; ++i) next_field(rest);
  const int count = hexadecimal(next_field(rest));
  if (bar == std::string_view::npos || count < 1)
    throw FormatError(fmt::format("{}: not a synset with a gloss in the WordNet format", place));
  WordNetEntry entry;
  for (int i = 0; i < count; ++i) {
    std::string_view word = next_field(rest);
    // Drop the syntactic marker of an adjective, for example "(ip)" in "galore(ip)".
    word = word.substr(0, word.find('('));
    if (i > 0) entry.words += ' ';
    for (const char c : word) entry.words += c == '_' ? ' ' : c;
    next_field(rest);
  }
  entry.gloss = trimmed_line(line.substr(bar + 3));
  return entry;
}

}  // namespace

void for_each_synset(const std::string& folder,
                     const std::function<void(const WordNetEntry& entry)>& use) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder + "/data.noun", ignored)) {
    throw IoError(
        fmt::format("{} has no data.noun: the WordNet files are in the Debian package wordnet-base "
                    "(apt install wordnet-base puts them into {})",
                    folder, kWordNetFolder));
  }
  for (const char* part : {"noun", "verb", "adj", "adv"}) {
    const std::string path = fmt::format("{}/data.{}", folder, part);
    for_lines(read_utf8_file(path), [&](std::int64_t number, std::string_view line) {
      // The licence at the beginning of the file is indented.
      if (line.empty() || line.front() == ' ') return;
      use(read_entry(line, fmt::format("{}:{}", path, number)));
    });
  }
}

}  // namespace weft
