// The common tokenizer interface of all text models: ids, files, folders, and streaming one id at a
// time.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/text_stream.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(tokenizer_kinds)
namespace {

using Ids = std::vector<std::int32_t>;

const std::string kText = "The quick brown fox\njumps over the lazy dog. The fox, the dog: é 日本";

Tokenizer characters() { return CharacterTokenizer::from_text(kText); }
Tokenizer pieces(bool keep_whitespace = true) {
  return SentencePieceTokenizer::train(
      std::vector<std::string>{kText},
      {.vocab = 70, .character_coverage = 1, .keep_whitespace = keep_whitespace});
}

BOOST_AUTO_TEST_CASE(all_tokenizer_types_round_trip_through_bytes) {
  for (const Tokenizer& tokenizer : {characters(), characters().with_ends(), pieces()}) {
    BOOST_TEST_CONTEXT(tokenizer.type()) {
      const Tokenizer again = Tokenizer::from_bytes(tokenizer.type(), tokenizer.bytes());
      BOOST_TEST(again.type() == tokenizer.type());
      BOOST_TEST(again.bytes() == tokenizer.bytes());
      BOOST_TEST(again.vocab_size() == tokenizer.vocab_size());
      BOOST_TEST((again.special() == tokenizer.special()));
      BOOST_TEST(again.encode(kText) == tokenizer.encode(kText), boost::test_tools::per_element());
      BOOST_TEST(again.decode(again.encode(kText)) == kText);
      std::string together;
      for (const std::string& piece : tokenizer.pieces(kText)) together += piece;
      BOOST_TEST(together.size() >= kText.size());
      for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id)
        BOOST_TEST(tokenizer.find(tokenizer.piece(id)) == id);
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_name_unknown_types_and_ids) {
  BOOST_CHECK_EXCEPTION(Tokenizer::from_bytes("weft.tokenizer.words", ""), FormatError,
                        [](const Error& e) {
                          return std::string(e.what()) ==
                                 "unknown tokenizer type 'weft.tokenizer.words'; known types are "
                                 "'weft.tokenizer.character' and 'weft.tokenizer.sentence_piece' "
                                 "and 'weft.tokenizer.subword'";
                        });
  for (const Tokenizer& tokenizer : {characters(), characters().with_ends(), pieces()}) {
    for (const std::int64_t id :
         {std::int64_t{-1}, tokenizer.vocab_size(), std::int64_t{1} << 32}) {
      BOOST_CHECK_THROW(tokenizer.piece(id), DataError);
      BOOST_CHECK_THROW(tokenizer.decode(std::vector<std::int64_t>{id}), DataError);
    }
    BOOST_CHECK_THROW(tokenizer.is_special(-1), DataError);
    BOOST_CHECK_THROW(tokenizer.is_word_start(static_cast<std::int32_t>(tokenizer.vocab_size())),
                      DataError);
  }
}

BOOST_AUTO_TEST_CASE(character_tokenizers_reserve_the_first_ids_for_padding_and_end) {
  const Tokenizer plain = characters(), closed = plain.with_ends();
  BOOST_TEST(plain.pad_id() == -1);
  BOOST_TEST(closed.pad_id() == 0);
  BOOST_TEST(closed.eos_id() == 1);
  BOOST_TEST(closed.vocab_size() == plain.vocab_size() + 2);
  Ids shifted = plain.encode("fox");
  for (std::int32_t& id : shifted) id += 2;
  BOOST_TEST(closed.encode("fox") == shifted, boost::test_tools::per_element());
  shifted.push_back(1);
  BOOST_TEST(closed.with_ends().encode_to_end("fox") == shifted, boost::test_tools::per_element());
  BOOST_TEST(closed.decode(Ids{0, shifted[0], 1}) == "f");
  BOOST_TEST(closed.piece(0) == "<pad>");
  BOOST_TEST(closed.find("</s>") == 1);
  BOOST_TEST(plain.find("</s>") == -1);
  BOOST_TEST(plain.find("fo") == -1);
  BOOST_CHECK_THROW(plain.encode_to_end("fox"), ArgumentError);
}

BOOST_AUTO_TEST_CASE(generation_starts_from_a_line_break_if_the_vocabulary_has_one) {
  BOOST_TEST(characters().decode(characters().start_ids()) == "\n");
  BOOST_TEST(pieces().decode(pieces().start_ids()) == "\n");
  // If the vocabulary has no line break, generation starts from the beginning-of-text id, if there
  // is one, and otherwise from the first id that has a text.
  BOOST_TEST(pieces(false).start_ids() == Ids{pieces(false).bos_id()},
             boost::test_tools::per_element());
  const Tokenizer letters = CharacterTokenizer::from_text("éz");
  BOOST_TEST(letters.start_ids() == Ids{0}, boost::test_tools::per_element());
  BOOST_TEST(letters.with_ends().start_ids() == Ids{2}, boost::test_tools::per_element());
  BOOST_CHECK_THROW(Tokenizer().start_ids(), ArgumentError);
}

/// Returns the pieces of text that a stream returns for each id and at the end.
std::vector<std::string> streamed(TextStream stream, const std::vector<std::int64_t>& ids) {
  std::vector<std::string> parts;
  for (const std::int64_t id : ids) parts.push_back(stream.add(id));
  parts.push_back(stream.finish());
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

BOOST_AUTO_TEST_CASE(streaming_one_id_at_a_time_gives_the_same_text) {
  for (const Tokenizer& tokenizer : {characters(), pieces(), pieces(false)}) {
    const Ids ids = tokenizer.encode(kText);
    const std::vector<std::int64_t> wide(ids.begin(), ids.end());
    const std::string all = tokenizer.decode(ids);
    BOOST_TEST(joined(streamed(TextStream(tokenizer), wide)) == all);
    // This also holds after a prompt of any length: the space before a word is kept.
    for (std::size_t cut = 1; cut < wide.size(); ++cut) {
      const auto middle = wide.begin() + static_cast<std::ptrdiff_t>(cut);
      const std::vector<std::int64_t> prompt(wide.begin(), middle), rest(middle, wide.end());
      BOOST_TEST(tokenizer.decode(prompt) + joined(streamed(TextStream(tokenizer, prompt), rest)) ==
                 all);
    }
  }
}

/// Decodes ids that represent bytes. If `replaced`, an incomplete character at the end is replaced
/// by U+FFFD; otherwise its bytes are returned.
std::string decode_bytes(std::span<const std::int32_t> ids, bool replaced) {
  std::string text;
  for (const std::int32_t id : ids) text += static_cast<char>(id);
  if (const std::size_t rest = unfinished_bytes(text); replaced && rest > 0)
    text.replace(text.size() - rest, rest, "\uFFFD");
  return text;
}

BOOST_AUTO_TEST_CASE(streams_return_only_complete_characters) {
  const std::string text = "aé日𝄞b𝄞";
  std::vector<std::int64_t> bytes;
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  for (const bool replaced : {false, true}) {
    const auto decode = [=](std::span<const std::int32_t> ids) {
      return decode_bytes(ids, replaced);
    };
    BOOST_TEST(streamed(TextStream(decode), bytes) ==
                   (std::vector<std::string>{"a", "", "é", "", "", "日", "", "", "", "𝄞", "b", "",
                                             "", "", "𝄞", ""}),
               boost::test_tools::per_element());
    // An incomplete character is returned at the end of the stream.
    BOOST_TEST(joined(streamed(TextStream(decode), {'a', 0xE6, 0x97})) ==
               (replaced ? "a\uFFFD" : "a\xE6\x97"));
  }
}

BOOST_AUTO_TEST_CASE(unfinished_bytes_returns_the_size_of_an_incomplete_character) {
  for (const std::string whole : {"", "a", "aé", "日", "𝄞"})
    BOOST_TEST(unfinished_bytes(whole) == 0U);
  for (const std::string character : {"é", "日", "𝄞"}) {
    for (std::size_t size = 1; size < character.size(); ++size)
      BOOST_TEST(unfinished_bytes("ab" + character.substr(0, size)) == size);
  }
  BOOST_TEST(unfinished_bytes("\x97\x97\x97\x97") == 0U);
}

BOOST_AUTO_TEST_CASE(tokenizers_are_read_from_folders_and_errors_list_the_files) {
  const TextFiles files("tokenizer_folder");
  const auto read = [&](const std::string& folder) {
    return read_tokenizer_folder(files.path(folder));
  };
  files.write("good/tokenizer.model", pieces().bytes());
  BOOST_TEST(read("good").tokenizer.value().bytes() == pieces().bytes());

  const auto missing = [&](const std::string& folder, const std::string& part) {
    const FolderTokenizer found = read(folder);
    BOOST_TEST(!found.tokenizer.has_value());
    BOOST_TEST_CONTEXT(found.missing) { BOOST_TEST(found.missing.find(part) != std::string::npos); }
  };
  files.write("none/config.json", "{}");
  missing("none",
          "none has no tokenizer: it contains none of tokenizer.json, vocab.json with merges.txt");
  files.write("json/tokenizer.json", R"({"model": {"type": "BPE"}})");
  files.write("json/vocab.txt", "[UNK]\n");
  missing("json", "json: tokenizer.json.model lacks 'vocab'");
  files.write("broken/spiece.model", "nonsense");
  missing("broken", "broken: spiece.model: not a SentencePiece model");

  files.write("words/vocab.txt", "[PAD]\n[UNK]\nun\n##der\n[CLS]\n[SEP]\n");
  const Tokenizer words = read("words").tokenizer.value();
  BOOST_TEST(words.encode("Under UN x") == (Ids{2, 3, 2, 1}), boost::test_tools::per_element());
  BOOST_TEST(words.pad_id() == 0);
  BOOST_TEST(words.unk_id() == 1);
  files.write("cased/vocab.txt", "[PAD]\n[UNK]\nun\n");
  files.write("cased/tokenizer_config.json", R"({"do_lower_case": false})");
  files.write("cased/added_tokens.json", R"({"<x>": 3})");
  const Tokenizer cased = read("cased").tokenizer.value();
  BOOST_TEST(cased.encode("un UN<x>") == (Ids{2, 1, 3}), boost::test_tools::per_element());

  files.write("pairs/vocab.json", R"({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "<s>": 4})");
  files.write("pairs/merges.txt", "#version: 0.2\na b\n");
  files.write("pairs/special_tokens_map.json", R"({"bos_token": {"content": "<s>"}})");
  const Tokenizer pairs = read("pairs").tokenizer.value();
  BOOST_TEST(pairs.encode("abb a") == (Ids{2, 1, 3, 0}), boost::test_tools::per_element());
  BOOST_TEST(pairs.bos_id() == 4);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
