// Long words of BPE models are segmented in independent parts, with the same pieces as the whole.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/subwords/bpe.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(independent_parts)
namespace {

using subwords::Bpe;

const std::string kMark = "\xE2\x96\x81";  // SentencePiece's blank

/// The pieces and merges of a model.
struct Pieces {
  std::vector<std::string> texts;
  Bpe::Merges merges;

  void merge(const std::string& left, const std::string& right) {
    merges.emplace_back(left, right);
    if (std::find(texts.begin(), texts.end(), left + right) == texts.end())
      texts.push_back(left + right);
  }
};

Bpe model_of(const Pieces& pieces, const Bpe::Settings& settings, bool takes_bytes = false) {
  std::vector<std::pair<std::string_view, std::int32_t>> entries;
  for (const std::string& text : pieces.texts)
    entries.emplace_back(text, static_cast<std::int32_t>(entries.size()));
  return Bpe(Vocabulary(entries), pieces.merges, settings, takes_bytes);
}

using Found = std::vector<std::pair<std::int32_t, std::uint32_t>>;  // ids and ends

/// Segments a text as a whole, or part by part, and returns the number of parts.
std::size_t segment(const Bpe& model, std::string_view text, bool whole, Found& found) {
  std::size_t parts = 0;
  for (std::size_t begin = 0; begin < text.size(); ++parts) {
    const std::string_view rest = text.substr(begin);
    const std::size_t size = whole ? rest.size() : model.independent_size(rest);
    std::vector<SubwordSpan> spans;
    model.segment(rest.substr(0, size), spans);
    for (const SubwordSpan& span : spans)
      found.emplace_back(span.id, span.end + static_cast<std::uint32_t>(begin));
    begin += size;
  }
  return parts;
}

std::size_t check_parts(const Bpe& model, const std::string& text) {
  Found whole, parts;
  segment(model, text, true, whole);
  const std::size_t count = segment(model, text, false, parts);
  BOOST_TEST_CONTEXT(text) BOOST_TEST((whole == parts));
  return count;
}

BOOST_AUTO_TEST_CASE(parts_have_the_same_pieces_as_the_whole_text) {
  const std::vector<std::string> characters = {"a", "b", "c", kMark, "\xC3\xA9", "."};
  std::mt19937 random(1);
  const auto below = [&](std::size_t end) { return random() % end; };
  std::size_t parts = 0;
  for (int model_number = 0; model_number < 200; ++model_number) {
    Pieces pieces{characters, {}};
    const bool has_bytes = below(2) == 0;
    if (has_bytes) {
      for (unsigned byte = 0; byte < 256; ++byte)
        pieces.texts.push_back(byte_piece(static_cast<unsigned char>(byte)));
    }
    pieces.texts.emplace_back("<unk>");
    std::vector<std::string> known = characters;
    for (std::size_t i = 0, count = below(12); i < count; ++i) {
      const std::string left = known[below(known.size())], right = known[below(known.size())];
      pieces.merge(left, right);
      known.push_back(left + right);
    }
    const Bpe model = model_of(
        pieces,
        {.unknown_token = below(3) == 0 ? std::nullopt : std::optional<std::string>("<unk>"),
         .fuse_unknown = below(2) == 0,
         .byte_fallback = has_bytes});
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (std::size_t size = 1 + below(60); size > 0; --size) {
        const std::size_t choice = below(characters.size() + 2);
        text += choice < characters.size()    ? characters[choice]
                : choice == characters.size() ? "z"
                                              : "\xE4\xB8\xAD";
      }
      parts += check_parts(model, text);
    }
  }
  BOOST_TEST(parts > 20'000);
}

BOOST_AUTO_TEST_CASE(words_of_sentence_piece_vocabularies_are_parts) {
  Pieces pieces{{"a", "b", kMark, "<unk>"}, {}};
  pieces.merge(kMark, "a");
  pieces.merge("a", "b");
  pieces.merge(kMark, kMark);
  const std::string text = kMark + kMark + "ab" + kMark + "ab" + kMark + "b";
  BOOST_TEST(check_parts(model_of(pieces, {}), text) == 4);  // "b" and a blank are never joined
  // A piece with a blank inside joins both words.
  pieces.merge("b", kMark);
  BOOST_TEST(check_parts(model_of(pieces, {}), text) == 2);
  // Unknown characters are fused with their neighbours.
  const Bpe fused = model_of(pieces, {.unknown_token = "<unk>", .fuse_unknown = true});
  BOOST_TEST(fused.independent_size("azzb") == 4);
  BOOST_TEST(fused.independent_size("ba") == 1);
  // A part of a word may differ from the whole.
  for (const Bpe::Settings& settings :
       {Bpe::Settings{.ignore_merges = true}, Bpe::Settings{.suffix = "</w>"},
        Bpe::Settings{.prefix = "##"}})
    BOOST_TEST(model_of({{"a", "b", kMark, "<unk>"}, {}}, settings).independent_size(text) ==
               text.size());
}

BOOST_AUTO_TEST_CASE(words_of_bytes_are_parts) {
  // "\u0120" spells a space in GPT-2's alphabet, and "\u00e4" the first byte of a character.
  Pieces pieces{{"a", "b", "\xC4\xA0", "\xC3\xA4"}, {}};
  pieces.merge("a", "b");
  const Bpe model = model_of(pieces, {}, true);
  BOOST_TEST(model.takes_bytes());
  BOOST_TEST(model.independent_size("ab a") == 2);
  BOOST_TEST(check_parts(model, "ab abab\xE4 a") == 7);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
