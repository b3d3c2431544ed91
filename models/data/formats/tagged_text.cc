#include "weft/models/data/formats/tagged_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

constexpr std::string_view kDocumentStart = "-DOCSTART-";

struct Columns {
  std::string_view first, last;
};

/// Returns the trimmed first and last column of a non-blank line. Throws FormatError with the name
/// of the missing part.
Columns columns_of(std::string_view line) {
  // If columns are separated by tabs, the first column may be empty, so leading blanks are kept.
  const bool tabs = line.find('\t') != std::string_view::npos;
  if (!tabs) line = trimmed_line(line);
  const std::string_view between = tabs ? "\t" : " ";
  const Columns columns{trimmed_line(line.substr(0, line.find_first_of(between))),
                        trimmed_line(line.substr(line.find_last_of(between) + 1))};
  if (line.find_first_of(between) == std::string_view::npos) {
    throw FormatError(fmt::format("'{}' has no tag: expected a word and a tag separated by a tab",
                                  columns.first));
  }
  if (columns.first.find_first_not_of("\v\f") == std::string_view::npos)
    throw FormatError("there is no word before the tag");
  if (columns.last.empty())
    throw FormatError(fmt::format("the tag of '{}' is empty", columns.first));
  return columns;
}

std::vector<TaggedSentence> read_file(const std::string& path) {
  std::vector<TaggedSentence> sentences;
  bool begins = true;
  for_lines(read_utf8_file(path), [&](std::int64_t number, std::string_view line) {
    if (trimmed_line(line).empty()) {
      begins = true;
      return;
    }
    try {
      const Columns columns = columns_of(line);
      if (columns.first == kDocumentStart) {
        begins = true;
        return;
      }
      if (!parse_bio_tag(columns.last)) {
        throw FormatError(fmt::format("the tag '{}' is not O, B-TYPE or I-TYPE", columns.last));
      }
      if (begins) sentences.emplace_back();
      begins = false;
      sentences.back().words.emplace_back(columns.first);
      sentences.back().tags.emplace_back(columns.last);
    } catch (const FormatError& e) {
      throw FormatError(fmt::format("{}:{}: {}", path, number, e.what()));
    }
  });
  if (sentences.empty()) throw FormatError(fmt::format("{} has no sentences", path));
  return sentences;
}

}  // namespace

std::optional<BioTag> parse_bio_tag(std::string_view tag) {
  if (tag == "O") return BioTag{};
  if (tag.size() < 3 || (tag[0] != 'B' && tag[0] != 'I') || tag[1] != '-') return std::nullopt;
  return BioTag{tag[0], tag.substr(2)};
}

std::vector<TaggedSentence> read_tagged_text(std::span<const std::string> paths) {
  std::vector<TaggedSentence> all;
  for (const std::string& path : paths) {
    for (TaggedSentence& sentence : read_file(path)) all.push_back(std::move(sentence));
  }
  return all;
}

std::vector<std::string> tags_of(std::span<const TaggedSentence> sentences) {
  std::set<std::string> types;
  for (const TaggedSentence& sentence : sentences) {
    for (const std::string& tag : sentence.tags) {
      if (const auto parsed = parse_bio_tag(tag); parsed && parsed->part != 'O')
        types.emplace(parsed->type);
    }
  }
  std::vector<std::string> tags = {"O"};
  for (const std::string& type : types) {
    tags.push_back("B-" + type);
    tags.push_back("I-" + type);
  }
  return tags;
}

TaggedSplit split_sentences(std::vector<TaggedSentence> sentences, double fraction,
                            std::uint64_t seed) {
  const std::vector<bool> held_out = held_out_examples(std::ssize(sentences), fraction, seed);
  TaggedSplit split;
  for (std::size_t i = 0; i < sentences.size(); ++i)
    (held_out[i] ? split.held_out : split.train).push_back(std::move(sentences[i]));
  return split;
}

std::vector<WordPlace> words_between_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  std::vector<WordPlace> words;
  for (std::size_t end, begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;
       begin = text.find_first_not_of(kBlanks, end)) {
    end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back({begin, end});
  }
  return words;
}

std::vector<TaggedSpan> spans_of(std::span<const TaggedWord> words) {
  std::vector<TaggedSpan> spans;
  std::vector<std::size_t> sizes;  // number of words of each span
  bool open = false;
  for (const TaggedWord& word : words) {
    if (word.tag == "O") {
      open = false;
      continue;
    }
    constexpr std::string_view kParts = "BIESULM";
    const bool parted = word.tag.size() > 2 && word.tag[1] == '-' &&
                        kParts.find(word.tag[0]) != std::string_view::npos;
    const char part = parted ? word.tag[0] : 'I';
    const std::string type = parted ? word.tag.substr(2) : word.tag;
    const bool begins = part == 'B' || part == 'S' || part == 'U';
    if (begins || !open || spans.back().type != type) {
      spans.push_back({type, word.begin, word.end, 0});
      sizes.push_back(0);
    }
    spans.back().end = word.end;
    spans.back().score += word.score;
    ++sizes.back();
    open = part != 'E' && part != 'L' && part != 'S' && part != 'U';
  }
  for (std::size_t i = 0; i < spans.size(); ++i) spans[i].score /= static_cast<double>(sizes[i]);
  return spans;
}

}  // namespace weft
