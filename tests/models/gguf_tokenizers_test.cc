// Tokenizers, chat templates and generation settings in GGUF files.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "gguf_samples.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(gguf_tokenizers)
namespace {

using nlohmann::json;
using testing::check_error;
using testing::TemporaryFolder;

/// A byte-level BPE with all bytes, two merges and two added tokens, as a tokenizer.json.
json byte_pairs(const json& pre_tokenizer, bool ignore_merges = false) {
  json vocab = json::object();
  std::int32_t id = 0;
  for (const char32_t c : byte_characters()) vocab[utf8(c)] = id++;
  for (const char* piece : {"th", "the"}) vocab[piece] = id++;
  json added = json::array();
  for (const auto& [text, special] : {std::pair{"<|im_end|>", true}, {"<tool>", false}}) {
    added.push_back({{"id", id++},
                     {"content", text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", special}});
  }
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}}},
          {"model",
           {{"type", "BPE"},
            {"ignore_merges", ignore_merges},
            {"vocab", vocab},
            {"merges", {"t h", "th e"}}}}};
}

json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}
json split(const char* pattern) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

GptConfig tiny() {
  GptConfig config = gguf_samples().front().config;
  config.layers = 1;
  config.width = 32;
  config.inner = 32;
  return config;
}

/// Writes a model with a tokenizer and reads it back.
gguf::ModelFile written(const Tokenizer& tokenizer,
                        std::optional<GenerationSettings> generation = {},
                        std::vector<std::string>* notes = nullptr) {
  const TemporaryFolder folder;
  auto model = gguf_model(tiny());
  model->tokenizer = tokenizer;
  model->generation = std::move(generation);
  model->chat = ChatFormat::built_in("chatml");
  const gguf::WriteReport report = model->save_gguf(folder / "a.gguf");
  if (notes != nullptr) *notes = report.notes;
  return gguf::read_model(folder / "a.gguf");
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = {"",
                                               " ",
                                               "the",
                                               "The other  thing,\n\n it's 12345 o'clock",
                                               "<|im_end|>the<tool> the",
                                               "naïve é 日本 \xF0\x9F\x98\x80",
                                               "</s> <s>the  "};
  return all;
}

BOOST_AUTO_TEST_CASE(sentence_piece_models_keep_their_ids) {
  const Tokenizer tokenizer = gguf_tokenizer();
  const gguf::ModelFile read = written(tokenizer);
  BOOST_REQUIRE(read.text.tokenizer.has_value());
  BOOST_TEST(read.text.tokenizer->type() == tokenizer.type());
  for (const std::string& text : texts()) {
    BOOST_TEST_CONTEXT(text) {
      const auto ids = read.text.tokenizer->encode_text(text).ids;
      BOOST_TEST(ids == tokenizer.encode_text(text).ids);
      BOOST_TEST(read.text.tokenizer->decode(ids) == tokenizer.decode(ids));
    }
  }
  BOOST_TEST(read.text.tokenizer->bos_id() == 1);
  BOOST_TEST(read.text.tokenizer->eos_id() == 2);
  BOOST_TEST(read.text.tokenizer->unk_id() == 0);
  // Rows of the embedding table without a piece are unused tokens.
  BOOST_TEST(read.text.tokenizer->vocab_size() == 300);
  BOOST_TEST(read.text.tokenizer->piece(299) == "[PAD299]");
}

BOOST_AUTO_TEST_CASE(byte_level_pairs_keep_their_ids_and_find_the_name_of_their_pre_tokenizer) {
  const char* const llama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const char* const qwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const auto sequence = [](json parts) {
    return json{{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
  };
  struct Case {
    const char* name;
    json pre_tokenizer;
    bool ignore_merges;
  };
  const std::vector<Case> cases = {
      {"gpt-2", byte_level(true), false},
      {"llama-bpe", sequence({split(llama3), byte_level(false)}), true},
      {"dbrx", sequence({split(llama3), byte_level(false)}), false},
      {"qwen2", sequence({split(qwen2), byte_level(false)}), false},
      {"starcoder", sequence({{{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)}),
       false}};
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(c.name) {
      const Tokenizer tokenizer =
          SubwordTokenizer::from_bytes(byte_pairs(c.pre_tokenizer, c.ignore_merges).dump());
      const gguf::ModelFile read = written(tokenizer);
      BOOST_TEST(read.file.metadata.get<std::string>("tokenizer.ggml.pre") == c.name);
      BOOST_REQUIRE_MESSAGE(read.text.tokenizer.has_value(), read.text.missing);
      for (const std::string& text : texts()) {
        BOOST_TEST_CONTEXT(text) {
          const auto ids = read.text.tokenizer->encode_text(text).ids;
          BOOST_TEST(ids == tokenizer.encode_text(text).ids);
          BOOST_TEST(read.text.tokenizer->decode(ids) == tokenizer.decode(ids));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(tokenizers_without_a_form_in_gguf_are_rejected_by_reason) {
  check_error<ArgumentError>([] { written(CharacterTokenizer::from_text("the rain")); },
                             {"GGUF has no form for the tokenizer: its tokens are characters"});
  check_error<ArgumentError>(
      [] { written(SubwordTokenizer::from_bytes(byte_pairs(split("x")).dump())); },
      {"its pre_tokenizer has no name in llama.cpp (tokenizer.ggml.pre)"});
  json lower = byte_pairs(byte_level(true));
  lower["normalizer"] = {{"type", "Lowercase"}};
  check_error<ArgumentError>([&] { written(SubwordTokenizer::from_bytes(lower.dump())); },
                             {"its normalizer is not supported"});
  SentencePieceModel unigram = gguf_tokenizer().visit([](const auto& kind) {
    if constexpr (requires { kind.model(); }) return kind.model();
    return SentencePieceModel();
  });
  unigram.algorithm = SentencePieceModel::Algorithm::unigram;
  check_error<ArgumentError>([&] { written(SentencePieceTokenizer(unigram)); },
                             {"its SentencePiece algorithm is not BPE"});
}

BOOST_AUTO_TEST_CASE(the_normal_form_that_llama_cpp_does_not_apply_is_noted) {
  json composed = byte_pairs(byte_level(true));
  composed["normalizer"] = {{"type", "NFC"}};
  std::vector<std::string> notes;
  written(SubwordTokenizer::from_bytes(composed.dump()), {}, &notes);
  BOOST_REQUIRE(notes.size() == 1U);
  BOOST_TEST(notes.front().find("NFC") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ids_around_and_at_the_end_of_texts_are_kept) {
  GenerationSettings settings;
  settings.before = {1};
  settings.options.eos_id = 2;
  settings.options.stop_ids = {270};
  const gguf::ModelFile read = written(gguf_tokenizer(), settings);
  BOOST_TEST(read.generation.before == TokenIds{1}, boost::test_tools::per_element());
  BOOST_TEST(read.generation.after.empty());
  BOOST_TEST(read.generation.options.is_end(2));
  BOOST_TEST(read.generation.options.is_end(270));
  BOOST_TEST(read.generation.bos_id.value_or(-1) == 1);
  BOOST_REQUIRE(read.chat.has_value());
  BOOST_TEST(read.chat->source() == ChatFormat::built_in("chatml").source());
  // Chat models end their turns with a control token.
  const gguf::ModelFile chatml =
      written(SubwordTokenizer::from_bytes(byte_pairs(byte_level(true)).dump()));
  BOOST_TEST(chatml.generation.options.is_end(258));
}

BOOST_AUTO_TEST_CASE(unsupported_tokenizers_are_reported_by_name) {
  const TemporaryFolder folder;
  const auto with = [&](const char* key, const GgufValue& value) {
    auto model = gguf_model(tiny());
    model->tokenizer = SubwordTokenizer::from_bytes(byte_pairs(byte_level(true)).dump());
    model->save_gguf(folder / "a.gguf");
    GgufFile file = read_gguf(folder / "a.gguf");
    file.metadata.set(key, value);
    write_gguf(folder / "b.gguf", file.metadata, file.tensors);
    const gguf::ModelFile read = gguf::read_model(folder / "b.gguf");
    BOOST_TEST(!read.text.tokenizer.has_value());
    return read.text.missing;
  };
  const auto contains = [&](const std::string& message, const char* part) {
    BOOST_TEST(message.find(part) != std::string::npos, message << " lacks " << part);
    BOOST_TEST(message.find("b.gguf") != std::string::npos, message);
  };
  contains(with("tokenizer.ggml.pre", "qwen99"), "unknown pre-tokenizer (tokenizer.ggml.pre)");
  contains(with("tokenizer.ggml.model", "rwkv"), "rwkv, which is not supported");
  contains(with("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 2}),
           "has 2 elements, but there are 300 tokens");
  contains(with("tokenizer.ggml.token_type", std::vector<std::int32_t>(300, 9)),
           "gives token 0 the type 9, but types are 1 to 6");
  contains(with("tokenizer.ggml.bos_token_id", 5000U), "is 5000, but there are 300 tokens");
  contains(with("tokenizer.ggml.flavour", 1U), "is unknown, and might change the ids");
  contains(with("tokenizer.ggml.merges", std::vector<std::string>{"t h", "thx"}),
           "tokenizer.ggml.merges[1]");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
