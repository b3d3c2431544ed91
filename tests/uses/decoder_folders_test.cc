// Decoders exported as Hugging Face folders.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>

#include "folder_round_trip.h"
#include "weft/core/error.h"
#include "weft/graph/weights/quantized_weights.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(decoder_folders)
namespace {

using nlohmann::json;
using testing::check_round_trip;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

const std::vector<std::string> kTexts = {"the grand old duke of york", "", "süßes Öl, up & down!"};

json decoder(const std::string& type) {
  if (type == "gpt2" || type == "openai-gpt") {
    return {{"model_type", type},
            {"architectures", {type == "gpt2" ? "GPT2LMHeadModel" : "OpenAIGPTLMHeadModel"}},
            {"vocab_size", testing::kFolderVocab},
            {"n_embd", 16},
            {"n_layer", 2},
            {"n_head", 2},
            {"n_positions", 48},
            {"initializer_range", 0.4}};
  }
  json config = {{"model_type", type},
                 {"architectures",
                  {type == "gpt_neox" ? "GPTNeoXForCausalLM"
                   : type == "llama"  ? "LlamaForCausalLM"
                   : type == "qwen3"  ? "Qwen3ForCausalLM"
                                      : "MistralForCausalLM"}},
                 {"vocab_size", testing::kFolderVocab},
                 {"hidden_size", 16},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},
                 {"intermediate_size", 32},
                 {"max_position_embeddings", 64},
                 {"initializer_range", 0.4}};
  if (type == "gpt_neox") {
    config["rotary_pct"] = 0.5;
  } else {
    config["num_key_value_heads"] = 2;
  }
  return config;
}

void write_decoder(const TemporaryFolder& folder, const json& config) {
  testing::write_model(folder.path(), config);
  folder.write("tokenizer.json", testing::tokenizer_json({"<unk>", "<s>", "</s>"}, {{"<s>"}, {}}));
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "LlamaTokenizer",
                   "clean_up_tokenization_spaces": false})");
}

/// Returns the loss of every token of a text, computed by the model's own program.
Tensor losses(const TrainedModel& model) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 12; ++i) ids.push_back(i * 7 % 23);
  Session session(*model.graph, model.store, {.threads = 1});
  return session.run(
      model.program("score"),
      {{"tokens", Tensor::of({1, 11}, std::vector(ids.begin(), ids.end() - 1))},
       {"targets", Tensor::of({1, 11}, std::vector(ids.begin() + 1, ids.end()))}})["losses"];
}

BOOST_AUTO_TEST_CASE(every_decoder_family_round_trips) {
  for (const char* type : {"gpt2", "openai-gpt", "gpt_neox", "llama", "mistral", "qwen3"}) {
    BOOST_TEST_CONTEXT(type) {
      const TemporaryFolder folder("decoder");
      json config = decoder(type);
      // Add keys that have no field in Weft, and keys that have a different name in Weft.
      config.update({{"transformers_version", "4.40.0"},
                     {"bos_token_id", 1},
                     {"use_cache", true},
                     {"task_specific_params", {{"text-generation", {{"max_length", 50}}}}}});
      if (std::string(type) == "gpt2") config["n_ctx"] = 48;
      write_decoder(folder, config);
      check_round_trip(folder.path(), kTexts);
    }
  }
}

BOOST_AUTO_TEST_CASE(decoder_variants_round_trip) {
  json scaled = decoder("llama");
  scaled["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 32}};
  json biased = decoder("llama");
  biased.update({{"attention_bias", true},
                 {"mlp_bias", true},
                 {"head_dim", 8},
                 {"tie_word_embeddings", true},
                 {"pad_token_id", 0}});
  json newer = decoder("llama");
  newer["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5000.0}};
  json whole = decoder("mistral");
  whole["sliding_window"] = nullptr;
  json serial = decoder("gpt_neox");
  serial.update({{"use_parallel_residual", false}, {"rotary_pct", 0.5}, {"rope_theta", 1000}});
  json wide = decoder("gpt2");
  wide.update({{"n_inner", 20}, {"activation_function", "relu"}, {"tie_word_embeddings", false}});
  json first = decoder("openai-gpt");
  first["afn"] = "swish";
  for (const json& config : {scaled, biased, newer, whole, serial, wide, first}) {
    BOOST_TEST_CONTEXT(config.dump()) {
      const TemporaryFolder folder("decoder");
      write_decoder(folder, config);
      check_round_trip(folder.path(), kTexts);
    }
  }
}

BOOST_AUTO_TEST_CASE(decoder_classifiers_round_trip) {
  for (const char* type : {"gpt2", "llama"}) {
    BOOST_TEST_CONTEXT(type) {
      const TemporaryFolder folder("decoder");
      json config = decoder(type);
      config["architectures"] = {std::string(type) == "gpt2" ? "GPT2ForSequenceClassification"
                                                             : "LlamaForSequenceClassification"};
      config.update({{"pad_token_id", 0}, {"id2label", {{"0", "bad"}, {"1", "good"}}}});
      write_decoder(folder, config);
      check_round_trip(folder.path(), kTexts);
    }
  }
}

BOOST_AUTO_TEST_CASE(generation_settings_and_chat_templates_are_exported) {
  const TemporaryFolder folder("decoder"), out("out");
  testing::write_llama(folder);
  folder.write(
      "tokenizer_config.json",
      R"({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "legacy": true})");
  folder.write("chat_template.jinja",
               "{{ bos_token }}{% for m in messages %}{{ m['content'] }}"
               "{% endfor %}");
  check_round_trip(folder.path(), kTexts);
  const auto loaded = load_any_model(folder.path());
  save_folder(out.path("same"), *loaded.model);
  for (const char* name :
       {"generation_config.json", "chat_template.jinja", "tokenizer_config.json"})
    BOOST_TEST(read_whole_file(out.path("same/") + name) == read_whole_file(folder.path(name)));
  // Changed settings are written under Hugging Face key names.
  auto& model = dynamic_cast<LanguageModel&>(*loaded.model);
  GenerationOptions& o = model.generation->options;
  o.beams = 3;
  o.stop_ids = {5};
  o.bad_token_ids = {7};
  o.bad_first_token_ids = {2};
  o.bad_token_sequences = {{3, 4}};
  o.forced = {{1, 9}};
  o.early_stopping = EarlyStopping::first;
  o.length_penalty = 0.5;
  model.chat = ChatFormat::from_template("{{ messages[0]['content'] }}", {});
  save_folder(out.path("changed"), model);
  const auto again = load_any_model(out.path("changed"));
  const auto& read = dynamic_cast<const LanguageModel&>(*again.model);
  BOOST_TEST(read.generation->to_json() == model.generation->to_json());
  BOOST_TEST(read.chat->source() == model.chat->source());
  o.beams = 1;
  o.early_stopping = EarlyStopping::heuristic;
  o.sampling = SamplingOptions{.temperature = 0.7, .top_k = 4, .top_p = 0.9, .min_p = 0.1};
  save_folder(out.path("drawn"), model);
  const auto sampled = load_any_model(out.path("drawn"));
  BOOST_TEST(dynamic_cast<const LanguageModel&>(*sampled.model).generation->to_json() ==
             model.generation->to_json());
  o.suppressed = {3};
  check_error_message<ArgumentError>([&] { save_folder(out.path("never"), model); },
                                     "the generation settings cannot be written");
  BOOST_TEST(!fs::exists(out.path("never")));
}

BOOST_AUTO_TEST_CASE(a_folder_is_fine_tuned_and_exported_again) {
  const Shell weft;
  for (const char* type : {"gpt2", "openai-gpt", "gpt_neox", "llama", "mistral", "qwen3"}) {
    BOOST_TEST_CONTEXT(type) {
      const TemporaryFolder folder("decoder");
      write_decoder(folder, decoder(type));
      const std::string file = weft.path("tuned.weft"), out = weft.path("tuned/");
      const Outcome trained =
          weft("train gpt --from " + folder.path() + " --text " + weft.path("text.txt") +
               " --steps 2 --warmup 1 --batch 2 --threads 2 --out " + file);
      BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
      const Outcome made = weft("convert " + file + " --out " + out);
      BOOST_TEST_REQUIRE(made.code == 0, made.err);
      BOOST_TEST(contains(made.out, "tuned/: a "));
      const auto tuned = load_any_model(file), read = load_any_model(out);
      BOOST_TEST(bitwise_equal(losses(*tuned.model), losses(*read.model)));
      // The weights differ from those in the original folder, but config.json is the same except
      // for dropout.
      BOOST_TEST(!bitwise_equal(losses(*read.model), losses(*load_any_model(folder.path()).model)));
      json before = json::parse(hf::read_folder(folder.path()).config);
      const json after = json::parse(hf::read_folder(out).config);
      for (const auto& [key, value] : before.items()) BOOST_TEST(after.at(key) == value, key);
      testing::check_same_tokenizer(out, folder.path(), kTexts);
      fs::remove_all(out);
    }
  }
}

BOOST_AUTO_TEST_CASE(models_trained_by_weft_are_exported_as_hugging_face_classes) {
  const Shell weft;
  const std::string small =
      " --text " + weft.path("text.txt") +
      " --steps 2 --warmup 1 --batch 2 --threads 2 --layers 1 --heads 2 --width 16 --context 16";
  const auto trained = [&](const std::string& options) {
    const Outcome outcome = weft("train gpt" + small + options + " --out " + weft.path("m.weft"));
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    return load_any_model(weft.path("m.weft"));
  };
  const auto characters = trained(" --bias");
  BOOST_TEST(save_folder(weft.path("characters"), *characters.model).architecture ==
             "GPT2LMHeadModel");
  const auto read = load_any_model(weft.path("characters"));
  BOOST_TEST(bitwise_equal(losses(*characters.model), losses(*read.model)));
  const std::string text = "a dull boy 3\nall";
  BOOST_TEST(dynamic_cast<const LanguageModel&>(*read.model).tokenizer.encode(text) ==
                 dynamic_cast<const LanguageModel&>(*characters.model).tokenizer.encode(text),
             boost::test_tools::per_element());
  const auto llama = trained(" --preset llama-cpu --kv-heads 1 --tokenizer byte-bpe:300");
  const FolderReport report = save_folder(weft.path("llama"), *llama.model);
  BOOST_TEST(report.architecture == "LlamaForCausalLM");
  BOOST_TEST(
      bitwise_equal(losses(*llama.model), losses(*load_any_model(weft.path("llama")).model)));
  const auto dropped = trained(" --preset llama-cpu --tokenizer byte-bpe:300 --dropout 0.1");
  BOOST_TEST_REQUIRE(save_folder(weft.path("llama"), *dropped.model).notes.size() == 1U);
  BOOST_TEST(contains(save_folder(weft.path("llama"), *dropped.model).notes[0],
                      "have no key in a transformers config of type \"llama\" are not written: "
                      "embedding_dropout = 0.1, residual_dropout = 0.1"));
  dropped.model->task = "painting";
  check_error_message<ArgumentError>(
      [&] { save_folder(weft.path("no"), *dropped.model); },
      "the model was trained for the task 'painting', which this program does not support");
  const auto pieces = trained(" --bias --tokenizer bpe:60");
  BOOST_TEST_REQUIRE(save_folder(weft.path("pieces"), *pieces.model).notes.size() == 1U);
  BOOST_TEST(contains(
      save_folder(weft.path("pieces"), *pieces.model).notes[0],
      "no tokenizer class of Hugging Face's library is known to tokenize in the same way as this"));
  BOOST_TEST(
      bitwise_equal(losses(*pieces.model), losses(*load_any_model(weft.path("pieces")).model)));
  // The error names settings that no Hugging Face class supports.
  const auto unsupported = trained(" --bias --positions linear_bias");
  check_error_message<ArgumentError>(
      [&] { save_folder(weft.path("odd"), *unsupported.model); },
      "no Hugging Face model type supports positions = \"linear_bias\" in "
      "combination with the rest of this config: the "
      "closest type, \"gpt2\", has \"learned\"");
  BOOST_TEST(!fs::exists(weft.path("odd")));
}

BOOST_AUTO_TEST_CASE(adapters_become_adapter_folders_and_quantised_weights_floats) {
  const Shell weft;
  const TemporaryFolder folder("decoder");
  write_decoder(folder, decoder("llama"));
  const std::string data =
      " --text " + weft.path("text.txt") + " --steps 2 --warmup 1 --batch 2 --threads 2 --out ";
  const Outcome adapted = weft("train gpt --from " + folder.path() + " --lora-rank 2" + data +
                               weft.path("adapted.weft"));
  BOOST_TEST_REQUIRE(adapted.code == 0, adapted.err);
  const Outcome adapters =
      weft("convert " + weft.path("adapted.weft") + " --out " + weft.path("a/"));
  BOOST_TEST_REQUIRE(adapters.code == 0, adapters.err);
  BOOST_TEST(fs::exists(weft.path("a/adapter_config.json")));
  BOOST_TEST(!fs::exists(weft.path("a/config.json")));
  check_error_message<ArgumentError>(
      [&] { save_folder(weft.path("b"), *load_any_model(weft.path("adapted.weft")).model); },
      "the model has adapters: merge them into its weights first");
  BOOST_TEST(!fs::exists(weft.path("b")));
  const Outcome tuned = weft("train gpt --from " + folder.path() + data + weft.path("t.weft"));
  BOOST_TEST_REQUIRE(tuned.code == 0, tuned.err);
  const Outcome small = weft("quantize " + weft.path("t.weft") + " --activations int8 --out " +
                             weft.path("small.weft"));
  BOOST_TEST_REQUIRE(small.code == 0, small.err);
  const std::string convert = "convert " + weft.path("small.weft") + " --out ";
  for (const auto& [out, files] : std::map<std::string, std::string>{
           {"small/", "Hugging Face folders"}, {"small.gguf", "GGUF files"}}) {
    check_error(weft(convert + weft.path(out)), 1,
                "matrices are rounded to int8, which " + files +
                    " cannot express: drop the rounding (weft convert --drop-activation-rounding");
    BOOST_TEST(!fs::exists(weft.path(out)));
  }
  const std::string drop = " --drop-activation-rounding";
  const Outcome made = weft(convert + weft.path("small/") + drop);
  BOOST_TEST_REQUIRE(made.code == 0, made.err);
  BOOST_TEST(contains(made.out, "note      "));
  BOOST_TEST(contains(made.out, "quantised matrices are written as f32"));
  BOOST_TEST(contains(made.out, "dropped   the rounding of activations to int8"));
  const Outcome file = weft(convert + weft.path("small.gguf") + drop);
  BOOST_TEST_REQUIRE(file.code == 0, file.err);
  BOOST_TEST_REQUIRE(weft(convert + weft.path("f.weft") + drop).code == 0);
  const auto matrices = [](const std::unique_ptr<TrainedModel>& model) {
    return quantized_weights(*model->graph);
  };
  const auto rounded = matrices(load_any_model(weft.path("small.weft")).model),
             floats_only = matrices(load_any_model(weft.path("f.weft")).model);
  BOOST_TEST(count_rounded_inputs(rounded) > 0U);
  BOOST_TEST(count_rounded_inputs(floats_only) == 0U);
  BOOST_TEST(rounded.size() == floats_only.size());
  check_error(weft("convert " + weft.path("f.weft") + " --out " + weft.path("g.weft") + drop), 2,
              "the model has no activation rounding to drop");
  check_error(weft(convert + weft.path("g.weft") + " --inference" + drop), 2,
              "--inference cannot be combined with --adapters, --base or");
  const Tensor quantised = losses(*load_any_model(weft.path("small.weft")).model),
               floats = losses(*load_any_model(weft.path("small/")).model);
  for (std::int64_t i = 0; i < quantised.numel(); ++i)
    BOOST_TEST(std::abs(quantised.at(i) - floats.at(i)) < 0.05);
}

BOOST_AUTO_TEST_CASE(folders_are_replaced_completely_or_not_at_all) {
  const Shell weft;
  const TemporaryFolder folder("decoder");
  write_decoder(folder, decoder("gpt2"));
  const std::string file = weft.path("m.weft");
  BOOST_TEST_REQUIRE(weft("convert " + folder.path() + " --out " + file).code == 0);
  const std::string out = weft.path("made");
  const auto convert = [&](const std::string& to, const std::string& more = "") {
    return weft("convert " + file + " --out " + to + more);
  };
  BOOST_TEST(convert(out).code == 0);
  // A model folder is replaced completely, including model files that the new model does not have
  // (vocab.txt).
  weft.write("made/vocab.txt", "old");
  BOOST_TEST(convert(out).code == 0);
  BOOST_TEST(!fs::exists(out + "/vocab.txt"));
  weft.write("made/README.md", "mine");
  check_error(convert(out), 1,
              "would delete README.md, which is not a model file: choose another "
              "folder, or add --force");
  BOOST_TEST(read_whole_file(out + "/README.md") == "mine");
  BOOST_TEST(convert(out, " --force").code == 0);
  BOOST_TEST(!fs::exists(out + "/README.md"));
  // Other folders are not replaced, not even with --force.
  weft.write("photos/cat.png", "cat");
  check_error(convert(weft.path("photos"), " --force"), 1,
              "is not empty and contains no model (config.json): choose another one");
  BOOST_TEST(fs::exists(weft.path("photos/cat.png")));
  weft.write("plain", "text");
  check_error(convert(weft.path("plain")), 1, "the path exists and is not a folder");
  check_error(convert(weft.path("none/out")), 1, "there is no folder ");
  check_error(convert(weft.path(std::string(300, 'x'))), 1, "File name too long");
  check_error(convert(file), 2, "would replace model ");
  fs::copy_file(file, weft.path("m.v1"));
  check_error(weft("convert " + weft.path("m.v1") + " --out " + weft.path("m.v1")), 2,
              "would replace model ");
  // Inputs are not overwritten.
  fs::create_directory(weft.path("own"));
  fs::copy_file(file, weft.path("own/m.weft"));
  check_error(weft("convert " + weft.path("own/m.weft") + " --out " + weft.path("own")), 2,
              "would replace the folder that contains model ");
  check_error(weft("convert " + folder.path() + " --out " + folder.path() + "/"), 2,
              "would replace model ");
  check_error(weft("convert " + folder.path() + " --out " + folder.path("inside/")), 2,
              "which is an input: name a file elsewhere");
  // The output may be an empty folder, a link to a folder, or a new folder for a copy.
  fs::create_directory(weft.path("empty"));
  BOOST_TEST(convert(weft.path("empty")).code == 0);
  fs::create_directory_symlink(weft.path("empty"), weft.path("link"));
  BOOST_TEST(convert(weft.path("link")).code == 0);
  BOOST_TEST(fs::is_symlink(weft.path("link")));
  BOOST_TEST(weft("convert " + folder.path() + " --out " + weft.path("copy/")).code == 0);
  for (const auto& entry : fs::directory_iterator(weft.path("")))
    BOOST_TEST(!contains(entry.path().string(), ".tmp-"));
  testing::check_same_folder(weft.path("copy"), folder.path(), kTexts);
  // The existing folder is kept if the export fails after the initial checks.
  auto model = load_any_model(out);
  auto& broken = dynamic_cast<LanguageModel&>(*model.model);
  broken.config.bias = false;
  const std::string before = read_whole_file(out + "/config.json");
  check_error_message<ArgumentError>([&] { save_folder(out, broken); },
                                     "no Hugging Face model type supports bias = false");
  BOOST_TEST(read_whole_file(out + "/config.json") == before);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
