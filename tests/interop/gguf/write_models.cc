// Writes small random decoders as GGUF files, and for each of them a JSON file with ids and the
// logits that Weft computes from the file: NAME.gguf and NAME.json. compare.mjs runs the files with
// llama.cpp.
//
//   weft_gguf_models FOLDER
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gguf_samples.h"
#include "weft/core/error.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

const std::vector<std::int32_t> kIds = {1, 40, 270, 7, 101, 33, 260, 99, 12, 215, 150, 64, 3, 271};
constexpr std::string_view kText = "The rain in <s> the inn\n é and 12 hens";

void write(const std::string& folder, const GgufSample& sample, gguf::OutType type,
           double tolerance) {
  const std::string name = fmt::format("{}-{}", sample.name, choice_name(type));
  const std::string path = fmt::format("{}/{}.gguf", folder, name);
  gguf_model(sample.config)->save_gguf(path, type);
  const LoadedModel loaded = load_any_model(path);
  const auto& model = dynamic_cast<const LanguageModel&>(*loaded.model);
  const Tensor logits = gguf_logits(model, kIds);
  nlohmann::json json = {{"ids", kIds}, {"tolerance", tolerance}, {"vocab", logits.size(1)}};
  json["logits"] = logits.span<float>();
  json["text"] = kText;
  json["text_ids"] = model.tokenizer.encode_text(kText).ids;
  std::ofstream(fmt::format("{}/{}.json", folder, name)) << json.dump();
}

/// A byte-level BPE in which many merges cross the borders of words.
Tokenizer byte_pairs() {
  nlohmann::json vocab = nlohmann::json::object();
  std::int32_t id = 0;
  for (const char32_t c : byte_characters()) vocab[utf8(c)] = id++;
  const std::vector<std::string> merges = {
      "t h", "th e", "Ġ the", "Ġ t", "1 2", "12 3", "123 4", "4 5", "' s",  "' S", "Ċ Ċ",
      "Ġ Ġ", "! !",  "! a",   "a b", "A b", "Ġ 1",  "Ġ (",   "( x", "x )",  ". .", "e '",
      "Ã ©", "Ġ Ã©", "Ċ Ġ",   "$ 1", "< =", "a 1",  "1 a",   "æ Ĺ", "æĹ ¥", ") Ċ"};
  for (const std::string& merge : merges) {
    std::string piece = merge;
    piece.erase(piece.find(' '), 1);
    vocab[piece] = id++;
  }
  const nlohmann::json bytes = {{"type", "ByteLevel"},
                                {"add_prefix_space", false},
                                {"trim_offsets", true},
                                {"use_regex", true}};
  const nlohmann::json end = {{"id", id},        {"content", "<|im_end|>"}, {"single_word", false},
                              {"lstrip", false}, {"rstrip", false},         {"normalized", false},
                              {"special", true}};
  const nlohmann::json file = {{"version", "1.0"},
                               {"added_tokens", {end}},
                               {"pre_tokenizer", bytes},
                               {"decoder", bytes},
                               {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
  return SubwordTokenizer::from_bytes(file.dump());
}

/// Writes a file for each kind of pre-tokenizer, and the ids of a text without logits.
void write_tokenizers(const std::string& folder) {
  constexpr std::string_view kWords =
      "The the 'S  it's 12345 1a a1b$1<=x!!a Abé é (x)\n\n   the..   12\n 日日本<|im_end|>the' 5 ";
  for (const char* pre :
       {"gpt-2", "llama-bpe", "dbrx", "qwen2", "qwen35", "starcoder", "tekken", "gpt-4o", "falcon",
        "deepseek-coder", "deepseek-v3", "bloom", "default"}) {
    GptConfig config = gguf_samples().front().config;
    config.layers = 1;
    auto model = gguf_model(config);
    model->tokenizer = byte_pairs();
    const std::string name = fmt::format("tokenizer-{}", pre);
    const std::string path = fmt::format("{}/{}.gguf", folder, name);
    model->save_gguf(path);
    GgufFile file = read_gguf(path);
    file.metadata.set("tokenizer.ggml.pre", pre);
    write_gguf(path, file.metadata, file.tensors);
    const gguf::ModelFile read = gguf::read_model(path);
    if (!read.text.tokenizer) throw FormatError(read.text.missing);
    const nlohmann::json json = {{"text", kWords},
                                 {"text_ids", read.text.tokenizer->encode_text(kWords).ids}};
    std::ofstream(fmt::format("{}/{}.json", folder, name)) << json.dump();
  }
}

int run(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const GgufSample& sample : gguf_samples()) {
    // Differences of logits are relative to the largest logit. llama.cpp computes GELU with a table
    // of half-precision numbers.
    write(folder, sample, gguf::OutType::f32, sample.gelu ? 4e-3 : 1e-5);
  }
  // llama.cpp rounds the other operand of products: to the same 16 bits as the weights, or to 8
  // bits with a scale per 32 elements, an error of up to 1/254 of the largest of them.
  const GgufSample& llama = gguf_samples().front();
  write(folder, llama, gguf::OutType::f16, 5e-3);
  write(folder, llama, gguf::OutType::bf16, 3e-2);
  write(folder, llama, gguf::OutType::q8_0, 6e-2);
  write(folder, llama, gguf::OutType::q4_0, 6e-2);
  write_tokenizers(folder);
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: weft_gguf_models FOLDER\n");
    return 2;
  }
  try {
    return weft::run(argv[1]);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
