// Multilingual translation models with language codes: NLLB, M2M100 and mBART.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/models/tasks/seq2seq/pair_encoder.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(multilingual)
namespace {

using testing::IdTranslator;
using testing::Json;
using testing::OpenedWriter;
using testing::says;
using testing::TemporaryFolder;
using testing::wide;

using Ids = std::vector<std::int32_t>;

const std::string kText = "the grand old duke";

TokenIds without_first(const TokenIds& ids) { return {ids.begin() + 1, ids.end()}; }

/// The ids of the text without special ids.
Ids plain_ids(const std::string& path, const std::string& text) {
  return read_tokenizer_folder(path).tokenizer->encode(text);
}

/// The output of the model in a folder for [language] text </s>, if it is forced to begin with the
/// id `target` (-1 = not forced).
TokenIds expected_output(const std::string& path, std::int64_t source, std::int64_t target) {
  TokenIds prompt = wide(plain_ids(path, kText));
  prompt.insert(prompt.begin(), source);
  prompt.push_back(2);
  GenerationOptions options{.max_length = 10, .eos_id = 2, .pad_id = 1, .forced_bos_id = target};
  for (std::int64_t id = read_tokenizer_folder(path).tokenizer->vocab_size();
       id < testing::kFolderVocab; ++id)
    options.bad_token_ids.push_back(id);
  return without_first(IdTranslator(path)(prompt, {2}, options).sequences.front());
}

BOOST_AUTO_TEST_CASE(nllb_outputs_begin_with_the_target_language) {
  const TemporaryFolder made("nllb");
  const std::string path = testing::write_nllb(made);
  OpenedWriter opened(path);
  const auto translated = [&](const Languages& languages) {
    return opened.translate({kText}, {.languages = languages}).front().ids;
  };
  BOOST_TEST((translated({}) == expected_output(path, 4, -1)));
  BOOST_TEST((translated({"", "deu_Latn"}) == expected_output(path, 4, 6)));
  BOOST_TEST((translated({"fra_Latn", "deu_Latn"}) == expected_output(path, 5, 6)));
  BOOST_TEST(translated({"fra_Latn", "deu_Latn"}).front() == 6);
  // Language codes are no text.
  BOOST_TEST(opened.translate({kText}, {.languages = {"", "deu_Latn"}})[0].text.find("deu") ==
             std::string::npos);
  BOOST_CHECK_EXCEPTION(
      translated({"", "fr"}), ArgumentError,
      says("unknown language code 'fr' (did you mean fra_Latn?): the model supports eng_Latn, "
           "fra_Latn, deu_Latn"));
  const std::string file = made.path("nllb.weft");
  save_model(file, *opened.loaded.model);
  BOOST_TEST(
      (OpenedWriter(file).translate({kText}, {.languages = {"fra_Latn", "deu_Latn"}}).front().ids ==
       translated({"fra_Latn", "deu_Latn"})));
}

BOOST_AUTO_TEST_CASE(tokenizer_settings_specify_the_usual_languages) {
  const TemporaryFolder made("nllb");
  const std::string path =
      testing::write_nllb(made, {{"src_lang", "fra_Latn"}, {"tgt_lang", "deu_Latn"}});
  BOOST_TEST((OpenedWriter(path).translate({kText}).front().ids == expected_output(path, 5, 6)));
  // forced_bos_token_id takes precedence over tgt_lang.
  made.write("generation_config.json",
             R"({"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
                 "forced_bos_token_id": 4, "max_length": 10})");
  BOOST_TEST((OpenedWriter(path).translate({kText}).front().ids == expected_output(path, 5, 4)));
  // In the old form, the code follows the text.
  const TemporaryFolder old("nllb");
  testing::write_nllb(old, {{"legacy_behaviour", true}});
  OpenedWriter opened(old.path());
  TokenIds read = opened.writer->read(kText);
  BOOST_TEST(read[read.size() - 2] == 2);
  BOOST_TEST(read.back() == 4);
  BOOST_TEST(opened.translate({kText}, {.languages = {"", "fra_Latn"}})[0].ids.front() == 5);
  const TemporaryFolder wrong("nllb");
  testing::write_nllb(wrong, {{"tgt_lang", "xx"}});
  BOOST_CHECK_EXCEPTION(OpenedWriter{wrong.path()}, FormatError,
                        says("tokenizer_config.json.tgt_lang is 'xx', which is no language code of "
                             "the tokenizer"));
}

BOOST_AUTO_TEST_CASE(m2m100_reads_its_vocabulary_and_languages) {
  const TemporaryFolder made("m2m100");
  testing::write_nllb(made, {{"tokenizer_class", "M2M100Tokenizer"}, {"tgt_lang", "fr"}});
  const SentencePieceModel pieces = testing::word_model({"the", "grand", "old", "duke"});
  Json vocab = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
  for (std::size_t i = 3; i < pieces.pieces.size(); ++i) vocab[pieces.pieces[i].text] = i + 1;
  made.write("vocab.json", vocab.dump());
  made.write("sentencepiece.bpe.model", pieces.to_bytes());
  std::filesystem::remove(made.path("tokenizer.json"));
  const std::string path = made.path();
  const Tokenizer tokenizer = *read_tokenizer_folder(path).tokenizer;
  const std::int32_t english = tokenizer.find("__en__"), french = tokenizer.find("__fr__"),
                     german = tokenizer.find("__de__");
  BOOST_TEST(english >= std::ssize(vocab));
  OpenedWriter opened(path);
  BOOST_TEST((opened.translate({kText})[0].ids == expected_output(path, english, french)));
  const auto asked = opened.translate({kText}, {.languages = {"de", "en"}});
  BOOST_TEST((asked[0].ids == expected_output(path, german, english)));
  BOOST_CHECK_EXCEPTION(
      opened.translate({kText}, {.languages = {"", "dee"}}), ArgumentError,
      says("unknown language code 'dee' (did you mean de?): the model supports af"));
  // A folder written by Weft has the same files.
  const TemporaryFolder out("out");
  save_folder(out.path("again"), *opened.loaded.model);
  BOOST_TEST(Json::parse(read_whole_file(out.path("again/vocab.json"))) == vocab);
  BOOST_TEST((OpenedWriter(out.path("again")).translate({kText})[0].ids ==
              opened.translate({kText})[0].ids));
}

/// Fine-tunes a folder for two languages and returns the options of the command.
std::string tuning(const Shell& weft, const std::string& folder, const std::string& from,
                   const std::string& to, const std::string& out) {
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += "the grand duke " + std::to_string(i) + "\tdown the hill " + std::to_string(i) + "\n";
  return "train seq2seq --from " + folder + " --pairs " + weft.write("pairs.tsv", lines) +
         " --from-language " + from + " --to-language " + to +
         " --steps 2 --warmup 1 --batch 128 --threads 2 --out " + weft.path(out);
}

BOOST_AUTO_TEST_CASE(multilingual_models_are_fine_tuned_for_two_languages) {
  const Shell weft;
  const TemporaryFolder made("nllb");
  const std::string path = testing::write_nllb(made);
  testing::write_nllb(made, Json::object(), read_tokenizer_folder(path).tokenizer->vocab_size());
  const Outcome trained = weft(tuning(weft, path, "fra_Latn", "deu_Latn", "tuned.weft"));
  BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
  OpenedWriter opened(weft.path("tuned.weft"));
  const auto& model = dynamic_cast<const Seq2SeqModel&>(*opened.loaded.model);
  BOOST_TEST(model.config.start_id == 2);
  const PairEncoder encoder(model);
  Ids expected = plain_ids(path, kText);
  expected.push_back(2);
  expected.insert(expected.begin(), 5);
  BOOST_TEST(encoder.source(kText) == expected, boost::test_tools::per_element());
  expected.front() = 6;
  BOOST_TEST(encoder.target(kText) == expected, boost::test_tools::per_element());
  // These languages are the defaults of the tuned model and of its folder.
  const auto usual = opened.translate({kText})[0].ids;
  BOOST_TEST(usual.front() == 6);
  BOOST_TEST((usual == opened.translate({kText}, {.languages = {"fra_Latn", "deu_Latn"}})[0].ids));
  const Outcome converted =
      weft("convert " + weft.path("tuned.weft") + " --out " + weft.path("tuned"));
  BOOST_TEST_REQUIRE(converted.code == 0, converted.err);
  const Json settings = Json::parse(read_whole_file(weft.path("tuned/tokenizer_config.json")));
  BOOST_TEST(settings.at("src_lang") == "fra_Latn");
  BOOST_TEST(settings.at("tgt_lang") == "deu_Latn");
  BOOST_TEST(settings.at("tokenizer_class") == "NllbTokenizer");
  BOOST_TEST(Json::parse(read_whole_file(weft.path("tuned/generation_config.json")))
                 .at("forced_bos_token_id") == 6);
  BOOST_TEST((OpenedWriter(weft.path("tuned")).translate({kText})[0].ids == usual));
  // A file from a folder can be tuned again.
  const Outcome again =
      weft(tuning(weft, weft.path("tuned.weft"), "eng_Latn", "fra_Latn", "again.weft"));
  BOOST_TEST_REQUIRE(again.code == 0, again.err);
  BOOST_TEST(OpenedWriter(weft.path("again.weft")).translate({kText})[0].ids.front() == 5);
}

BOOST_AUTO_TEST_CASE(mbart_targets_end_with_the_language_with_which_outputs_begin) {
  const Shell weft;
  const TemporaryFolder made("mbart");
  testing::write_mbart(made, false);
  const Outcome trained = weft(tuning(weft, made.path(), "de_DE", "ro_RO", "tuned.weft"));
  BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
  OpenedWriter opened(weft.path("tuned.weft"));
  const auto& model = dynamic_cast<const Seq2SeqModel&>(*opened.loaded.model);
  const PairEncoder encoder(model);
  Ids expected = plain_ids(made.path(), kText);
  expected.push_back(2);
  expected.push_back(4);
  BOOST_TEST(encoder.source(kText) == expected, boost::test_tools::per_element());
  expected.back() = 6;
  Ids target = encoder.target(kText);
  BOOST_TEST(target == expected, boost::test_tools::per_element());
  BOOST_TEST((model.generation->start == TokenIds{6}));
  BOOST_TEST((model.config.decoder_start == DecoderStart::last_label));
  // Truncated sources keep their special ids, truncated targets only their language.
  Ids source = encoder.source(kText);
  const std::size_t size = source.size();
  BOOST_TEST(!encoder.cut_source(source, std::ssize(source)));
  BOOST_TEST(encoder.cut_source(source, std::ssize(source) - 1));
  BOOST_TEST(source.size() == size - 1);
  BOOST_TEST((Ids(source.end() - 2, source.end()) == Ids{2, 4}));
  BOOST_TEST(encoder.cut_target(target, 3));
  BOOST_TEST((target == Ids{expected[0], expected[1], 6}));
}

BOOST_AUTO_TEST_CASE(languages_that_cannot_be_trained_are_errors) {
  const Shell weft;
  const TemporaryFolder nllb("nllb"), t5("t5");
  testing::write_nllb(nllb);
  testing::write_t5(t5);
  const auto fails = [&](const std::string& command, const std::string& why) {
    const Outcome outcome = weft(command);
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(outcome.err.find(why) != std::string::npos, outcome.err);
  };
  fails(tuning(weft, nllb.path(), "fra_Latn", "deu", "x.weft"),
        "unknown language code 'deu' (did you mean deu_Latn?): the model supports eng_Latn");
  fails(tuning(weft, t5.path(), "en", "de", "x.weft"),
        "the model has no language codes, so 'en' cannot be used");
  const std::string pairs = weft.path("pairs.tsv"), out = " --out " + weft.path("x.weft");
  fails(
      "train seq2seq --from " + nllb.path() + " --pairs " + pairs + " --to-language deu_Latn" + out,
      "a pair of languages consists of two codes of a multilingual model");
  fails("train seq2seq --pairs " + pairs + " --to-language deu_Latn" + out,
        "--from-language and --to-language are language codes of the multilingual model in --from");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
