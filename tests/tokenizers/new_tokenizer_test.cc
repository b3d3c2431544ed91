// Trained tokenizers are complete: they round-trip through files with all of their components.
#include "weft/models/text/tokenizers/train/new_tokenizer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "training_goldens.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokenizers/train/character_bpe_trainer.h"
#include "weft/models/text/tokenizers/train/unigram_trainer.h"

namespace weft {
namespace {

const std::vector<std::string> kTexts = {
    "the cat sat on the mat\nthe cats sat, the hats are flat\n",
    "A caf\u00e9 \u65e5\u672c the Cat's"};

SubwordTokenizer train(const TokenizerTrainerOptions& options, int threads = 2,
                       const std::vector<std::string>& texts = kTexts) {
  TextList list(texts);
  Workers workers({.threads = threads});
  return train_tokenizer(list, options, workers);
}

BOOST_AUTO_TEST_CASE(trained_tokenizers_round_trip_through_files) {
  for (const LearnedKind kind : {LearnedKind::byte_bpe, LearnedKind::character_bpe,
                                 LearnedKind::wordpiece, LearnedKind::unigram, LearnedKind::word}) {
    BOOST_TEST_CONTEXT(choice_name(kind)) {
      const SubwordTokenizer learned = train({.kind = kind, .vocab = 290});
      const SubwordTokenizer again = SubwordTokenizer::from_bytes(learned.to_bytes());
      BOOST_TEST(again.to_bytes() == learned.to_bytes());
      BOOST_TEST(train({.kind = kind, .vocab = 290}, 1).to_bytes() == learned.to_bytes());
      for (const std::string& text : kTexts)
        BOOST_TEST(again.encode(text) == learned.encode(text), boost::test_tools::per_element());
      const auto special = default_special_tokens(kind);
      for (std::size_t i = 0; i < special.size(); ++i) {
        BOOST_TEST(learned.find(special[i]) == static_cast<std::int32_t>(i));
        BOOST_TEST(learned.is_special(static_cast<std::int32_t>(i)));
        BOOST_TEST(learned.encode(special[i]).size() == 1U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(byte_bpe_encodes_any_text) {
  const SubwordTokenizer bytes = train({.vocab = 265});
  BOOST_TEST(bytes.vocab_size() == 265);
  for (const std::string& text : {std::string("\u4e2d\u6587 <|endoftext|>\n\n\t x"), kTexts[1]}) {
    const auto ids = bytes.encode(text);
    BOOST_TEST(bytes.decode(ids, DecodeOptions{.keep_special = true}) == text);
  }
  const SubwordTokenizer blanks = train({.vocab = 265, .add_prefix_space = true});
  BOOST_TEST(blanks.encode("the") == blanks.encode(" the"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(special_tokens_are_added_as_models_expect) {
  const Tokenizer pieces = train({.kind = LearnedKind::wordpiece, .vocab = 60});
  const Encoding pair = pieces.encode_pair({"The cat", "sat"});
  BOOST_TEST(pair.ids.front() == pieces.cls_id());
  BOOST_TEST(pair.ids.back() == pieces.sep_id());
  BOOST_TEST(pair.type_ids.back() == 1);
  BOOST_TEST(pieces.pad_id() == 0);
  BOOST_TEST(pieces.unk_id() == 1);
  BOOST_TEST(pieces.mask_id() == 4);
  BOOST_TEST(pieces.decode(pieces.encode("The CAT sat")) == "the cat sat");
  const Tokenizer unigrams = train({.kind = LearnedKind::unigram, .vocab = 60});
  const Encoding ended = unigrams.encode_text("the cat");
  BOOST_TEST(ended.ids.back() == unigrams.eos_id());
  BOOST_TEST(unigrams.unk_id() == 2);
  // With BERT's special tokens, all types of tokenizers add them in the same way as BERT.
  for (const LearnedKind kind : {LearnedKind::byte_bpe, LearnedKind::character_bpe,
                                 LearnedKind::unigram, LearnedKind::word}) {
    const Tokenizer like_bert =
        train({.kind = kind,
               .vocab = 300,
               .special_tokens = default_special_tokens(LearnedKind::wordpiece)});
    BOOST_TEST(like_bert.encode_text("the").ids.front() == 2);
    BOOST_TEST(like_bert.encode_text("the").ids.back() == 3);
  }
  const SubwordTokenizer small = train({.kind = LearnedKind::word, .lowercase = true});
  BOOST_TEST(small.encode("CAT") == small.encode("cat"), boost::test_tools::per_element());
  for (const LearnedKind kind : {LearnedKind::unigram, LearnedKind::character_bpe}) {
    const SubwordTokenizer fallback = train({.kind = kind, .vocab = 310, .byte_fallback = true});
    BOOST_TEST(fallback.decode(fallback.encode("the \u0416 cat")) == "the \u0416 cat");
  }
  const Tokenizer pairs = train({.kind = LearnedKind::character_bpe, .vocab = 60});
  const Encoding begun = pairs.encode_pair({"the cat", "sat"});
  BOOST_TEST(begun.ids.front() == pairs.bos_id());
  BOOST_TEST(begun.ids.back() != pairs.eos_id());
  BOOST_TEST(std::count(begun.ids.begin(), begun.ids.end(), pairs.bos_id()) == 2);
  BOOST_TEST(pairs.unk_id() == 0);
}

/// Compares, line by line, the ids from a tokenizer.json with the ids from the model that was
/// converted to it.
void check_same_ids(const char* name, const SubwordTokenizer& json,
                    const SentencePieceTokenizer& model, const std::string& text) {
  BOOST_TEST(json.vocab_size() == model.vocab_size());
  int lines = 0, same = 0;
  std::size_t ids = 0, others = 0;
  for (const std::string& line : testing::lines_of(text)) {
    const auto found = json.encode(line), wanted = model.encode(line);
    ++lines;
    same += found == wanted ? 1 : 0;
    ids += found.size();
    others += wanted.size();
  }
  std::cout << name << " as tokenizer.json: " << same << " of " << lines
            << " lines have the ids of the SentencePiece model\n";
  BOOST_TEST(static_cast<double>(ids) == static_cast<double>(others),
             boost::test_tools::tolerance(1e-3));
  // rounding can differ for segmentations with equal scores
  BOOST_TEST(same >= lines - lines / 500);
}

BOOST_AUTO_TEST_CASE(a_sentence_piece_model_and_its_tokenizer_json_give_the_same_ids) {
  const auto corpus = testing::training_corpus();
  if (!corpus) return;
  const std::vector<std::string> texts = {corpus->trained};
  const std::vector<std::string> special = {"<unk>", "<s>", "</s>"};
  check_same_ids(
      "unigrams",
      train({.kind = LearnedKind::unigram, .vocab = 1000, .special_tokens = special}, 2, texts),
      train_unigram(texts, {.vocab = 1000}), corpus->rest);
  TextList list(texts);
  Workers workers({.threads = 2});
  check_same_ids(
      "byte pairs",
      train({.kind = LearnedKind::character_bpe, .vocab = 1500, .byte_fallback = true}, 2, texts),
      train_character_bpe(list, {.vocab = 1500, .byte_fallback = true}, workers),
      corpus->rest + "\u65e5\u65e5 the \u0416a");
}

BOOST_AUTO_TEST_CASE(options_of_other_tokenizer_types_and_too_small_vocabularies_are_rejected) {
  BOOST_CHECK_THROW(train({.kind = LearnedKind::unigram, .min_frequency = 2}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::word, .limit_alphabet = 2}), ArgumentError);
  BOOST_CHECK_THROW(train({.lowercase = true}), ArgumentError);
  BOOST_CHECK_THROW(train({.byte_fallback = true}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::wordpiece, .max_token_length = 3}), ArgumentError);
  BOOST_CHECK_THROW(train({.vocab = 256}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::wordpiece, .vocab = 10}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::word, .vocab = 3}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::unigram, .vocab = 8}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::character_bpe, .vocab = 8}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::character_bpe, .limit_alphabet = 8}),
                    ArgumentError);
  BOOST_CHECK_THROW(train({.special_tokens = std::vector<std::string>{""}}), ArgumentError);
  BOOST_CHECK_THROW(train({.kind = LearnedKind::unigram, .normalization = "nfd"}), ArgumentError);
  for (const LearnedKind kind : {LearnedKind::character_bpe, LearnedKind::wordpiece,
                                 LearnedKind::unigram, LearnedKind::word}) {
    BOOST_CHECK_THROW(train({.kind = kind, .special_tokens = std::vector<std::string>{"<s>"}}),
                      ArgumentError);
  }
}

}  // namespace
}  // namespace weft
