// The option --tokenizer: every text task accepts every tokenizer, either newly trained or read
// from a file.
#include "weft/models/tasks/common/tokenizer_choice.h"

#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/training/model.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(tokenizer_choices)
namespace {

Outcome succeeds(const Shell& weft, const std::string& arguments) {
  const Outcome outcome = weft(arguments);
  BOOST_TEST_CONTEXT(arguments << "\n" << outcome.out << outcome.err)
  BOOST_TEST(outcome.code == 0);
  return outcome;
}

/// Returns all tokenizer types, with vocabulary sizes that fit a small text, such as
/// "byte-bpe:270", and the path of a tokenizer file.
std::vector<std::string> all_forms(const std::string& file) {
  return {"bpe:60", "byte-bpe:270", "wordpiece:60", "unigram:60", file};
}

BOOST_AUTO_TEST_CASE(tokenizer_options_are_parsed_strictly) {
  using Kind = TokenizerChoice::Kind;
  BOOST_TEST((parse_tokenizer_choice("chars").kind == Kind::characters));
  BOOST_TEST((parse_tokenizer_choice("characters").kind == Kind::characters));
  const TokenizerChoice pairs = parse_tokenizer_choice("bpe:4000");
  BOOST_TEST((pairs.kind == Kind::pairs && pairs.vocab == 4000));
  BOOST_TEST((!parse_tokenizer_choice("unigram").vocab));
  for (const char* wrong :
       {"", "bpe:", "bpe:many", "bpe:3", "chars:60", "bpe :60", "no-such-file.json", "BPE"})
    BOOST_TEST_CONTEXT(wrong) BOOST_CHECK_THROW(parse_tokenizer_choice(wrong), ArgumentError);
  BOOST_TEST((parse_tokenizer_choice(".").kind == Kind::file));

  OptionValues values;
  values.add(kVocabOption, "90");
  BOOST_CHECK_THROW(tokenizer_choice(values, "chars"), ArgumentError);
  BOOST_TEST((tokenizer_choice(values, "bpe").vocab == 90));
  values.add(kTokenizerOption, "wordpiece:80");
  BOOST_CHECK_THROW(tokenizer_choice(values, "bpe"), ArgumentError);
}

BOOST_AUTO_TEST_CASE(language_models_report_bits_per_byte_with_any_tokenizer) {
  const Shell weft;
  const std::string text = weft.path("text.txt"), model = weft.path("m.weft");
  const std::string file = weft.path("t.json");
  succeeds(weft, "tokenizer train " + text + " --vocab 280 --out " + file);
  const std::string start = "train gpt --text " + text +
                            " --layers 1 --heads 2 --width 16 --context 16 --batch 4 --steps 2"
                            " --warmup 1 --threads 1 --out " +
                            model + " --tokenizer ";
  for (const std::string& form : all_forms(file)) {
    const Outcome trained = succeeds(weft, start + form);
    BOOST_TEST(contains(trained.out, "bits      "));
    BOOST_TEST(contains(trained.out, "per byte of the held-out text"));
    const bool lossy = form.starts_with("wordpiece") || form.starts_with("unigram");
    BOOST_TEST(contains(trained.out, "decoding does not reproduce the text") == lossy);
    const Outcome measured = succeeds(weft, "evaluate " + model + " --text " + text);
    BOOST_TEST(contains(measured.out, "bits_per_byte "));
    succeeds(weft, "generate " + model + " --prompt all --tokens 5 --threads 1");
    // A model file can also be used as a tokenizer.
    succeeds(weft, "tokenizer encode " + model + " 'all work'");
  }
  BOOST_TEST(load_model<LanguageModel>(model).tokenizer.vocab_size() == 280);
  check_error(weft(start + "no-such.json"), 2, "no such file");
  check_error(weft(start + "bpe:60 --vocab 60"), 2, "leave out --vocab");
  check_error(weft(start + file + " --vocab 60"), 2, "it requires --tokenizer bpe");
  check_error(weft(start + text), 1, "supported are a tokenizer.json");
  check_error(weft(start + "byte-bpe:100"), 2, "vocab 100 is too small");
}

BOOST_AUTO_TEST_CASE(encoders_accept_any_tokenizer_with_their_special_ids) {
  const Shell weft;
  const std::string text = weft.path("text.txt"), file = weft.path("t.json");
  succeeds(weft, "tokenizer train " + text + " --kind wordpiece --vocab 60 --out " + file);
  const std::string sizes =
      " --layers 1 --heads 2 --width 16 --inner 32 --context 16 --batch 4 --steps 2 --warmup 1"
      " --threads 1 --out " +
      weft.path("e.weft") + " --tokenizer ";
  for (const std::string& form : all_forms(file))
    succeeds(weft, "train encoder --task mlm --text " + text + sizes + form);
  std::string labelled;
  for (int i = 0; i < 60; ++i)
    labelled += i % 2 == 0 ? "good\tall play " + std::to_string(i) + "\n"
                           : "bad\tall work " + std::to_string(i) + "\n";
  const std::string data = weft.write("labelled.tsv", labelled);
  for (const char* form : {"byte-bpe:270", "wordpiece:60"})
    succeeds(weft, "train encoder --task classify --data " + data + sizes + form);
  check_error(weft("train encoder --task mlm --text " + text + sizes + "chars"), 1,
              "the tokenizer in --tokenizer chars has no piece for [CLS]");
}

BOOST_AUTO_TEST_CASE(encoder_decoders_accept_any_tokenizer_with_their_special_ids) {
  const Shell weft;
  std::string pairs, documents;
  for (int i = 0; i < 60; ++i) {
    pairs += "all work " + std::to_string(i) + "\tno play " + std::to_string(i) + "\n";
    documents += "all work and no play " + std::to_string(i) + (i % 3 == 2 ? "\n\n" : "\n");
  }
  const std::string data = weft.write("pairs.tsv", pairs);
  const std::string text = weft.write("documents.txt", documents), file = weft.path("t.json");
  succeeds(weft, "tokenizer train " + text + " --kind unigram --vocab 40 --out " + file);
  const std::string sizes =
      " --encoder-layers 1 --decoder-layers 1 --width 16 --encoder-heads 2 --decoder-heads 2"
      " --encoder-inner 32 --decoder-inner 32 --batch 128 --steps 2 --warmup 1 --threads 1 --out " +
      weft.path("s.weft") + " --tokenizer ";
  for (const std::string& form : all_forms(file)) {
    const Outcome trained = succeeds(weft, "train seq2seq --pairs " + data + sizes + form);
    BOOST_TEST(contains(trained.out, "bits per byte of the targets"));
    const Outcome measured = succeeds(weft, "evaluate " + weft.path("s.weft") + " --pairs " + data);
    BOOST_TEST(contains(measured.out, "bits_per_byte "));
  }
  check_error(weft("train seq2seq --preset reversal" + sizes + "bpe:60"), 2,
              "leave out --tokenizer");
  for (const char* form : {"byte-bpe:420", "unigram:160"})
    succeeds(weft,
             "train seq2seq --task span-corruption --passage 16 --text " + text + sizes + form);
  check_error(
      weft("train seq2seq --task span-corruption --passage 16 --text " + text + sizes + file), 2,
      "<extra_id_");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
