// Folders with a SentencePiece model. The tokenizer class named in a folder determines the ids.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tokenizer_folder.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/formats/sentence_piece_folder.h"

namespace weft {
namespace {

using Ids = std::vector<std::int32_t>;
using Kind = SentencePieceModel::Kind;

/// A folder with a SentencePiece model.
class ModelFolder : public testing::TokenizerFolder {
 public:
  SentencePieceTokenizer read() const {
    return read_sentence_piece_folder(FolderSettings(path()), "spiece.model");
  }
  SentencePieceTokenizer read(const std::string& config) const {
    write("tokenizer_config.json", config);
    return read();
  }
};

std::string model_bytes() {
  // "<unk>", "<s>", "</s>" and five text pieces, of which "b" has a higher score than "a".
  SentencePieceModel model;
  model.algorithm = SentencePieceModel::Algorithm::unigram;
  model.pieces = {{"<unk>", 0, Kind::unknown},   {"<s>", 0, Kind::control},
                  {"</s>", 0, Kind::control},    {"\u2581", -3, Kind::normal},
                  {"a", -2, Kind::normal},       {"b", -1, Kind::normal},
                  {"\u2581a", -1, Kind::normal}, {"ab", -2, Kind::normal}};
  model.normalizer.name = "identity";
  return model.to_bytes();
}

BOOST_AUTO_TEST_CASE(folders_without_a_class_use_the_ids_of_the_model) {
  const ModelFolder folder;
  folder.write("spiece.model", model_bytes());
  const auto tokenizer = folder.read();
  BOOST_TEST(tokenizer.vocab_size() == 8);
  BOOST_TEST(tokenizer.encode("ab ac") == (Ids{6, 5, 6, 0}), boost::test_tools::per_element());
  BOOST_TEST(tokenizer.decode(Ids{1, 6, 5, 6, 0, 2}) == "ab a \u2047 ");
  BOOST_TEST(folder.read("{}").vocab_size() == 8);
}

BOOST_AUTO_TEST_CASE(tokenizer_classes_can_shift_and_add_ids) {
  const ModelFolder folder;
  folder.write("spiece.model", model_bytes());
  const auto t5 = folder.read(R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 2})");
  BOOST_TEST(t5.vocab_size() == 10);
  BOOST_TEST(t5.find("<extra_id_0>") == 9);
  BOOST_TEST(t5.eos_id() == 2);
  BOOST_TEST(t5.bos_id() == -1);
  BOOST_TEST(t5.is_special(8));
  BOOST_TEST(t5.decode(Ids{6, 9, 6}) == "a a");
  BOOST_TEST(t5.decode(Ids{6, 9, 6}, {.keep_special = true}) == "a<extra_id_0> a");

  const auto xlm = folder.read(R"({"tokenizer_class": "XLMRobertaTokenizer"})");
  BOOST_TEST(xlm.vocab_size() == 10);
  BOOST_TEST(xlm.encode("ab ac") == (Ids{7, 6, 7, 3}), boost::test_tools::per_element());
  BOOST_TEST((Ids{xlm.bos_id(), xlm.pad_id(), xlm.eos_id(), xlm.unk_id(), xlm.mask_id()}) ==
                 (Ids{0, 1, 2, 3, 9}),
             boost::test_tools::per_element());
  BOOST_TEST(xlm.piece(1) == "<pad>");
  const auto mbart = folder.read(R"({"tokenizer_class": "MBartTokenizer"})");
  BOOST_TEST(mbart.vocab_size() == 10 + 25);
  BOOST_TEST(mbart.find("ar_AR") == 9);
  BOOST_TEST(mbart.mask_id() == 34);

  const auto nllb = folder.read(R"({"tokenizer_class": "NllbTokenizer"})");
  BOOST_TEST(nllb.vocab_size() == 10 + 202);
  BOOST_TEST(nllb.find("ace_Arab") == 9);
  BOOST_TEST(nllb.find("zul_Latn") == 9 + 201);
  BOOST_TEST(nllb.is_special(nllb.find("eng_Latn")));
  BOOST_TEST(nllb.mask_id() == 9 + 202);
  BOOST_TEST(nllb.encode("ab ac") == (Ids{7, 6, 7, 3}), boost::test_tools::per_element());

  const auto pegasus = folder.read(R"({"tokenizer_class": "PegasusTokenizer", "offset": 5})");
  BOOST_TEST(pegasus.find("<unk_2>") == 4);
  BOOST_TEST(pegasus.find("a") == 4 + 5);
  BOOST_TEST(pegasus.mask_id() == 3);

  const auto deberta = folder.read(R"({"tokenizer_class": "DebertaV2Tokenizer"})");
  BOOST_TEST(deberta.mask_id() == 8);
  BOOST_TEST(deberta.encode("ab") == (Ids{6, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(marian_uses_the_ids_of_its_vocabulary) {
  const ModelFolder folder;
  folder.write("spiece.model", model_bytes());
  folder.write("vocab.json",
               R"({"</s>": 0, "<unk>": 1, "b": 2, "\u2581a": 3, "other": 4, "<pad>": 5})");
  const auto marian = folder.read(R"({"tokenizer_class": "MarianTokenizer"})");
  BOOST_TEST(marian.encode("ab aa") == (Ids{3, 2, 3, 1}), boost::test_tools::per_element());
  BOOST_TEST(marian.decode(Ids{3, 4, 0, 5}) == "aother");
  BOOST_TEST(marian.pad_id() == 5);
  folder.write("vocab.json", R"({"</s>": 0, "b": 2})");
  BOOST_CHECK_THROW(folder.read(), FormatError);
}

BOOST_AUTO_TEST_CASE(m2m100_adds_its_languages_after_the_ids_of_its_vocabulary) {
  const ModelFolder folder;
  folder.write("spiece.model", model_bytes());
  folder.write("vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "b": 4, "\u2581a": 5,
                                 "madeup": 6})");
  const auto m2m100 = folder.read(R"({"tokenizer_class": "M2M100Tokenizer"})");
  BOOST_TEST(m2m100.vocab_size() == 7 + 100);
  BOOST_TEST(m2m100.find("__af__") == 7);
  BOOST_TEST(m2m100.find("__zu__") == 7 + 99);
  BOOST_TEST(m2m100.is_special(m2m100.find("__en__")));
  BOOST_TEST(m2m100.encode("ab ac") == (Ids{5, 4, 5, 3}), boost::test_tools::per_element());
  BOOST_TEST((Ids{m2m100.bos_id(), m2m100.pad_id(), m2m100.eos_id(), m2m100.unk_id()}) ==
                 (Ids{0, 1, 2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(m2m100.decode(Ids{m2m100.find("__en__"), 5, 4, 2}) == "ab");
  const auto wmt21 =
      folder.read(R"({"tokenizer_class": "M2M100Tokenizer", "language_codes": "wmt21"})");
  BOOST_TEST(wmt21.vocab_size() == 7 + 8);
  BOOST_TEST(wmt21.find("__de__") == 7 + 7);
  BOOST_CHECK_EXCEPTION(
      folder.read(R"({"tokenizer_class": "M2M100Tokenizer", "language_codes": "wmt22"})"),
      FormatError, [](const FormatError& e) {
        return std::string(e.what()).find(
                   "language_codes must be \"m2m100\" or \"wmt21\", not \"wmt22\"") !=
               std::string::npos;
      });
}

BOOST_AUTO_TEST_CASE(special_pieces_in_texts_are_found_if_requested) {
  const ModelFolder folder;
  folder.write("spiece.model", model_bytes());
  folder.write("added_tokens.json", R"({"<new>": 8})");
  const std::string text = "a</s>a <new> b";
  const auto ids = [&](const SentencePieceTokenizer& tokenizer) {
    Ids found;
    for (const SubwordSpan& part : tokenizer.encode_spans(text, TextPlace::beginning, true)) {
      found.push_back(part.id);
      BOOST_TEST(part.begin <= part.end);
      BOOST_TEST(part.end <= text.size());
    }
    return found;
  };
  const auto legacy = folder.read(R"({"tokenizer_class": "LlamaTokenizer"})");
  BOOST_TEST(ids(legacy) == (Ids{6, 2, 6, 8, 3, 5}), boost::test_tools::per_element());
  const auto modern = folder.read(R"({"tokenizer_class": "LlamaTokenizer", "legacy": false})");
  BOOST_TEST(ids(modern).at(2) == modern.find("a"));
  const auto again = SentencePieceTokenizer::from_bytes(modern.to_bytes());
  BOOST_TEST(ids(again) == ids(modern), boost::test_tools::per_element());
  BOOST_TEST(again.to_bytes() == modern.to_bytes());
  BOOST_TEST(again.vocab_size() == 9);
  folder.write("added_tokens.json", R"({"<new>": 20})");
  BOOST_CHECK_THROW(folder.read(), FormatError);
  BOOST_CHECK_THROW(folder.read(R"({"tokenizer_class": "T5Tokenizer", "extra_ids": -1})"),
                    FormatError);
}

}  // namespace
}  // namespace weft
