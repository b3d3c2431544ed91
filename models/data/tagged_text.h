// Sentences with a tag for every word: files as CoNLL's tasks have them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A tag of the BIO scheme: "B-person" begins a span of persons, "I-person" goes on with it, "O" is
/// outside of all spans.
struct BioTag {
  char part = 'O';             // 'B', 'I' or 'O'
  std::string_view type = {};  // "person"; empty where the part is 'O'
};
/// Nothing where it is no such tag. The type is a view of `tag`.
std::optional<BioTag> parse_bio_tag(std::string_view tag);

/// A sentence whose words have tags.
struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;  // as many
};

/// Bytes [begin, end) of a text that are a word.
struct WordPlace {
  std::size_t begin = 0, end = 0;
};
/// What stands between blanks.
std::vector<WordPlace> words_between_blanks(std::string_view text);

/// A word of a text (bytes [begin, end) of it), the likeliest of its tags, and how likely that is.
struct TaggedWord {
  std::size_t begin = 0, end = 0;
  std::string tag = {};
  double score = 0;
};
/// What tags of words that follow each other mark together: a name, say.
struct TaggedSpan {
  std::string type;
  std::size_t begin = 0, end = 0;  // bytes of the text
  double score = 0;                // the mean of its words'
};
/// Sentences and the tags that occur in them.
struct TaggedText {
  std::vector<TaggedWord> words;
  std::vector<TaggedSpan> spans;
};
/// The spans of a text's words. A span begins with a "B-" (also "S-" and "U-", which are of one
/// word), goes on with what follows of its type, and ends behind an "E-" or "L-"; what goes on
/// without a span of its type in front begins one. A tag without such a letter is a type that goes
/// on; "O" is outside of all.
std::vector<TaggedSpan> spans_of(std::span<const TaggedWord> words);

/// Reads files of lines "word <tab> tag"; a blank line ends a sentence, and so does the end of a
/// file. Where a line has no tab, blanks stand between its columns. Of more columns the first is
/// the word and the last the tag; lines whose word is "-DOCSTART-" only part documents. Lines end
/// in a line feed; a carriage return in front of it is dropped. Throws IoError; FormatError with
/// file and line for a line without a tag or without a word and for a tag that is not of the BIO
/// scheme, with the file's name for one without any sentence.
std::vector<TaggedSentence> read_tagged_text(std::span<const std::string> paths);

/// "O", and "B-" and "I-" of every type in the sentences, in alphabetical order.
std::vector<std::string> tags_of(std::span<const TaggedSentence> sentences);

/// Sentences to learn from, and those that validate.
struct TaggedSplit {
  std::vector<TaggedSentence> train, held_out;
};
/// round(fraction * n) of the n sentences are held out, one at least where the fraction is not 0
/// and one is left to train on; chosen by `seed`, both parts in their old order. Throws
/// ArgumentError unless 0 <= fraction < 1.
TaggedSplit split_sentences(std::vector<TaggedSentence> sentences, double fraction,
                            std::uint64_t seed);

}  // namespace weft
