// Sentences with one tag per word, in the file format of the CoNLL shared tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A tag of the BIO scheme: "B-person" begins a span of type person, "I-person" continues it, and
/// "O" is outside all spans.
struct BioTag {
  char part = 'O';             // 'B', 'I' or 'O'
  std::string_view type = {};  // such as "person"; empty for 'O'
};
/// Parses a tag. Returns std::nullopt if it is not a BIO tag. The type is a view into `tag`.
std::optional<BioTag> parse_bio_tag(std::string_view tag);

/// A sentence with a tag for each word.
struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;  // one per word
};

/// A word, which consists of the bytes [begin, end) of a text.
struct WordPlace {
  std::size_t begin = 0, end = 0;
};
/// Returns the words of a text that are separated by whitespace.
std::vector<WordPlace> words_between_blanks(std::string_view text);

/// A word of a text (bytes [begin, end)) with its most likely tag and the probability of that tag.
struct TaggedWord {
  std::size_t begin = 0, end = 0;
  std::string tag = {};
  double score = 0;
};
/// A span of consecutive words that form a unit according to their tags, such as a name.
struct TaggedSpan {
  std::string type;
  std::size_t begin = 0, end = 0;  // byte offsets in the text
  double score = 0;                // mean score of the words
};
/// The tagged words of a text, and the spans that they form.
struct TaggedText {
  std::vector<TaggedWord> words;
  std::vector<TaggedSpan> spans = {};
};
/// Returns the spans that are formed by the tags of the words. A span begins with a "B-" tag,
/// continues with the following tags of its type, and ends after an "E-" or "L-" tag. "S-" and "U-"
/// tags mark a span of one word. A continuation without a preceding span of its type begins a new
/// span. A tag without a prefix is a continuation, with the tag itself as the type. "O" is outside
/// all spans.
std::vector<TaggedSpan> spans_of(std::span<const TaggedWord> words);

/// Reads files with lines "word <tab> tag". A blank line or the end of a file ends a sentence. In
/// lines without a tab, columns are separated by spaces. If there are more than two columns, the
/// first column is the word and the last column is the tag. Lines with the word "-DOCSTART-" only
/// separate documents. Lines end with a line feed; a carriage return before the line feed is
/// dropped. Throws IoError. Throws FormatError with file and line if a line has no tag or no word,
/// or if a tag is not in the BIO scheme. Throws FormatError with the file name if a file has no
/// sentences.
std::vector<TaggedSentence> read_tagged_text(std::span<const std::string> paths);

/// Returns "O", followed by "B-" and "I-" tags for every type in the sentences, in alphabetical
/// order.
std::vector<std::string> tags_of(std::span<const TaggedSentence> sentences);

/// Training sentences and held-out sentences.
struct TaggedSplit {
  std::vector<TaggedSentence> train, held_out;
};
/// Holds out round(fraction * n) of the n sentences. If the fraction is not 0 and n is at least 2,
/// at least one sentence is held out and at least one remains for training. The sentences are
/// selected at random with `seed`. The original order is kept in both parts. Throws ArgumentError
/// unless 0 <= fraction < 1.
TaggedSplit split_sentences(std::vector<TaggedSentence> sentences, double fraction,
                            std::uint64_t seed);

}  // namespace weft
