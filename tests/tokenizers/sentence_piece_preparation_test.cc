// Text preparation by published tokenizer classes around a SentencePiece model: the normalisation
// of ALBERT and DeBERTa, according to the rules that these classes publish, and Marian's two
// models.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer_folder.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/formats/sentence_piece_folder.h"
#include "weft/models/text/tokenizers/normalizers/text_preparation.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace weft {
namespace {

using Ids = std::vector<std::int32_t>;
using Kind = SentencePieceModel::Kind;

/// Builds a unigram model from special pieces and from normal pieces with scores.
std::string model_bytes(std::vector<SentencePieceModel::Piece> pieces,
                        const std::vector<std::pair<const char*, float>>& normal) {
  SentencePieceModel model;
  model.algorithm = SentencePieceModel::Algorithm::unigram;
  model.pieces = std::move(pieces);
  for (const auto& [text, score] : normal) model.pieces.push_back({text, score, Kind::normal});
  model.normalizer.name = "identity";
  return model.to_bytes();
}

/// The ids of ALBERT's pieces.
enum : std::int32_t {
  kUnk = 1,
  kBlank = 5,
  kA,
  kB,
  kBlankA,
  kQuote,
  kOne,
  kBlankOne,
  kComma,
  kOneComma,
  kBlankOneComma,
  kE,
  kTwo,
  kTwoComma,
  kBlank34,
  k34Comma,
  kAlpha,
  kSigma,
  kFinalSigma,
  kBigA,
  kAccentE
};

std::string albert_model() {
  return model_bytes(
      {{"<pad>", 0, Kind::control},
       {"<unk>", 0, Kind::unknown},
       {"[CLS]", 0, Kind::control},
       {"[SEP]", 0, Kind::control},
       {"[MASK]", 0, Kind::control}},
      {{"\u2581", -3}, {"a", -2},          {"b", -2},      {"\u2581a", -1},  {"\"", -2},
       {"1", -2},      {"\u25811", -2.5F}, {",", -2},      {"1,", -1},       {"\u25811,", -1},
       {"e", -2},      {"2", -2},          {"2,", -1},     {"\u258134", -1}, {"34,", -1},
       {"\u03b1", -2}, {"\u03c3", -2},     {"\u03c2", -2}, {"A", -2},        {"\u00e9", -2}});
}

class AlbertFolder : public testing::TokenizerFolder {
 public:
  AlbertFolder() { write("spiece.model", albert_model()); }
  SentencePieceTokenizer read(const std::string& more = "") const {
    write("tokenizer_config.json", R"({"tokenizer_class": "AlbertTokenizer")" + more + "}");
    return read_sentence_piece_folder(FolderSettings(path()), "spiece.model");
  }
};

void check_ids(const SentencePieceTokenizer& tokenizer, const std::string& text, const Ids& ids) {
  BOOST_TEST_CONTEXT(text) {
    BOOST_TEST(tokenizer.encode(text) == ids, boost::test_tools::per_element());
    // The ids must be the same after a round trip through a file.
    const auto again = SentencePieceTokenizer::from_bytes(tokenizer.to_bytes());
    BOOST_TEST(again.encode(text) == ids, boost::test_tools::per_element());
    BOOST_TEST(again.to_bytes() == tokenizer.to_bytes());
    BOOST_TEST(again.pieces(text).size() == ids.size());
    std::uint32_t end = 0;
    for (const SubwordSpan& part : tokenizer.encode_spans(text)) {
      BOOST_TEST(part.begin <= part.end);
      BOOST_TEST(part.end <= text.size());
      BOOST_TEST(part.end >= end);
      end = part.end;
    }
  }
}

BOOST_AUTO_TEST_CASE(albert_folds_white_space_and_double_quotes) {
  const AlbertFolder folder;
  const auto tokenizer = folder.read();
  check_ids(tokenizer, " a\u3000\t a\n", {kBlankA, kBlankA});
  check_ids(tokenizer,
            "a\x1F"
            "a",
            {kBlankA, kBlankA});
  check_ids(tokenizer, "``a''", {kBlank, kQuote, kA, kQuote});
  check_ids(tokenizer, "a'''", {kBlankA, kQuote, kUnk});
  check_ids(tokenizer, "", {});
  check_ids(tokenizer, " \n ", {});
}

BOOST_AUTO_TEST_CASE(albert_strips_accents_and_lowercases) {
  const AlbertFolder folder;
  const auto tokenizer = folder.read();
  check_ids(tokenizer, "\u00c9 e\u0301", {kBlank, kE, kBlank, kE});
  check_ids(tokenizer, "AB", {kBlankA, kB});
  // Compatibility forms are decomposed (NFKD): a full-width letter and a superscript digit.
  check_ids(tokenizer, "\uff22\u00b2", {kBlank, kB, kTwo});
  // A sigma at the end of a word becomes a final sigma. A sigma inside a word or on its own does
  // not.
  check_ids(tokenizer, "\u0391\u03a3", {kBlank, kAlpha, kFinalSigma});
  check_ids(tokenizer, "\u0391\u03a3. \u03a3", {kBlank, kAlpha, kFinalSigma, kUnk, kBlank, kSigma});
  check_ids(tokenizer, "\u0391\u03a3\u0391", {kBlank, kAlpha, kSigma, kAlpha});
}

BOOST_AUTO_TEST_CASE(albert_splits_commas_off_numbers) {
  const AlbertFolder folder;
  const auto tokenizer = folder.read();
  // The model alone returns "_1," and "1". Encoded as a separate text, "1" is "_1".
  check_ids(tokenizer, "1,1", {kBlankOne, kComma, kOne});
  // "1," occurs inside a word. Encoded as a separate text, "1" is "_1", and its space mark is
  // removed.
  check_ids(tokenizer, "a1,", {kBlankA, kOne, kComma});
  // Encoded as a separate text, "2" is "_" and "2". The piece "_" is removed.
  check_ids(tokenizer, "a2,", {kBlankA, kTwo, kComma});
  // Encoded as a separate text, "34" is "_34", which is not a piece without the space mark.
  check_ids(tokenizer, "a34,", {kBlankA, kUnk, kComma});
  check_ids(tokenizer, "a,", {kBlankA, kComma});
  const std::string text = "b 1,1";
  const auto spans = tokenizer.encode_spans(text);
  BOOST_TEST_REQUIRE(spans.size() == 5U);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted = {
      {0, 0}, {0, 1}, {1, 3}, {3, 4}, {4, 5}};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    BOOST_TEST(spans[i].begin == wanted[i].first);
    BOOST_TEST(spans[i].end == wanted[i].second);
  }
}

BOOST_AUTO_TEST_CASE(albert_settings_are_read_from_the_folder) {
  const AlbertFolder folder;
  const auto plain = folder.read(R"(, "do_lower_case": false, "keep_accents": true)");
  check_ids(plain, "A\u00e9", {kBlank, kBigA, kAccentE});
  const auto accents = folder.read(R"(, "keep_accents": true)");
  check_ids(accents, "A\u00e9", {kBlankA, kAccentE});
  const auto blanks = folder.read(R"(, "remove_space": false)");
  check_ids(blanks, "a\u3000a", {kBlankA, kBlankA});  // NFKD turns it into a space
  check_ids(blanks, "a\ta", {kBlankA, kUnk, kA});
  BOOST_TEST(!plain.model().layout.preparation.lowercase);
  BOOST_TEST(!(plain.model().layout.preparation == accents.model().layout.preparation));
}

BOOST_AUTO_TEST_CASE(spans_refer_to_the_original_text) {
  const AlbertFolder folder;
  const auto tokenizer = folder.read();
  const auto spans = tokenizer.encode_spans(
      "  \u00c9  ``\xFF"
      "B");
  BOOST_TEST_REQUIRE(spans.size() == 6U);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted = {{2, 2}, {2, 4}, {4, 5},
                                                                       {6, 7}, {8, 9}, {9, 10}};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    BOOST_TEST(spans[i].begin == wanted[i].first);
    BOOST_TEST(spans[i].end == wanted[i].second);
  }
}

BOOST_AUTO_TEST_CASE(deberta_lowercases_and_splits_only_if_set_in_its_folder) {
  const testing::TokenizerFolder folder("deberta");
  folder.write("spm.model", albert_model());
  const auto read = [&](const std::string& more) {
    folder.write("tokenizer_config.json",
                 R"({"tokenizer_class": "DebertaV2Tokenizer", "unk_token": "<unk>")" + more + "}");
    return read_sentence_piece_folder(FolderSettings(folder.path()), "spm.model");
  };
  check_ids(read(""), "Aa,b", {kBlank, kBigA, kA, kComma, kB});
  check_ids(read(R"(, "do_lower_case": true)"), "Aa 1,1", {kBlankA, kA, kBlankOneComma, kOne});
  check_ids(read(R"(, "split_by_punct": true)"), "a,b 1,",
            {kBlankA, kBlank, kComma, kBlank, kB, kBlankOne, kBlank, kComma});
}

BOOST_AUTO_TEST_CASE(marian_targets_are_encoded_with_their_own_model) {
  const std::vector<SentencePieceModel::Piece> special = {{"<unk>", 0, Kind::unknown},
                                                          {"</s>", 0, Kind::control}};
  const testing::TokenizerFolder folder("marian");
  folder.write("source.spm", model_bytes(special, {{"\u2581a", -1}, {"b", -2}}));
  folder.write(
      "vocab.json",
      R"({"</s>": 0, "<unk>": 1, "\u2581a": 2, "b": 3, "\u2581x": 4, "y": 5, "<pad>": 6})");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "MarianTokenizer"})");
  const auto read = [&] {
    const FolderTokenizer found = read_tokenizer_folder(folder.path());
    BOOST_TEST_REQUIRE(found.tokenizer.has_value());
    return *found.tokenizer;
  };
  BOOST_TEST(read().targets().encode("ab") == (Ids{2, 3}), boost::test_tools::per_element());
  folder.write("target.spm", model_bytes(special, {{"\u2581x", -1}, {"y", -2}, {"b", -2}}));
  const Tokenizer known = read();
  const std::string bytes = known.bytes();
  for (const Tokenizer& tokenizer : {known, Tokenizer::from_bytes(known.type(), bytes)}) {
    BOOST_TEST(tokenizer.bytes() == bytes);
    const Tokenizer targets = tokenizer.targets();
    BOOST_TEST(tokenizer.encode("ab") == (Ids{2, 3}), boost::test_tools::per_element());
    BOOST_TEST(targets.encode("xyb") == (Ids{4, 5, 3}), boost::test_tools::per_element());
    BOOST_TEST(tokenizer.encode("xy") == (Ids{1}), boost::test_tools::per_element());
    BOOST_TEST(targets.vocab_size() == tokenizer.vocab_size());
    BOOST_TEST((targets.special() == tokenizer.special()));
    BOOST_TEST(targets.encode_to_end("x") == (Ids{4, 0}), boost::test_tools::per_element());
    const std::vector<std::int64_t> ids = {4, 5, 4, 0, 6};
    BOOST_TEST(targets.decode_to_end(ids) == "xy x");
    BOOST_TEST(tokenizer.decode_to_end(ids) == "xy x");
    BOOST_TEST(targets.targets().bytes() == targets.bytes());
  }
  folder.write("target.spm", "no model");
  const FolderTokenizer broken = read_tokenizer_folder(folder.path());
  BOOST_TEST(!broken.tokenizer.has_value());
  BOOST_TEST(broken.missing.find("target.spm: ") != std::string::npos);
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "MarianTokenizer", "separate_vocabs": true})");
  BOOST_TEST(!read_tokenizer_folder(folder.path()).tokenizer.has_value());
}

}  // namespace
}  // namespace weft
