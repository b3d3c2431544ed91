// Trains BPE, WordPiece and word-level tokenizers and compares them with Hugging Face's tokenizers
// library.
#include "weft/models/text/tokenizers/train/bpe_trainer.h"

#include <boost/test/unit_test.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "training_goldens.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/normalizers/bert.h"
#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/pre_tokenizers/known_patterns.h"
#include "weft/models/text/tokenizers/pre_tokenizers/words.h"
#include "weft/models/text/tokenizers/subwords/bpe.h"
#include "weft/models/text/tokenizers/train/count_words.h"
#include "weft/models/text/tokenizers/train/word_level_trainer.h"
#include "weft/models/text/tokenizers/train/word_piece_trainer.h"

namespace weft {
namespace {

using Pieces = std::vector<std::string>;
using Merges = std::vector<std::pair<std::string, std::string>>;

WordTable words_of(const Pieces& texts, const NormalizerPtr& normalizer,
                   const PreTokenizerPtr& pre_tokenizer, int threads = 2) {
  TextList list(texts);
  Workers workers({.threads = threads});
  return count_words(list, normalizer, pre_tokenizer, true, workers);
}

PreTokenizerPtr byte_level() {
  return std::make_shared<const pre_tokenizers::ByteLevel>(
      pre_tokenizers::ByteLevel::Settings{.add_prefix_space = false});
}

Vocabulary vocabulary_of(const Pieces& pieces) {
  std::vector<std::pair<std::string_view, std::int32_t>> ids;
  for (const std::string& piece : pieces)
    ids.emplace_back(piece, static_cast<std::int32_t>(ids.size()));
  return Vocabulary(ids);
}

WordTable table(const std::vector<std::pair<std::string, std::int64_t>>& counts) {
  WordTable words;
  for (const auto& [word, count] : counts) words.add(word, count);
  return words;
}

BOOST_AUTO_TEST_CASE(byte_level_merges_equal_the_reference) {
  const auto text = testing::training_corpus();
  if (!text) return;
  const WordTable words = words_of({text->trained}, nullptr, byte_level());
  const LearnedBpe learned = train_bpe(words, {.vocab = 8065, .words_are_bytes = true});
  const Pieces golden = testing::training_lines("bpe-bytelevel-merges.txt");
  BOOST_TEST(learned.merges.size() == golden.size());
  testing::GoldenCount count("train: byte-level BPE, merges");
  for (std::size_t i = 0; i < std::min(golden.size(), learned.merges.size()); ++i) {
    const std::string found = learned.merges[i].first + " " + learned.merges[i].second;
    count.add("merge " + std::to_string(i),
              found == golden[i] ? "" : "'" + found + "', not '" + golden[i] + "'");
  }
  const nlohmann::json right = testing::training_metrics("hf_tokenizers_0.23.2");
  testing::GoldenCount counts("train: byte-level BPE, tokens of the held-out text");
  for (const std::int64_t vocab : {256, 512, 1000, 2000, 4000, 8000}) {
    const LearnedBpe part = train_bpe(words, {.vocab = vocab, .words_are_bytes = true});
    SubwordParts parts{
        .added = {},
        .pre_tokenizer = byte_level(),
        .model = std::make_shared<const subwords::Bpe>(vocabulary_of(part.pieces), part.merges,
                                                       subwords::Bpe::Settings(), true)};
    std::vector<std::int32_t> ids;
    SubwordPipeline(std::move(parts)).encode(text->rest, {}, ids);
    const std::int64_t wanted = right.at("bpe_bytelevel_" + std::to_string(vocab));
    counts.add("vocabulary " + std::to_string(vocab),
               std::ssize(ids) == wanted
                   ? ""
                   : std::to_string(ids.size()) + " tokens, not " + std::to_string(wanted));
  }
}

BOOST_AUTO_TEST_CASE(wordpiece_encodes_text_with_as_few_tokens_as_the_reference) {
  const auto text = testing::training_corpus();
  if (!text) return;
  const auto normalizer = std::make_shared<const normalizers::Bert>();
  const auto pre_tokenizer = std::make_shared<const pre_tokenizers::Bert>();
  const WordTable words = words_of({text->trained}, normalizer, pre_tokenizer);
  const nlohmann::json right = testing::training_metrics("hf_tokenizers_0.23.2");
  const Pieces all = train_word_pieces(words, {.vocab = 8000});
  for (const std::int64_t vocab : {500, 1000, 2000, 4000, 8000}) {
    Pieces pieces(all.begin(), all.begin() + vocab);
    pieces.emplace_back("[UNK]");
    SubwordParts parts{
        .added = {},
        .normalizer = normalizer,
        .pre_tokenizer = pre_tokenizer,
        .model = std::make_shared<const subwords::WordPiece>(vocabulary_of(pieces), "[UNK]")};
    const SubwordPipeline pipeline(std::move(parts));
    std::vector<std::int32_t> ids;
    for (const std::string& line : testing::lines_of(text->rest)) pipeline.encode(line, {}, ids);
    const nlohmann::json& golden = right.at("wordpiece_" + std::to_string(vocab));
    const double wanted = golden.is_object() ? golden.at("min") : golden;
    std::cout << "wordpiece-" << vocab << ": " << ids.size() << " tokens (reference: " << golden
              << ")\n";
    BOOST_TEST(static_cast<double>(ids.size()) == wanted, boost::test_tools::tolerance(0.01));
  }
}

BOOST_AUTO_TEST_CASE(word_level_vocabularies_equal_the_reference) {
  const auto text = testing::training_corpus();
  if (!text) return;
  const WordTable words =
      words_of({text->trained}, nullptr, std::make_shared<const pre_tokenizers::Whitespace>());
  const Pieces golden = testing::training_lines("wordlevel-vocab.txt");
  const Pieces found = train_word_level(words, {.vocab = 5000});
  testing::GoldenCount count("train: word level");
  BOOST_TEST_REQUIRE(found.size() == golden.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    count.add("word " + std::to_string(i),
              found[i] == golden[i] ? "" : "'" + found[i] + "', not '" + golden[i] + "'");
}

// The words are from the tests of Hugging Face's tokenizers library.
const std::vector<std::pair<std::string, std::int64_t>> kRoses = {
    {"roses", 1}, {"are", 2}, {"red", 1}, {"voilets", 1}, {"blue", 1}, {"BERT", 1},
    {"is", 2},    {"big", 1}, {"and", 1}, {"so", 1},      {"GPT-2", 1}};

BOOST_AUTO_TEST_CASE(pairs_are_merged_while_frequent_enough) {
  const LearnedBpe learned = train_bpe(table(kRoses), {.min_frequency = 2});
  const Pieces wanted = {"-", "2", "B", "E", "G", "P", "R", "T", "a", "b",  "d",   "e", "g",
                         "i", "l", "n", "o", "r", "s", "t", "u", "v", "re", "are", "is"};
  BOOST_TEST(learned.pieces == wanted, boost::test_tools::per_element());
  const Merges merges = {{"r", "e"}, {"a", "re"}, {"i", "s"}};
  BOOST_TEST((learned.merges == merges));
  // Special tokens and the initial alphabet are always included. Then pieces are added up to the
  // limit.
  const LearnedBpe limited =
      train_bpe(table(kRoses),
                {.vocab = 25, .special_tokens = {"<s>", "r", "<s>"}, .initial_alphabet = U"z"});
  BOOST_TEST(limited.pieces.size() == 25U);
  BOOST_TEST(limited.pieces[0] == "<s>");
  BOOST_TEST(limited.pieces[1] == "r");
  BOOST_TEST(limited.pieces[23] == "z");
  BOOST_TEST(limited.pieces[24] == "re");
  BOOST_TEST(train_bpe(table(kRoses), {.vocab = 0}).pieces.size() == 22U);
}

BOOST_AUTO_TEST_CASE(characters_beyond_the_alphabet_limit_are_dropped) {
  // The alphabet is "e" (6 times), "s" (6 times), and "i", the first of the characters that occur 4
  // times. "voilets" is reduced to "ies".
  const LearnedBpe learned = train_bpe(table(kRoses), {.min_frequency = 2, .limit_alphabet = 3});
  const Pieces wanted = {"e", "i", "s", "es", "is"};
  BOOST_TEST(learned.pieces == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pieces_have_the_configured_affixes_and_maximum_length) {
  const WordTable words = table({{"abab", 3}, {"ab", 2}, {"b", 1}});
  const LearnedBpe marked =
      train_bpe(words, {.continuing_subword_prefix = "##", .end_of_word_suffix = "</w>"});
  const Pieces wanted = {"a",   "b",  "b</w>",    "##b",      "##b</w>",
                         "##a", "ab", "##ab</w>", "abab</w>", "ab</w>"};
  Pieces found = marked.pieces, sorted = wanted;
  std::sort(found.begin(), found.end());
  std::sort(sorted.begin(), sorted.end());
  BOOST_TEST(found == sorted, boost::test_tools::per_element());

  const WordTable longer = table({{"aaaaaaaa", 5}, {"aa", 1}});
  std::size_t longest = 0;
  for (const std::string& piece : train_bpe(longer, {.max_token_length = 5}).pieces)
    longest = std::max(longest, piece.size());
  BOOST_TEST(longest == 4U);
  BOOST_TEST(train_bpe(longer, {}).pieces.back() == "aaaaaaaa");
}

BOOST_AUTO_TEST_CASE(training_does_not_depend_on_threads_or_on_how_texts_are_divided) {
  std::string text;
  std::uint32_t state = 7;
  for (int i = 0; i < 300000; ++i) {
    state = state * 1664525U + 1013904223U;
    const std::string word(1 + (state >> 28), static_cast<char>('a' + (state >> 20 & 7)));
    text +=
        word + static_cast<char>('a' + (state >> 12 & 3)) + ((state >> 8 & 15) == 0 ? "\n" : " ");
  }
  BOOST_TEST(text.size() > 4 * kTextPartBytes);
  const LearnedBpe one = train_bpe(words_of({text}, nullptr, byte_level(), 1),
                                   {.vocab = 300, .words_are_bytes = true});
  const LearnedBpe three = train_bpe(words_of({text}, nullptr, byte_level(), 3),
                                     {.vocab = 300, .words_are_bytes = true});
  BOOST_TEST(one.pieces == three.pieces, boost::test_tools::per_element());
  BOOST_TEST((one.merges == three.merges));
  // Counting words in several parts gives the same words as counting them in the whole text.
  WordTable whole;
  split_as_gpt2(text, [&](std::size_t begin, std::size_t end) {
    whole.add(std::string_view(text).substr(begin, end - begin));
  });
  const WordTable parted = words_of({text}, nullptr, byte_level());
  std::map<std::string_view, std::int64_t> counts, others;
  for (std::size_t i = 0; i < whole.size(); ++i) counts[whole.word(i)] = whole.count(i);
  for (std::size_t i = 0; i < parted.size(); ++i) others[parted.word(i)] = parted.count(i);
  BOOST_TEST((counts == others));
}

BOOST_AUTO_TEST_CASE(texts_are_split_at_line_breaks_and_word_ends) {
  BOOST_TEST(end_of_part("one\ntwo\n\n  three") == 4U);
  BOOST_TEST(end_of_part("one\n\ntwo") == 5U);
  BOOST_TEST(end_of_part("\n") == 1U);
  BOOST_TEST(end_of_part("one two three") == 7U);
  BOOST_TEST(end_of_part("\u3042\u3044\xE3\x81") == 6U);
  BOOST_TEST(end_of_part("\xE3") == 1U);
  BOOST_TEST(end_of_part("a\nb\n\u3000c") == 2U);
}

BOOST_AUTO_TEST_CASE(out_of_range_training_options_are_rejected) {
  const WordTable words = table(kRoses);
  BOOST_CHECK_THROW(train_bpe(words, {.vocab = -1}), ArgumentError);
  BOOST_CHECK_THROW(train_bpe(words, {.vocab = (1 << 24) + 1}), ArgumentError);
  BOOST_CHECK_THROW(train_bpe(words, {.min_frequency = -1}), ArgumentError);
  BOOST_CHECK_THROW(train_bpe(words, {.special_tokens = {""}}), ArgumentError);
  BOOST_CHECK_THROW(train_bpe(words, {.limit_alphabet = -1}), ArgumentError);
  BOOST_CHECK_THROW(train_bpe(words, {.max_token_length = 0}), ArgumentError);
  BOOST_CHECK_THROW(train_word_level(words, {.vocab = -1}), ArgumentError);
  const Pieces wanted = {"<unk>", "is", "are"};
  BOOST_TEST(
      train_word_level(table({{"is", 3}, {"are", 2}, {"<unk>", 9}, {"x", 1}}),
                       {.vocab = 9, .min_frequency = 2, .special_tokens = {"<unk>"}}) == wanted,
      boost::test_tools::per_element());
}

}  // namespace
}  // namespace weft
