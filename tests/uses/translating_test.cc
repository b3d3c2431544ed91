// Translation with Marian, mBART and T5 folders, and the tasks and languages that their config
// files define.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(translating)
namespace {

using testing::IdTranslator;
using testing::Json;
using testing::OpenedWriter;
using testing::says;
using testing::TemporaryFolder;
using testing::wide;

const std::vector<std::string> kTexts = {"the grand old duke", "up", "he duked them up to the hill",
                                         "old old old"};

std::vector<std::string> texts_of(const std::vector<WrittenText>& written) {
  std::vector<std::string> texts;
  for (const WrittenText& one : written) texts.push_back(one.text);
  return texts;
}

BOOST_AUTO_TEST_CASE(marian_translations_match_the_generated_ids) {
  const TemporaryFolder made("marian");
  const std::string path = testing::write_marian(made);
  IdTranslator by_ids(path);
  const Tokenizer tokenizer = *read_tokenizer_folder(path).tokenizer;
  const hf::GenerationConfig said = hf::read_generation_config(by_ids.folder);
  const std::int64_t pad = tokenizer.pad_id();
  BOOST_TEST(said.start_id == pad);
  BOOST_TEST(said.options.beams == 4);
  BOOST_TEST((said.options.bad_token_ids == TokenIds{pad}));
  OpenedWriter opened(path);
  BOOST_TEST((opened.writer->options().start == TokenIds{pad}));
  for (const std::int64_t beams : {4, 1, 2}) {
    const auto written = opened.translate(kTexts, {.beams = beams});
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      const TokenIds prompt = wide(tokenizer.encode_text(kTexts[i]).ids);
      TokenIds ended = prompt;
      ended.push_back(tokenizer.eos_id());
      GenerationOptions options = said.options;
      options.beams = beams;
      const TokenIds expected =
          by_ids(prompt.back() == 0 ? prompt : ended, {pad}, options).sequences.front();
      BOOST_TEST((TokenIds(expected.begin() + 1, expected.end()) == written[i].ids));
      BOOST_TEST(std::count(written[i].ids.begin(), written[i].ids.end(), pad) == 0);
      BOOST_TEST(tokenizer.targets().decode(expected) == written[i].text);
      BOOST_TEST(written[i].score.has_value() == (beams > 1));
      BOOST_TEST(opened.translate({kTexts[i]}, {.beams = beams})[0].text == written[i].text);
    }
  }
  // Source and target texts are segmented by different SentencePiece models.
  BOOST_TEST(tokenizer.encode_text("grand").ids.size() + 5 ==
             tokenizer.targets().encode_text("grand").ids.size());
  // A .weft file gives the same results.
  const std::string file = made.path("marian.weft");
  save_model(file, *opened.loaded.model);
  BOOST_TEST(texts_of(OpenedWriter(file).translate(kTexts)) == texts_of(opened.translate(kTexts)),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bad_words_and_the_logits_bias_apply_to_marian) {
  const TemporaryFolder plain("marian"), biased("marian"), forbidding("marian");
  testing::write_marian(plain);
  OpenedWriter opened(testing::write_marian(plain));
  const TokenIds usual = opened.translate({kTexts[0]}, {.beams = 1})[0].ids;
  const std::int64_t often = usual.front();
  BOOST_TEST_REQUIRE(often != 0);
  OpenedWriter with_bias(testing::write_marian(biased, {}, [&](VariableStore& store) {
    Tensor bias = store.tensor("head.bias").clone();
    bias.mutable_data<float>()[often] = -1e4f;
    store.set("head.bias", bias);
  }));
  const TokenIds other = with_bias.translate({kTexts[0]}, {.beams = 1})[0].ids;
  BOOST_TEST(std::count(other.begin(), other.end(), often) == 0);
  // A bad word that consists of one id is never generated. If it consists of two ids, only that
  // sequence is forbidden.
  testing::write_marian(forbidding);
  const auto forbid = [&](const Json& words) {
    Json config = Json::parse(read_whole_file(forbidding.path("config.json")));
    config["bad_words_ids"] = words;
    config["bad_words_ids"].push_back(Json::array({config["pad_token_id"]}));
    forbidding.write("config.json", config.dump());
    return OpenedWriter(forbidding.path()).translate({kTexts[0]}, {.beams = 1})[0].ids;
  };
  BOOST_TEST((forbid({{often}}) == other));
  const TokenIds apart = forbid({{usual[0], usual[1]}});
  BOOST_TEST(apart[0] == usual[0]);
  BOOST_TEST(apart[1] != usual[1]);
}

BOOST_AUTO_TEST_CASE(multilingual_marian_models_accept_a_target_language) {
  const TemporaryFolder made("marian");
  OpenedWriter opened(testing::write_marian(made, {"deu", "fra"}));
  const auto& model = dynamic_cast<const Seq2SeqModel&>(*opened.loaded.model);
  const std::int32_t french = model.tokenizer.find(">>fra<<");
  BOOST_TEST(french == 3);
  const auto asked = opened.translate(kTexts, {.languages = {"", "fra"}});
  std::vector<std::string> marked;
  for (const std::string& text : kTexts) marked.push_back(">>fra<< " + text);
  BOOST_TEST(texts_of(asked) == texts_of(opened.translate(marked)),
             boost::test_tools::per_element());
  const auto ids = model.tokenizer.encode_text(marked[0]).ids;
  BOOST_TEST(ids.front() == french);
  const auto plain = model.tokenizer.encode_text(kTexts[0]).ids;
  BOOST_TEST((wide({ids.begin() + 1, ids.end()}) == wide(plain)));
  BOOST_CHECK_EXCEPTION(
      opened.translate(kTexts, {.languages = {"", "fr"}}), ArgumentError,
      says("unknown language code 'fr' (did you mean fra?): the model supports deu, "
           "fra"));
}

BOOST_AUTO_TEST_CASE(pegasus_summaries_match_the_generated_ids) {
  const TemporaryFolder made("pegasus");
  const std::string path = testing::write_pegasus(made);
  IdTranslator by_ids(path);
  OpenedWriter opened(path);
  const Tokenizer& tokenizer = opened.writer->tokenizer();
  const hf::GenerationConfig said = hf::read_generation_config(by_ids.folder);
  const std::vector<std::string> texts = {"he marched them up the hill", "up", "he zigzagged"};
  for (const bool task : {false, true}) {
    if (task) opened.writer->set_task("summarization_xsum");
    const GenerationOptions& options =
        task ? said.tasks.find("summarization_xsum")->second.options : said.options;
    BOOST_TEST(options.beams == 8);
    BOOST_TEST(options.max_length == (task ? 9 : 14));
    const auto written = opened.writer->generate(texts).run();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      TokenIds prompt = wide(tokenizer.encode_text(texts[i]).ids);
      if (prompt.back() != 1) prompt.push_back(1);
      const TokenIds expected = by_ids(prompt, {0}, options).sequences.front();
      BOOST_TEST((TokenIds(expected.begin() + 1, expected.end()) == written[i].ids));
      BOOST_TEST(tokenizer.decode(expected) == written[i].text);
      BOOST_TEST((opened.writer->generate({texts[i]}).run()[0].ids == written[i].ids));
      std::string heard;
      for (const std::string_view text : opened.writer->generate({texts[i]})) heard += text;
      BOOST_TEST(heard == written[i].text);
    }
  }
}

/// Task settings as published for T5, except for the lengths.
const Json kTasks = {{"task_specific_params",
                      {{"summarization",
                        {{"early_stopping", true},
                         {"length_penalty", 2.0},
                         {"max_length", 12},
                         {"min_length", 5},
                         {"no_repeat_ngram_size", 3},
                         {"num_beams", 4},
                         {"prefix", "summarize: "}}},
                       {"translation_en_to_de",
                        {{"early_stopping", true},
                         {"max_length", 9},
                         {"num_beams", 3},
                         {"prefix", "translate English to German: "}}},
                       {"drawing", {{"num_beam_groups", 2}}}}}};

BOOST_AUTO_TEST_CASE(tasks_override_the_generation_settings) {
  const TemporaryFolder made("t5");
  const std::string path = testing::write_t5(made, kTasks);
  made.write("generation_config.json",
             R"({"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "max_length": 7,
                 "num_beams": 2, "repetition_penalty": 1.25})");
  // Precedence from low to high: config.json, generation_config.json, the task.
  const GenerationSettings said =
      *dynamic_cast<const Seq2SeqModel&>(*load_any_model(path).model).generation;
  BOOST_TEST(said.options.max_length == 7);
  BOOST_TEST(said.options.beams == 2);
  const TaskGeneration& summary = said.task("summarization");
  BOOST_TEST(summary.prefix == "summarize: ");
  BOOST_TEST(summary.options.beams == 4);
  BOOST_TEST(summary.options.max_length == 12);
  BOOST_TEST(summary.options.min_length == 5);
  BOOST_TEST(summary.options.no_repeat_ngram == 3);
  BOOST_TEST(summary.options.length_penalty == 2.0);
  BOOST_TEST(summary.options.repetition_penalty == 1.25);
  BOOST_TEST(summary.options.eos_id == 1);
  BOOST_TEST(said.task("translation_en_to_de").options.length_penalty == 1.0);
  BOOST_CHECK_EXCEPTION(said.task("drawing"), ArgumentError,
                        says("task_specific_params.drawing: num_beam_groups is 2: generation with "
                             "this setting is not supported"));
  BOOST_CHECK_EXCEPTION(said.task("translation_en_to_fr"), ArgumentError,
                        says("unknown task 'translation_en_to_fr' (did you mean "
                             "'translation_en_to_de'?); available: drawing, summarization"));
  BOOST_TEST(GenerationSettings::from_json(said.to_json()).to_json() == said.to_json());

  // Generation for a task uses the prefix, the number of beams and the lengths of that task.
  IdTranslator by_ids(path);
  OpenedWriter opened(path);
  opened.writer->set_task("summarization");
  const Tokenizer& tokenizer = opened.writer->tokenizer();
  const auto written = opened.writer->generate(kTexts).run();
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    GenerationOptions options = summary.options;
    for (std::int64_t id = tokenizer.vocab_size(); id < testing::kFolderVocab; ++id)
      options.bad_token_ids.push_back(id);
    const TokenIds prompt = wide(tokenizer.encode_text("summarize: " + kTexts[i]).ids);
    const TokenIds expected = by_ids(prompt, {0}, options).sequences.front();
    BOOST_TEST((TokenIds(expected.begin() + 1, expected.end()) == written[i].ids));
    BOOST_TEST(expected.size() >= 5U);
  }
  // A .weft file contains the task settings. Files from earlier versions have no task settings.
  const std::string file = made.path("t5.weft");
  save_model(file, *opened.loaded.model);
  OpenedWriter again(file);
  again.writer->set_task("summarization");
  BOOST_TEST(texts_of(again.writer->generate(kTexts).run()) == texts_of(written),
             boost::test_tools::per_element());
  Json old = Json::parse(said.to_json());
  old.erase("tasks");
  BOOST_TEST(GenerationSettings::from_json(old.dump()).tasks.empty());
}

BOOST_AUTO_TEST_CASE(blenderbot_does_not_repeat_ngrams_of_the_source) {
  const TemporaryFolder made("blenderbot");
  testing::write_bart(made, {{"model_type", "blenderbot"},
                             {"architectures", {"BlenderbotForConditionalGeneration"}},
                             {"pad_token_id", 1}});
  const auto write = [&](std::int64_t size) {
    made.write("generation_config.json", Json{{"decoder_start_token_id", 2},
                                              {"eos_token_id", 2},
                                              {"pad_token_id", 1},
                                              {"max_length", 9},
                                              {"encoder_no_repeat_ngram_size", size}}
                                             .dump());
    return OpenedWriter(made.path()).translate({kTexts[0]})[0].ids;
  };
  write(0);  // no restriction
  OpenedWriter opened(made.path());
  const hf::GenerationConfig read =
      hf::generation_config(hf::read_folder(made.path()).config,
                            R"({"encoder_no_repeat_ngram_size": 3, "eos_token_id": 2})");
  BOOST_TEST(read.options.encoder_no_repeat_ngram.value() == 3);
  const std::string written = hf::generation_config_json(read);
  BOOST_TEST(Json::parse(written).at("encoder_no_repeat_ngram_size") == 3);
  GenerationOptions options = opened.writer->options();
  const TokenIds prompt = opened.writer->read(kTexts[0]);
  options.max_length = 9;
  options.encoder_no_repeat_ngram = 1;
  const TokenIds ids = opened.writer->generate_ids({prompt}, options).run()[0].ids;
  for (const std::int64_t id : ids) BOOST_TEST(std::count(prompt.begin(), prompt.end(), id) == 0);
  BOOST_TEST((write(1) == ids));
}

BOOST_AUTO_TEST_CASE(t5_accepts_language_codes_names_and_prefixes) {
  const TemporaryFolder made("t5");
  OpenedWriter opened(testing::write_t5(made, kTasks));
  const auto by_codes = opened.translate(kTexts, {.languages = {"en", "de"}});
  const auto by_names = opened.translate(kTexts, {.languages = {"English", "German"}});
  BOOST_TEST(texts_of(by_codes) == texts_of(by_names), boost::test_tools::per_element());
  BOOST_TEST(by_codes[0].score.has_value());  // the task uses beam search
  const std::string prefix = "translate English to German: ";
  const auto greedy = opened.translate(kTexts, {.beams = 1, .languages = {"English", "German"}});
  BOOST_TEST(!greedy[0].score.has_value());
  // The maximum length of the task still applies.
  for (const WrittenText& one : greedy) BOOST_TEST(one.ids.size() < 9U);
  // If there is no task for these languages, the prompt still names them.
  const auto others = opened.translate(kTexts, {.languages = {"English", "Swedish"}});
  BOOST_TEST(texts_of(others) ==
                 texts_of(opened.translate(kTexts, {.prefix = "translate English to Swedish: "})),
             boost::test_tools::per_element());
  // Languages cannot be set for a translator without language codes.
  const TemporaryFolder marian("marian");
  OpenedWriter other(testing::write_marian(marian));
  BOOST_CHECK_EXCEPTION(other.translate(kTexts, {.languages = {"en", "de"}}), ArgumentError,
                        says("the model has no language codes, so 'en' cannot be used"));
}

BOOST_AUTO_TEST_CASE(commands_accept_tasks_and_languages) {
  const Shell weft;
  const TemporaryFolder t5("t5"), bart("bart"), marian("marian");
  testing::write_t5(t5, kTasks);
  testing::write_bart(
      bart, {{"prefix", " "},
             {"task_specific_params", {{"summarization", {{"num_beams", 2}, {"max_length", 9}}}}}});
  testing::write_marian(marian, {"deu", "fra"});
  const auto lines = [&](const std::string& arguments) {
    const Outcome outcome = weft(arguments + " --threads 1 --json");
    BOOST_TEST_INFO(outcome.err);
    BOOST_REQUIRE_EQUAL(outcome.code, 0);
    return Json::parse(last_line(outcome.out));
  };
  // Command-line options take precedence over task settings, which take precedence over the general
  // settings in the folder.
  const std::string ask = "generate " + bart.path() + " --prompt 'he marched them up'";
  const Json usual = lines(ask), task = lines(ask + " --task summarization"),
             flags = lines(ask + " --task summarization --greedy --max-length 6");
  BOOST_TEST(usual["ids"].size() > task["ids"].size());
  BOOST_TEST(task["ids"].size() <= 8U);
  BOOST_TEST(task.contains("score"));
  BOOST_TEST(!flags.contains("score"));
  BOOST_TEST(flags["ids"].size() <= 5U);
  // The prefix in the folder's general settings applies to tasks that define no prefix.
  BOOST_TEST(task["ids"] ==
             lines("generate " + bart.path() +
                   " --prompt ' he marched them up' --beams 2 --max-length 9")["ids"]);
  const std::string german = "translate " + t5.path() + " up ";
  BOOST_TEST(lines(german + "--from en --to de") == lines(german + "--from English --to German"));
  BOOST_TEST(lines("translate " + marian.path() + " up --to fra")["ids"] ==
             lines("translate " + marian.path() + " '>>fra<< up'")["ids"]);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
