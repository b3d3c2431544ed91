// Text generation with models in folders. Texts match the generated ids, batched or one by one.
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/generate/generator.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(text_writer)
namespace {

using testing::says;
using testing::TemporaryFolder;

const std::vector<std::string> kTexts = {"the grand old duke", "up", "he marched them up to the",
                                         "süßes Öl"};

using Opened = testing::OpenedWriter;
using testing::wide;

/// Returns the ids that have no text and must never be generated.
TokenIds ids_without_text(const Tokenizer& tokenizer) {
  TokenIds ids;
  for (std::int64_t id = tokenizer.vocab_size(); id < testing::kFolderVocab; ++id)
    ids.push_back(id);
  return ids;
}

void check_text(const Tokenizer& tokenizer, const WrittenText& written, const TokenIds& sequence,
                std::size_t front) {
  const TokenIds begins(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(front));
  BOOST_TEST((written.ids ==
              TokenIds(sequence.begin() + static_cast<std::ptrdiff_t>(front), sequence.end())));
  BOOST_TEST(tokenizer.decode(begins) + written.text == tokenizer.decode(sequence));
}

BOOST_AUTO_TEST_CASE(decoder_texts_match_the_generated_ids) {
  for (const auto write : {testing::write_gpt2, testing::write_llama}) {
    const TemporaryFolder made("decoder");
    const std::string path = write(made);
    // Generate from ids with the model built by models/hf.
    const hf::Folder folder = hf::read_folder(path);
    Graph graph;
    const hf::GptModel model = hf::build_gpt_model(graph, folder.config);
    const Program decode =
        model.gpt.decode_program(graph.input("tokens", DType::i64, {"rows", "new"}));
    Session session(graph, hf::load_weights(model.model, graph, folder), {.threads = 2});
    Generator generator(session, decode, model.gpt.config());
    const Tokenizer tokenizer = *read_tokenizer_folder(path).tokenizer;

    Opened opened(path);
    BOOST_TEST(opened.writer->continues());
    BOOST_TEST(!opened.loaded.model->can_train());
    GenerationOptions short_texts = opened.writer->options();
    short_texts.max_new = 7;
    const auto written = opened.writer->generate(kTexts, short_texts).run();
    GenerationOptions options = hf::read_generation_config(folder).options;
    options.max_new = 7;
    options.bad_token_ids = ids_without_text(tokenizer);
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      const TokenIds prompt = wide(tokenizer.encode_text(kTexts[i]).ids);
      BOOST_TEST((prompt.front() == 1) == (model.model.model_type == "llama"));
      const TokenIds alone = generator.generate({prompt}, options).run().sequences.front();
      check_text(tokenizer, written[i], alone, prompt.size());
      BOOST_TEST(
          (written[i].finish == (alone.back() == options.eos_id ? Finish::end : Finish::length)));
    }
    // Small batches of similar length and streaming give the same results as single texts.
    std::vector<std::string> streamed(kTexts.size());
    short_texts.batch = 2;
    TextGeneration generation = opened.writer->generate(kTexts, short_texts);
    while (const auto piece = generation.next()) streamed[piece->row] += piece->text;
    const auto parts = generation.run();
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      BOOST_TEST((parts[i].ids == written[i].ids));
      BOOST_TEST(streamed[i] == written[i].text);
    }
  }
}

BOOST_AUTO_TEST_CASE(encoder_decoder_texts_match_the_generated_ids) {
  for (const auto write : {testing::write_t5, testing::write_bart}) {
    const TemporaryFolder made("encoder_decoder");
    const std::string path = write(made, testing::Json::object());
    testing::IdTranslator ids(path);
    const Tokenizer tokenizer = *read_tokenizer_folder(path).tokenizer;

    Opened opened(path);
    BOOST_TEST(!opened.writer->continues());
    const std::vector<WrittenText> written = opened.writer->generate(kTexts).run();
    const hf::GenerationConfig said = hf::read_generation_config(ids.folder);
    const TokenIds start = {said.start_id >= 0 ? said.start_id : 0};
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      const TokenIds prompt = wide(tokenizer.encode_text(kTexts[i]).ids);
      GenerationOptions options = said.options;
      options.bad_token_ids = ids_without_text(tokenizer);
      if (!said.states_length) options.max_length = 2 * ((std::ssize(prompt) + 7) / 8 * 8) + 8;
      const SearchResult alone = ids(prompt, start, options);
      check_text(tokenizer, written[i], alone.sequences.front(), 1);
      BOOST_TEST(written[i].score.has_value() == (options.beams > 1));
    }
    // The model file contains the generation settings.
    const std::string file = made.path("model.weft");
    save_model(file, *opened.loaded.model);
    Opened again(file);
    const std::vector<WrittenText> same = again.writer->generate(kTexts).run();
    for (std::size_t i = 0; i < kTexts.size(); ++i) BOOST_TEST((same[i].ids == written[i].ids));
    BOOST_TEST((translate(again.session, dynamic_cast<Seq2SeqModel&>(*again.loaded.model), kTexts,
                          {.batch = 2})[2] == repaired(written[2].text)));
  }
}

BOOST_AUTO_TEST_CASE(generation_stops_at_stop_texts_and_samples_do_not_depend_on_the_batch) {
  const TemporaryFolder made("decoder");
  Opened opened(testing::write_gpt2(made));
  GenerationOptions options = opened.writer->options();
  options.max_new = 12;
  options.sampling = SamplingOptions{.seed = 4};
  const auto sampled = opened.writer->generate(kTexts, options).run();
  options.batch = 3;
  const auto parts = opened.writer->generate(kTexts, options).run();
  for (std::size_t i = 0; i < kTexts.size(); ++i) BOOST_TEST((parts[i].ids == sampled[i].ids));
  std::string whole;
  for (const WrittenText& one : sampled) whole = one.text.size() > whole.size() ? one.text : whole;
  const std::string stop = whole.substr(whole.size() / 2, 2);
  GenerationOptions stopping = options;
  stopping.stop_texts = {stop};
  for (const WrittenText& one : opened.writer->generate(kTexts, stopping).run()) {
    const std::size_t at = one.text.find(stop);
    BOOST_TEST((at == std::string::npos) == (one.finish != Finish::stop));
  }
  // The caller stops after three ids.
  TextGeneration generation = opened.writer->generate({kTexts[0]}, options);
  int heard = 0;
  std::string streamed;
  for (const std::string_view text : generation) {
    streamed += text;
    if (++heard == 3) generation.stop(0);
  }
  const auto cancelled = generation.run();
  BOOST_TEST(cancelled.front().text == streamed);
  BOOST_TEST((cancelled.front().finish == Finish::cancelled));
  BOOST_TEST(cancelled.front().ids.size() == 3U);
}

BOOST_AUTO_TEST_CASE(language_codes_are_placed_as_in_the_original_tokenizer) {
  for (const bool fifty : {false, true}) {
    const TemporaryFolder made("mbart");
    Opened opened(testing::write_mbart(made, fifty));
    const auto& model = dynamic_cast<Seq2SeqModel&>(*opened.loaded.model);
    const std::string text = kTexts[0];
    // The ids in the original library are 4 for de_DE, 5 for en_XX and 6 for ro_RO.
    const TokenIds plain = wide(model.tokenizer.encode(text));
    TokenIds source = plain, start = {2};
    GenerationOptions options = opened.writer->options_for(plain, opened.writer->options());
    if (fifty) {
      source.insert(source.begin(), 4);
      source.push_back(2);
      options.forced_bos_id = 6;
    } else {
      source.insert(source.end(), {2, 4});
      start = {6};
    }
    options.start = start;
    const SearchResult expected =
        Seq2SeqGenerator(opened.session, model.decoding()).generate({source}, options).run();
    const TranslateOptions asked{.languages = {"de_DE", "ro_RO"}};
    const auto found = translate_texts(opened.session, model, {text}, asked);
    const TokenIds& whole = expected.sequences.front();
    BOOST_TEST((found.front().ids == TokenIds(whole.begin() + 1, whole.end())));
    BOOST_CHECK_EXCEPTION(
        translate(opened.session, model, {text}, {.languages = {"de_DE", "sv_SE"}}), ArgumentError,
        says("unknown language code 'sv_SE': the model supports de_DE, en_XX, ro_RO"));
  }
  const TemporaryFolder made("t5");
  Opened t5(testing::write_t5(made));
  const auto& model = dynamic_cast<Seq2SeqModel&>(*t5.loaded.model);
  BOOST_CHECK_EXCEPTION(translate(t5.session, model, {"a"}, {.languages = {"", "de_DE"}}),
                        ArgumentError,
                        says("the model needs both languages in its prefix: give the source"));
  const std::string prefix = "translate English to German: ";
  BOOST_TEST(translate(t5.session, model, {"up"}, {.prefix = prefix}) ==
                 translate(t5.session, model, {prefix + "up"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(errors_explain_why_a_model_cannot_generate_text) {
  const TemporaryFolder made("broken");
  const std::string path = testing::write_gpt2(made);
  {
    Opened opened(path);
    std::string text;
    for (int i = 0; i < 60; ++i) text += "up and down ";
    BOOST_CHECK_EXCEPTION(opened.writer->generate({"up", text}), TextError,
                          says("text 2: it has 181 tokens, but the model, which needs room for "
                               "output, accepts at most 47"));
    BOOST_CHECK_EXCEPTION(opened.writer->generate({""}), TextError,
                          says("text 1: it is empty: generation needs at least one token"));
  }
  made.write("tokenizer.json", testing::tokenizer_json(
                                   [] {
                                     std::vector<std::string> names;
                                     for (int i = 0; i < 90; ++i)
                                       names.push_back("<" + std::to_string(i) + ">");
                                     return names;
                                   }(),
                                   {}));
  BOOST_CHECK_EXCEPTION(load_any_model(path), ArgumentError, says(path + ": the tokenizer has 3"));
  std::filesystem::remove(made.path("tokenizer.json"));
  Opened opened(path);
  BOOST_CHECK_EXCEPTION(opened.writer->read("a"), FormatError, says(path + " has no tokenizer"));
  BOOST_TEST(opened.writer->missing_tokenizer().starts_with(path + " has no tokenizer"));
  BOOST_CHECK_EXCEPTION(opened.loaded.model->check(), ArgumentError, says("has no tokenizer"));
}

BOOST_AUTO_TEST_CASE(generation_settings_round_trip) {
  GenerationSettings settings;
  settings.options = {.beams = 4, .max_length = 77, .eos_id = 3, .stop_ids = {5, 6}};
  settings.options.forced = {{1, 8}, {2, 9}};
  settings.options.bad_token_sequences = {{1, 2}, {3}};
  settings.options.early_stopping = EarlyStopping::never;
  settings.options.sampling = SamplingOptions{.temperature = 0.7, .top_k = 50, .top_p = 0.9};
  settings.start = {2, 4};
  settings.after = {3};
  settings.states_length = true;
  const GenerationSettings read = GenerationSettings::from_json(settings.to_json());
  BOOST_TEST(read.to_json() == settings.to_json());
  BOOST_TEST((read.options.forced == settings.options.forced));
  BOOST_TEST(read.options.sampling->top_p == 0.9);
  BOOST_TEST((read.options.early_stopping == EarlyStopping::never));
  BOOST_CHECK_EXCEPTION(GenerationSettings::from_json("{}"), FormatError,
                        says("the generation settings do not contain 'beams'"));
  const auto broken = [&](const char* key, testing::Json value) {
    testing::Json object = testing::Json::parse(settings.to_json());
    object[key] = std::move(value);
    return object.dump();
  };
  for (const auto& [text, message] :
       {std::pair{broken("surprise", 1),
                  "the generation settings contain an unknown field 'surprise'"},
        {broken("stop_ids", 7), "'stop_ids' must be a list, not 7"},
        {broken("forced", {{1, 2, 3}}), "'forced' must contain [position, id] pairs"},
        {broken("sampling", 4), "do not contain the object 'sampling'"},
        {broken("start", {"a"}), "'start' must be an integer"}})
    BOOST_CHECK_EXCEPTION(GenerationSettings::from_json(text), FormatError, says(message));
}

Outcome succeeds(const Outcome& outcome) {
  BOOST_TEST_INFO(outcome.err);
  BOOST_REQUIRE_EQUAL(outcome.code, 0);
  return outcome;
}

BOOST_AUTO_TEST_CASE(generate_accepts_model_folders) {
  const Shell weft;
  const TemporaryFolder gpt2("gpt2"), bart("bart");
  testing::write_gpt2(gpt2);
  testing::write_bart(bart);
  const std::string command = "generate " + gpt2.path() + " --tokens 6 --threads 1";
  const std::string streamed = succeeds(weft(command + " --prompt 'the grand old'")).out;
  BOOST_TEST(streamed.starts_with("the grand old"));
  const Outcome both = succeeds(weft(command + " --prompt up --prompt 'the grand old' --batch 1"));
  BOOST_TEST(both.out.find("---\n" + streamed) != std::string::npos);
  BOOST_TEST(contains(both.err, "2 texts, "));
  // JSON output has the generated text and the ids as separate fields.
  weft.write("lines", "up\n\nthe grand old\n");
  const Outcome lines = succeeds(weft(command + " --json --prompts " + weft.path("lines")));
  const testing::Json last = testing::Json::parse(last_line(lines.out));
  BOOST_TEST(last.at("prompt") == "the grand old");
  BOOST_TEST("the grand old" + last.at("text").get<std::string>() + "\n" == repaired(streamed));
  BOOST_TEST(last.at("ids").size() <= 6U);
  BOOST_TEST((last.at("finish") == "length" || last.at("finish") == "end"));
  BOOST_TEST(std::count(lines.out.begin(), lines.out.end(), '\n') == 2);
  const std::string ids = succeeds(weft(command + " --ids --prompt 'the grand old'")).out;
  BOOST_TEST(contains(ids, std::to_string(last.at("ids").back().get<int>()) + "\n"));
  // A summarisation uses the number of beams in the generation settings.
  const Outcome summary =
      succeeds(weft("generate " + bart.path() + " --json --prompt 'he marched them up'"));
  BOOST_TEST(testing::Json::parse(summary.out).contains("score"));
  check_error(weft("generate " + bart.path()), 2, "give --prompt");
  check_error(weft(command + " --json --ids --prompt a"), 2, "--json already prints the ids");
  std::filesystem::remove(gpt2.path("tokenizer.json"));
  check_error(weft(command + " --prompt a"), 2, gpt2.path() + " has no tokenizer");
}

BOOST_AUTO_TEST_CASE(translate_and_score_accept_model_folders) {
  const Shell weft;
  const TemporaryFolder mbart("mbart"), llama("llama"), t5("t5");
  testing::write_mbart(mbart, true);
  testing::write_llama(llama);
  testing::write_t5(t5);
  const std::string command = "translate " + mbart.path() + " --threads 1 ";
  const std::string languages = "--from de_DE --to ro_RO ";
  const std::string one = succeeds(weft(command + languages + "'süßes Öl'")).out;
  weft.write("lines", "the grand old duke of york\nsüßes Öl\n");
  const Outcome two = succeeds(weft(command + languages + "--json --input " + weft.path("lines")));
  BOOST_TEST(testing::Json::parse(last_line(two.out)).at("text").get<std::string>() + "\n" == one);
  BOOST_TEST(contains(two.err, "2 texts, "));
  check_error(weft(command + "--to xx up"), 2,
              "unknown language code 'xx': the model supports de_DE, en_XX");
  const std::string german = "translate " + t5.path() + " up --threads 1 ";
  BOOST_TEST(succeeds(weft(german + "--from English --to German")).out ==
             succeeds(weft(german + "--prefix 'translate English to German: '")).out);
  check_error(weft("translate " + llama.path() + " up"), 1, "which does not translate");

  const std::string scores = "score " + llama.path() + " --threads 1 ";
  const Outcome text = succeeds(weft(scores + "--continuation 'the grand old duke'"));
  BOOST_TEST(contains(text.out, "bits_per_byte "));
  const Outcome all = succeeds(weft(scores + "--json --input " + weft.path("lines")));
  const testing::Json first = testing::Json::parse(all.out.substr(0, all.out.find('\n')));
  BOOST_TEST(first.at("text") == "the grand old duke of york");
  BOOST_TEST(first.at("bits_per_byte").get<double>() > 0);
  BOOST_TEST(contains(succeeds(weft(scores + "--input " + weft.path("lines"))).out,
                      "\nall 2 texts: bits_per_byte "));
  const Outcome pair =
      succeeds(weft("score " + t5.path() + " --prompt up --continuation down --threads 1"));
  BOOST_TEST(contains(pair.out, "\n</s> "));
  check_error(weft("score " + t5.path() + " --continuation down"), 2, "needs a prompt");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
