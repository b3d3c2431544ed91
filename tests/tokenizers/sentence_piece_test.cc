// The SentencePiece byte-pair tokenizer: training, encoding, decoding, rejected input.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(sentence_piece)
namespace {

using Texts = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

template <class E>
void check_error(const std::function<void()>& run, const std::string& part) {
  BOOST_CHECK_EXCEPTION(run(), E, [&](const E& e) {
    const bool found = std::string(e.what()).find(part) != std::string::npos;
    if (!found) BOOST_TEST_MESSAGE(e.what());
    return found;
  });
}

SentencePieceTokenizer small(const Texts& texts, std::int64_t vocab, const Texts& symbols = {}) {
  return SentencePieceTokenizer::train(
      texts, {.vocab = vocab, .symbols = symbols, .character_coverage = 1});
}

BOOST_AUTO_TEST_CASE(pairs_are_merged_by_frequency) {
  // "_" denotes a space. The pair counts are lo 6 (5 in low, 1 in lot), ow 5 and _l 6. Ties are
  // resolved by character order, so the merges are lo, then _lo (6), then _low (5).
  const auto tokenizer = small({"low low low low low lot"}, 7 + 5 + 3);
  BOOST_TEST(tokenizer.piece(7) == "lo");
  BOOST_TEST(tokenizer.piece(8) == "\u2581lo");
  BOOST_TEST(tokenizer.piece(9) == "\u2581low");
  BOOST_TEST(tokenizer.pieces("low lot  wo\n") ==
                 (Texts{"\u2581low", "\u2581lo", "t", "\u2581", "w", "o"}),
             boost::test_tools::per_element());
  BOOST_TEST(tokenizer.vocab_size() == 15);
}

// Splits a word according to the definition. Each step merges the two adjacent parts that together
// form the best piece, which is the one with the smallest id. Of several such pairs, the leftmost
// is merged. The word is complete when no adjacent parts form a piece.
Texts pieces_by_definition(const SentencePieceTokenizer& tokenizer, const std::string& word) {
  Texts parts = {"\u2581"};
  for (const char c : word) parts.emplace_back(1, c);
  for (;;) {
    std::size_t best = parts.size();
    std::int32_t best_id = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const std::int32_t id = tokenizer.find(parts[i] + parts[i + 1]);
      if (id < 0 || (best < parts.size() && id >= best_id)) continue;
      best = i;
      best_id = id;
    }
    if (best == parts.size()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

BOOST_AUTO_TEST_CASE(words_are_split_according_to_the_definition) {
  std::mt19937 random(8);
  const auto word = [&](std::size_t letters) {
    std::string text;
    for (std::size_t n = 1 + random() % 9; n > 0; --n)
      text += static_cast<char>('a' + random() % letters);
    return text;
  };
  for (const std::size_t letters : {1, 2, 3, 5}) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += word(letters) + " ";
    const auto tokenizer = small({text}, static_cast<std::int64_t>(7 + letters + 1 + 6 * letters));
    for (int i = 0; i < 300; ++i) {
      const std::string some = word(letters);
      BOOST_TEST(tokenizer.pieces(some) == pieces_by_definition(tokenizer, some),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(special_ids_come_first_and_no_text_encodes_to_them) {
  const auto tokenizer = small({"[MASK] a <pad> [MASK] <pad>"}, 25);
  BOOST_TEST((Ids{tokenizer.pad_id(), tokenizer.unk_id(), tokenizer.bos_id(), tokenizer.eos_id(),
                  tokenizer.cls_id(), tokenizer.sep_id(), tokenizer.mask_id()}) ==
                 (Ids{0, 1, 2, 3, 4, 5, 6}),
             boost::test_tools::per_element());
  for (const std::int32_t id : tokenizer.encode("[MASK] <pad>")) {
    BOOST_TEST(!tokenizer.is_special(id));
    BOOST_TEST(id > 6);
  }
  BOOST_TEST(tokenizer.is_special(6));
  BOOST_TEST(tokenizer.decode(Ids{4, tokenizer.find("a"), 5}) == "a");
}

BOOST_AUTO_TEST_CASE(texts_round_trip_except_for_repeated_spaces) {
  const auto tokenizer = small({"the cat sat on the mat; 日本 the 1234 cats 12 \u00e9t\u00e9"}, 33);
  for (const std::string text : {"the cat", "mat; 12 cats", "日本 the", "", "tttt", "été"}) {
    BOOST_TEST(tokenizer.decode(tokenizer.encode(text)) == text);
  }
  BOOST_TEST(tokenizer.decode(tokenizer.encode("  the\t\tcat \n")) == "the cat");
  BOOST_TEST(tokenizer.encode(" \n").empty());
}

BOOST_AUTO_TEST_CASE(texts_round_trip_exactly_if_whitespace_is_kept) {
  const Texts texts = {"To be,  or not\n\tto be;\n\n that is\r\n the question. 日本 \u00e9"};
  const auto tokenizer = SentencePieceTokenizer::train(
      texts, {.vocab = 60, .character_coverage = 1, .keep_whitespace = true});
  const auto again = SentencePieceTokenizer::from_bytes(tokenizer.to_bytes());
  BOOST_TEST(again.to_bytes() == tokenizer.to_bytes());
  for (const std::string& text : Texts{texts.front(), "", "to  be ", " \n not\n", "  "}) {
    BOOST_TEST(tokenizer.decode(tokenizer.encode(text)) == text);
    BOOST_TEST(tokenizer.encode(text) == again.encode(text), boost::test_tools::per_element());
  }
  // No piece begins with more than one space, except for pieces that consist only of spaces.
  for (std::int32_t id = 7; id < tokenizer.vocab_size(); ++id)
    BOOST_TEST((tokenizer.piece(id).rfind("\u2581") + 1 <= 1));
}

BOOST_AUTO_TEST_CASE(no_leading_space_is_added_to_a_continued_text) {
  const Texts texts = {"other mother brother other mother"};
  for (const bool keep : {false, true}) {
    const auto tokenizer = SentencePieceTokenizer::train(
        texts, {.vocab = 30, .character_coverage = 1, .keep_whitespace = keep});
    Ids ids = tokenizer.encode("mo");
    for (const std::int32_t id : tokenizer.encode("ther other", TextPlace::middle))
      ids.push_back(id);
    BOOST_TEST(tokenizer.decode(ids) == "mother other");
    BOOST_TEST(tokenizer.encode(" other", TextPlace::middle) == tokenizer.encode("other"),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_vocabulary_size_is_limited_by_the_text) {
  BOOST_TEST(small({"low low"}, 10000).vocab_size() == 14);
  BOOST_TEST(small({"low low"}, 13).vocab_size() == 13);
}

BOOST_AUTO_TEST_CASE(adjacent_unknown_characters_are_encoded_as_one_id) {
  const auto tokenizer = small({"aa ab ab"}, 12);
  const Ids ids = tokenizer.encode("aXYZa");
  BOOST_TEST(std::count(ids.begin(), ids.end(), tokenizer.unk_id()) == 1);
  BOOST_TEST(tokenizer.decode(ids) == "a\u2047a");
  BOOST_TEST(tokenizer.pieces("aXYZa")[1] == "XYZ");
}

BOOST_AUTO_TEST_CASE(character_coverage_drops_the_rarest_characters) {
  const Texts texts = {"aaaaaaaaa aaaaaaaaa z"};
  const auto all = SentencePieceTokenizer::train(texts, {.vocab = 10, .character_coverage = 1});
  const auto most = SentencePieceTokenizer::train(texts, {.vocab = 10, .character_coverage = 0.9});
  BOOST_TEST(all.find("z") >= 0);
  BOOST_TEST(most.find("z") == -1);
}

BOOST_AUTO_TEST_CASE(pieces_contain_one_character_class_from_one_word) {
  const auto tokenizer = small(Texts(50, "win 100 win 100 win100! win100! in win in win"), 21);
  for (std::int32_t id = 7; id < tokenizer.vocab_size(); ++id) {
    const std::string& piece = tokenizer.piece(id);
    BOOST_TEST((piece.find_first_of("win") == std::string::npos ||
                piece.find_first_of("10!") == std::string::npos));
    BOOST_TEST((piece.rfind("\u2581") == std::string::npos || piece.rfind("\u2581") == 0u));
  }
  BOOST_TEST(tokenizer.pieces("win100!") == (Texts{"\u2581win", "100", "!"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(user_symbols_are_encoded_as_one_id_at_any_position) {
  const auto tokenizer = small({"a <en> b <en>x", "<en><sv>"}, 13, {"<en>", "<sv>"});
  BOOST_TEST(tokenizer.piece(7) == "<en>");
  BOOST_TEST(tokenizer.pieces("x<sv>x <en>")[2] == "<sv>");
  BOOST_TEST(tokenizer.find("<") == -1);  // user symbols are excluded from training
  BOOST_TEST(!tokenizer.is_special(7));
  BOOST_TEST(tokenizer.is_word_start(7));
}

BOOST_AUTO_TEST_CASE(words_start_with_a_space) {
  const auto tokenizer = small({"low low lower lower"}, 18);
  const Ids ids = tokenizer.encode("lower");
  BOOST_TEST(tokenizer.is_word_start(ids.front()));
  for (std::size_t i = 1; i < ids.size(); ++i) BOOST_TEST(!tokenizer.is_word_start(ids[i]));
  BOOST_TEST(tokenizer.is_word_start(tokenizer.cls_id()));
}

BOOST_AUTO_TEST_CASE(serialised_tokenizers_round_trip_and_training_is_deterministic) {
  const Texts texts = {"a rose is a rose is a rose", "roses are red, 12 of them"};
  const auto tokenizer = small(texts, 30, {"<x>"});
  const std::string bytes = tokenizer.to_bytes();
  BOOST_TEST(bytes == small(texts, 30, {"<x>"}).to_bytes());
  const auto again = SentencePieceTokenizer::from_bytes(bytes);
  BOOST_TEST(again.to_bytes() == bytes);
  BOOST_TEST(again.mask_id() == 6);
  const std::string text = "roses <x> is red ? 1";
  BOOST_TEST(again.encode(text) == tokenizer.encode(text), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(damaged_files_are_rejected) {
  const std::string bytes = small({"a rose is a rose is a rose"}, 20).to_bytes();
  const auto load = [](const std::string& b) { SentencePieceTokenizer::from_bytes(b); };
  check_error<FormatError>([&] { load(""); }, "no pieces");
  check_error<FormatError>([&] { load("hello"); }, "not a SentencePiece model");
  // For every truncation and every changed byte, loading either fails with an error or returns a
  // tokenizer; it never crashes.
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const std::string& hostile :
         {bytes.substr(0, i), bytes.substr(0, i) + '\xFF' + bytes.substr(i + 1)}) {
      try {
        SentencePieceTokenizer::from_bytes(hostile).encode("a rose is a dog");
      } catch (const FormatError&) {
      }
    }
  }
  std::string twice = bytes;
  twice.replace(twice.find("[SEP]"), 5, "[CLS]");
  check_error<FormatError>([&] { load(twice); }, "pieces 4 and 5 are both '[CLS]'");
  std::string not_text = bytes;
  not_text.replace(not_text.find("[SEP]"), 5, "[\xFF\xFF\xFF]");
  check_error<FormatError>([&] { load(not_text); }, "piece 5 is not UTF-8");
}

BOOST_AUTO_TEST_CASE(invalid_options_and_texts_are_rejected) {
  check_error<ArgumentError>([] { small({"abc"}, 9); },
                             "vocab 9 is too small: the text has 4 characters, and there are 7");
  check_error<ArgumentError>([] { small({"abc"}, 20, {"<a b>"}); },
                             "symbols must not be empty or contain spaces: '<a b>'");
  check_error<ArgumentError>([] { small({"abc"}, 20, {"[MASK]"}); }, "'[MASK]' is already a piece");
  check_error<ArgumentError>(
      [] { SentencePieceTokenizer::train(Texts{"a"}, {.character_coverage = 0}); },
      "character_coverage must be in (0, 1], not 0");
  check_error<FormatError>([] { small({"a\xFF"}, 20); }, "not UTF-8");
  const auto tokenizer = small({"a a"}, 10);
  check_error<FormatError>([&] { tokenizer.encode("\xC3"); }, "not UTF-8");
  check_error<DataError>([&] { tokenizer.decode(Ids{99}); },
                         "token id 99 is outside the vocabulary [0, 10)");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
