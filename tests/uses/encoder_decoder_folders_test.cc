// Encoder-decoders exported as Hugging Face folders.
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "folder_round_trip.h"
#include "weft/core/error.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/text/tokenizers/formats/sentence_piece_folder.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(encoder_decoder_folders)
namespace {

using nlohmann::json;
using testing::check_round_trip;
using testing::check_same_folder;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

const std::vector<std::string> kTexts = {"the grand old duke of york", "", "süßes Öl, up & down!"};

/// Writes a folder in which the number of tokenizer ids equals the number of embedding rows, so
/// that fine-tuning keeps the embedding.
json write_exact(const TemporaryFolder& folder, json config) {
  const std::string tokenizer = testing::tokenizer_json({"<pad>", "</s>", "<unk>"}, {{}, {"</s>"}});
  folder.write("tokenizer.json", tokenizer);
  folder.write("tokenizer_config.json", R"({"pad_token": "<pad>", "eos_token": "</s>"})");
  config["vocab_size"] = read_tokenizer_folder(folder.path()).tokenizer->vocab_size();
  config["pad_token_id"] = config["decoder_start_token_id"] = 0;
  for (const char* stack : {"encoder", "decoder"}) {
    if (config.contains(stack)) config[stack]["vocab_size"] = config["vocab_size"];
  }
  testing::write_model(folder.path(), config);
  return config;
}

json config_of(const std::string& type) {
  const std::map<std::string, std::string> names = {
      {"t5", "T5"},           {"mt5", "MT5"},
      {"umt5", "UMT5"},       {"switch_transformers", "SwitchTransformers"},
      {"bart", "Bart"},       {"mbart", "MBart"},
      {"pegasus", "Pegasus"}, {"marian", "Marian"},
      {"m2m_100", "M2M100"},  {"blenderbot", "Blenderbot"},
      {"longt5", "LongT5"},   {"pegasus_x", "PegasusX"},
      {"t5gemma", "T5Gemma"}};
  json config = {{"model_type", type},
                 {"architectures",
                  {names.at(type) + (type == "marian" ? "MTModel" : "ForConditionalGeneration")}},
                 {"vocab_size", testing::kFolderVocab},
                 {"d_model", 16}};
  if (type == "t5gemma") {
    config.erase("d_model");
    const auto stack = [](std::int64_t width, std::int64_t kv_heads) {
      return json{{"vocab_size", testing::kFolderVocab},
                  {"hidden_size", width},
                  {"intermediate_size", 24},
                  {"num_hidden_layers", 2},
                  {"num_attention_heads", 4},
                  {"num_key_value_heads", kv_heads},
                  {"head_dim", 6},
                  {"sliding_window", 3},
                  {"initializer_range", 0.4},
                  {"bos_token_id", 0}};
    };
    config.update({{"encoder", stack(16, 1)}, {"decoder", stack(14, 2)}});
    return config;
  }
  if (type == "longt5") config["local_radius"] = 2;
  if (type == "pegasus_x") config.update({{"block_size", 4}, {"num_global_tokens", 2}});
  if (type.ends_with("t5") || type == "switch_transformers") {
    config.update({{"d_kv", 8},
                   {"d_ff", 32},
                   {"num_layers", 2},
                   {"num_heads", 2},
                   {"num_decoder_layers", 1},
                   {"initializer_factor", 2.0}});
    if (type == "switch_transformers") {
      config.update({{"num_experts", 3},
                     {"expert_capacity", 4},
                     {"num_sparse_encoder_layers", 1},
                     {"num_sparse_decoder_layers", 1}});
    }
    return config;
  }
  config.update({{"encoder_layers", 2},
                 {"decoder_layers", 1},
                 {"encoder_attention_heads", 2},
                 {"decoder_attention_heads", 4},
                 {"encoder_ffn_dim", 32},
                 {"decoder_ffn_dim", 24},
                 {"max_position_embeddings", 256},
                 {"init_std", 0.4},
                 {"pad_token_id", 0},
                 {"decoder_start_token_id", 0}});
  return config;
}
const std::vector<std::string> kTypes = {"t5",      "mt5",        "umt5",    "switch_transformers",
                                         "bart",    "mbart",      "pegasus", "marian",
                                         "m2m_100", "blenderbot", "longt5",  "pegasus_x",
                                         "t5gemma"};

Tensor losses(const TrainedModel& model) {
  Session session(*model.graph, model.store, {.threads = 1});
  return session.run(model.program("evaluate"),
                     {{"source", Tensor::of<std::int32_t>({1, 5}, {7, 12, 9, 15, 1})},
                      {"labels", Tensor::of<std::int32_t>({1, 4}, {8, 11, 14, 1})}})["loss"];
}

BOOST_AUTO_TEST_CASE(every_encoder_decoder_family_round_trips) {
  for (const auto& write : {testing::write_t5, testing::write_bart}) {
    const TemporaryFolder folder("seq2seq");
    write(folder, testing::Json::object());
    check_round_trip(folder.path(), kTexts);
  }
  for (const bool fifty : {false, true}) {
    const TemporaryFolder folder("seq2seq");
    testing::write_mbart(folder, fifty);
    check_round_trip(folder.path(), kTexts);
  }
  for (const std::string& type : kTypes) {
    BOOST_TEST_CONTEXT(type) {
      const TemporaryFolder folder("seq2seq");
      json config = config_of(type);
      config["task_specific_params"] = {{"summarization", {{"prefix", "summarize: "}}}};
      write_exact(folder, config);
      check_round_trip(folder.path(), kTexts);
    }
  }
}

BOOST_AUTO_TEST_CASE(encoder_decoder_variants_round_trip) {
  json gated = config_of("t5");
  gated.update({{"feed_forward_proj", "gated-gelu"},
                {"dense_act_fn", "gelu_new"},
                {"is_gated_act", true},
                {"tie_word_embeddings", false}});
  json silu = config_of("t5");
  silu["feed_forward_proj"] = "gated-silu";
  json separate_embeddings = config_of("marian");
  separate_embeddings.update(
      {{"share_encoder_decoder_embeddings", false}, {"decoder_vocab_size", 330}});
  json step = config_of("switch_transformers");  // takes precedence over the number of layers
  step.update({{"encoder_sparse_step", 1},
               {"decoder_sparse_step", 0},
               {"num_sparse_decoder_layers", 0},
               {"router_bias", true},
               {"tie_word_embeddings", false},
               {"dense_act_fn", "silu"}});
  json tied = config_of("umt5");
  tied.update({{"tie_word_embeddings", false}, {"feed_forward_proj", "relu"}});
  json unscaled = config_of("m2m_100");
  unscaled.update({{"scale_embedding", false}, {"d_model", 20}, {"decoder_layers", 3}});
  json scaled = config_of("bart");
  scaled.update({{"scale_embedding", true},
                 {"activation_function", "swish"},
                 {"normalize_before", false},
                 {"num_hidden_layers", 2},
                 {"dropout", 0.2}});
  for (const json& config : {gated, silu, separate_embeddings, step, tied, unscaled, scaled}) {
    BOOST_TEST_CONTEXT(config.dump()) {
      const TemporaryFolder folder("seq2seq");
      folder.write("tokenizer.json",
                   testing::tokenizer_json({"<pad>", "</s>", "<unk>"}, {{}, {"</s>"}}));
      testing::write_model(folder.path(), config);
      check_round_trip(folder.path(), kTexts);
    }
  }
}

BOOST_AUTO_TEST_CASE(encoder_decoder_classifiers_round_trip) {
  for (const char* type : {"bart", "mbart"}) {
    BOOST_TEST_CONTEXT(type) {
      const TemporaryFolder folder("seq2seq");
      json config = config_of(type);
      config["architectures"] = {std::string(type) == "bart" ? "BartForSequenceClassification"
                                                             : "MBartForSequenceClassification"};
      config.update({{"eos_token_id", 2}, {"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}}});
      folder.write("tokenizer.json",
                   testing::tokenizer_json({"<pad>", "<unk>", "</s>"}, {{}, {"</s>"}}));
      testing::write_model(folder.path(), config);
      check_round_trip(folder.path(), kTexts);
    }
  }
}

BOOST_AUTO_TEST_CASE(sentence_piece_tokenizers_keep_their_files_and_classes) {
  const std::vector<std::string> lines = testing::rhymes();
  // Use a SentencePiece model, for which every tokenizer class defines its own ids.
  const auto trained_pieces = SentencePieceTokenizer::train(lines, {.vocab = 90});
  const std::string model = trained_pieces.to_bytes();
  struct Case {
    const char *type, *tokenizer, *file;
  };
  for (const Case& c : {Case{"t5", "T5Tokenizer", "spiece.model"},
                        {"mbart", "MBartTokenizer", "sentencepiece.bpe.model"},
                        {"m2m_100", "NllbTokenizer", "sentencepiece.bpe.model"},
                        {"m2m_100", "M2M100Tokenizer", "sentencepiece.bpe.model"},
                        {"pegasus", "PegasusTokenizer", "spiece.model"}}) {
    BOOST_TEST_CONTEXT(c.tokenizer) {
      const TemporaryFolder folder("pieces");
      testing::write_model(folder.path(), config_of(c.type));
      folder.write(c.file, model);
      folder.write(
          "tokenizer_config.json",
          json{{"tokenizer_class", c.tokenizer}, {"extra_ids", 5}, {"legacy", false}}.dump());
      folder.write("special_tokens_map.json", R"({"eos_token": "</s>"})");
      if (std::string_view(c.tokenizer) == "M2M100Tokenizer") {
        json vocab = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
        for (std::int32_t id = 0; id < trained_pieces.vocab_size(); ++id)
          if (!vocab.contains(trained_pieces.piece(id)))
            vocab[trained_pieces.piece(id)] = vocab.size();
        folder.write("vocab.json", vocab.dump());
      }
      check_round_trip(folder.path(), kTexts);
      const TemporaryFolder out("out");
      save_folder(out.path("again"), *load_any_model(folder.path()).model);
      BOOST_TEST(read_whole_file(out.path("again/") + c.file) == model);
      BOOST_TEST(!fs::exists(out.path("again/tokenizer.json")));
    }
  }
  // Marian has two SentencePiece models and a vocabulary file.
  const TemporaryFolder folder("marian");
  json vocab;
  for (std::int32_t id = 0; id < trained_pieces.vocab_size(); ++id)
    vocab[trained_pieces.piece(id)] = id;
  vocab[">>de<<"] = trained_pieces.vocab_size();
  folder.write("source.spm", model);
  folder.write("target.spm",
               SentencePieceTokenizer::train(
                   std::vector<std::string>(lines.begin() + 1, lines.end()), {.vocab = 80})
                   .to_bytes());
  folder.write("vocab.json", vocab.dump());
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "MarianTokenizer"})");
  testing::write_model(folder.path(), config_of("marian"));
  check_round_trip(folder.path(), kTexts);
  const TemporaryFolder out("out");
  save_folder(out.path("again"), *load_any_model(folder.path()).model);
  BOOST_TEST(json::parse(read_whole_file(out.path("again/vocab.json"))) == vocab);
  BOOST_TEST(read_whole_file(out.path("again/target.spm")) ==
             read_whole_file(folder.path("target.spm")));
  // Without the settings in its folder, the tokenizer would produce different ids.
  const auto alone = load_any_model(folder.path());
  alone.model->origin.reset();
  check_error_message<ArgumentError>(
      [&] { save_folder(out.path("alone"), *alone.model); },
      "the tokenizer cannot be written: the exported tokenizer would produce "
      "different ids");
  BOOST_TEST(sentence_piece_files("", "llama").model == "tokenizer.model");
  BOOST_TEST(sentence_piece_files("XLMRobertaTokenizerFast", "").model ==
             "sentencepiece.bpe.model");
  BOOST_TEST(sentence_piece_files("", "gpt2").model == "spiece.model");
  BOOST_TEST(sentence_piece_files("", "m2m_100").has_vocabulary);
}

BOOST_AUTO_TEST_CASE(a_folder_is_fine_tuned_and_exported_again) {
  const Shell weft;
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += "the grand duke " + std::to_string(i) + "\tdown the hill " + std::to_string(i) + "\n";
  const std::string pairs = weft.write("pairs.tsv", lines);
  for (const std::string& type : kTypes) {
    BOOST_TEST_CONTEXT(type) {
      const TemporaryFolder folder("seq2seq");
      write_exact(folder, config_of(type));
      const std::string file = weft.path("tuned.weft"), out = weft.path("tuned/");
      const Outcome trained = weft("train seq2seq --from " + folder.path() + " --pairs " + pairs +
                                   " --steps 2 --warmup 1 --batch 128 --threads 2 --out " + file);
      BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
      const Outcome made = weft("convert " + file + " --out " + out);
      BOOST_TEST_REQUIRE(made.code == 0, made.err);
      const auto tuned = load_any_model(file), read = load_any_model(out);
      BOOST_TEST(bitwise_equal(losses(*tuned.model), losses(*read.model)));
      BOOST_TEST(!bitwise_equal(losses(*read.model), losses(*load_any_model(folder.path()).model)));
      const json before = json::parse(hf::read_folder(folder.path()).config),
                 after = json::parse(hf::read_folder(out).config);
      for (const auto& [key, value] : before.items()) BOOST_TEST(after.at(key) == value, key);
      testing::check_same_tokenizer(out, folder.path(), kTexts);
      const auto& model = dynamic_cast<const Seq2SeqModel&>(*read.model);
      BOOST_TEST((model.generation->start == TokenIds{0}));
      BOOST_TEST(model.generation->options.eos_id == 1);
      fs::remove_all(out);
    }
  }
}

BOOST_AUTO_TEST_CASE(embeddings_with_more_rows_than_ids_can_be_fine_tuned) {
  // The T5 embedding has 28 more rows than the tokenizer has ids. Generation never produces ids of
  // these rows, no matter how likely they are.
  const Shell weft;
  const TemporaryFolder folder("seq2seq");
  testing::write_t5(folder);
  constexpr std::int64_t kRows = testing::kFolderVocab;
  const std::int64_t ids = read_tokenizer_folder(folder.path()).tokenizer->vocab_size();
  BOOST_TEST_REQUIRE(ids < kRows);
  testing::write_model(folder.path(), json::parse(hf::read_folder(folder.path()).config),
                       [&](VariableStore& store) {
                         Tensor table = store.tensor("tokens.weight").clone();
                         for (std::int64_t i = ids * 16; i < kRows * 16; ++i)
                           table.mutable_data<float>()[i] *= 50;
                         store.set("tokens.weight", table);
                       });
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += "the grand duke " + std::to_string(i) + "\tdown the hill " + std::to_string(i) + "\n";
  const std::string pairs = weft.write("pairs.tsv", lines), file = weft.path("tuned.weft"),
                    out = weft.path("tuned");
  const Outcome trained = weft("train seq2seq --from " + folder.path() + " --pairs " + pairs +
                               " --steps 2 --warmup 1 --batch 128 --threads 2 --out " + file);
  BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
  const Outcome made = weft("convert " + file + " --out " + out);
  BOOST_TEST_REQUIRE(made.code == 0, made.err);
  BOOST_TEST(json::parse(hf::read_folder(out).config)["vocab_size"] == kRows);
  for (const std::string& path : {file, out}) {
    for (const char* beams : {"1", "3"}) {
      const Outcome written =
          weft("translate " + path + " 'the grand duke' --json --beams " + std::string(beams));
      BOOST_TEST_REQUIRE(written.code == 0, written.err);
      const json line = json::parse(written.out);
      for (const std::int64_t id : line["ids"]) BOOST_TEST(id < ids);
      BOOST_TEST(line.contains("score") == (std::string_view(beams) == "3"));
    }
  }
}

BOOST_AUTO_TEST_CASE(translators_trained_by_weft_are_exported_as_marian) {
  const Shell weft;
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += "the ships " + std::to_string(i) + "\tships the " + std::to_string(i) + "\n";
  const std::string pairs = weft.write("pairs.tsv", lines);
  const auto train = [&](const std::string& more) {
    const Outcome trained = weft(
        "train seq2seq --pairs " + pairs +
        " --tokenizer unigram:60 --encoder-layers 1 --decoder-layers 1 --width 16 "
        "--encoder-heads 2 --decoder-heads 2 --encoder-inner 32 --decoder-inner 32 --batch 128 "
        "--steps 2 --warmup 1 --threads 2" +
        more + " --out " + weft.path("m.weft"));
    BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
    return load_any_model(weft.path("m.weft"));
  };
  const auto post = train(" --norm post_norm --positions sinusoidal --activation relu");
  BOOST_TEST(save_folder(weft.path("marian"), *post.model).architecture == "MarianMTModel");
  BOOST_TEST(
      bitwise_equal(losses(*load_any_model(weft.path("marian")).model), losses(*post.model)));
  const auto unsupported = train(" --norm pre_norm --positions sinusoidal --rms-norm");
  check_error_message<ArgumentError>([&] { save_folder(weft.path("odd"), *unsupported.model); },
                                     "no Hugging Face model type supports rms_norm = true");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
