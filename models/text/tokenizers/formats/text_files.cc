#include "weft/models/text/tokenizers/formats/text_files.h"

#include <fmt/format.h>

#include <memory>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/decoders/decoders.h"
#include "weft/models/text/tokenizers/formats/forms.h"
#include "weft/models/text/tokenizers/normalizers/bert.h"
#include "weft/models/text/tokenizers/post_processors/fixed_templates.h"
#include "weft/models/text/tokenizers/post_processors/template_processing.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/pre_tokenizers/words.h"
#include "weft/models/text/tokenizers/subwords/bpe.h"
#include "weft/models/text/tokenizers/subwords/word_pieces.h"
#include "weft/models/text/unicode/properties.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";
constexpr const char* kUnknown = "[UNK]";

/// Calls `visit` for every line, without its line break.
template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
  }
}

void check_utf8(std::string_view text, std::string_view what) {
  if (const std::size_t at = find_invalid_utf8(text); at < text.size())
    throw FormatError(fmt::format("{} is not UTF-8 at byte {}", what, at));
}

AddedToken special_token(std::string_view content, std::int32_t id) {
  AddedToken token;
  token.id = id;
  token.content = content;
  token.normalized = false;
  token.special = true;
  return token;
}

/// Returns the templates [CLS] A [SEP] and [CLS] A [SEP] B [SEP].
PostProcessorPtr bert_template(std::int32_t cls, std::int32_t sep) {
  using post_processors::TemplatePiece;
  const TemplatePiece front{false, "[CLS]", 0}, first{true, "A", 0}, middle{false, "[SEP]", 0},
      second{true, "B", 1}, back{false, "[SEP]", 1};
  return std::make_shared<const post_processors::Template>(
      post_processors::Template::Pieces{front, first, middle},
      post_processors::Template::Pieces{front, first, middle, second, back},
      post_processors::Template::Tokens{{"[CLS]", {"[CLS]", {cls}, {"[CLS]"}}},
                                        {"[SEP]", {"[SEP]", {sep}, {"[SEP]"}}}});
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_merges(std::string_view text) {
  check_utf8(text, "merges.txt");
  std::vector<std::pair<std::string, std::string>> merges;
  std::size_t number = 0;
  for_each_line(text, [&](std::string_view line) {
    ++number;
    if (line.empty() || line.starts_with("#version")) return;
    merges.push_back(
        split_merge(line, [&] { return fmt::format("line {} of merges.txt", number); }));
  });
  return merges;
}

SubwordParts read_gpt2_files(std::string_view vocab_json, std::string_view merges_txt,
                             const Gpt2Settings& settings) {
  Vocabulary vocabulary = read_vocabulary(vocab_json, "vocab.json");
  SubwordParts parts;
  if (const std::int32_t id = vocabulary.find(kEndOfText); id >= 0)
    parts.added.push_back(special_token(kEndOfText, id));
  parts.model = std::make_shared<const subwords::Bpe>(
      std::move(vocabulary), read_merges(merges_txt), subwords::Bpe::Settings(), true);
  const pre_tokenizers::ByteLevel::Settings bytes{.add_prefix_space = settings.add_prefix_space,
                                                  .trim_offsets = false};
  parts.pre_tokenizer = std::make_shared<const pre_tokenizers::ByteLevel>(bytes);
  parts.post_processor = std::make_shared<const post_processors::ByteLevel>(bytes);
  parts.decoder = std::make_shared<const decoders::ByteLevel>();
  return parts;
}

SubwordParts read_bert_files(std::string_view vocab_txt, const BertSettings& settings) {
  check_utf8(vocab_txt, "vocab.txt");
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  std::int32_t id = 0;
  for_each_line(vocab_txt, [&](std::string_view line) {
    while (!line.empty()) {
      const char32_t last = character_before(line, line.size());
      if (!is_white_space(last)) break;
      line.remove_suffix(encoded_size(last));
    }
    if (!line.empty()) pieces.emplace_back(line, id);
    ++id;
  });
  Vocabulary vocabulary(pieces);
  if (vocabulary.find(kUnknown) < 0)
    throw FormatError(fmt::format("vocab.txt lacks '{}'", kUnknown));
  SubwordParts parts;
  for (const std::string_view name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (const std::int32_t found = vocabulary.find(name); found >= 0)
      parts.added.push_back(special_token(name, found));
  }
  const std::int32_t cls = vocabulary.find("[CLS]"), sep = vocabulary.find("[SEP]");
  if (cls >= 0 && sep >= 0) parts.post_processor = bert_template(cls, sep);
  parts.normalizer = std::make_shared<const normalizers::Bert>(
      normalizers::Bert::Settings{.handle_chinese_chars = settings.tokenize_chinese_chars,
                                  .strip_accents = settings.strip_accents,
                                  .lowercase = settings.lowercase});
  parts.pre_tokenizer = std::make_shared<const pre_tokenizers::Bert>();
  parts.model = std::make_shared<const subwords::WordPiece>(std::move(vocabulary), kUnknown);
  parts.decoder = std::make_shared<const decoders::WordPiece>();
  return parts;
}

}  // namespace weft
