#include "weft/models/train/pretrained_encoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/data/text.h"
#include "weft/models/train/encoder_file.h"
#include "weft/models/train/pretrained_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// What the library calls a SentencePiece model, by family.
constexpr std::array<const char*, 4> kModels = {"spiece.model", "spm.model",
                                                "sentencepiece.bpe.model", "tokenizer.model"};
/// What else may hold a tokenizer.
constexpr std::array<const char*, 4> kOthers = {"tokenizer.json", "vocab.txt", "vocab.json",
                                                "merges.txt"};

SentencePieceTokenizer read_tokenizer(const std::string& path) {
  for (const char* name : kModels) {
    const fs::path file = fs::path(path) / name;
    if (!fs::exists(file)) continue;
    try {
      return SentencePieceTokenizer::from_bytes(read_text_file(file.string()));
    } catch (const FormatError& e) {
      throw FormatError(fmt::format("{}: {}", file.string(), e.what()));
    }
  }
  std::vector<const char*> found;
  for (const char* name : kOthers) {
    if (fs::exists(fs::path(path) / name)) found.push_back(name);
  }
  throw FormatError(fmt::format(
      "{} has no tokenizer that Weft reads: it holds {}; a byte-pair model of SentencePiece is "
      "wanted, as one of {}",
      path, found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", ")),
      fmt::join(kModels, ", ")));
}

PretrainedEncoder read_folder(const std::string& path) {
  PretrainedFolder folder = read_pretrained_folder(path);
  if (!folder.encoder_config) {
    throw FormatError(
        fmt::format("{} holds a {} (model_type \"{}\"), not an encoder of the BERT family", path,
                    folder.architecture, folder.model_type));
  }
  SentencePieceTokenizer tokenizer = read_tokenizer(path);
  for (const auto& [name, id] : {std::pair{"[CLS]", tokenizer.cls_id()},
                                 {"[SEP]", tokenizer.sep_id()},
                                 {"padding", tokenizer.pad_id()}}) {
    if (id < 0)
      throw FormatError(fmt::format("the tokenizer of {} has no piece for {}", path, name));
  }
  return {*folder.encoder_config, std::move(tokenizer), std::move(folder.parameters), {}};
}

}  // namespace

PretrainedEncoder load_pretrained_encoder(const std::string& path) {
  if (fs::is_directory(path)) return read_folder(path);
  const ModelFile file(path, kEncoderConfigType, "trained encoder");
  EncoderFile parts = read_encoder_file(file);
  return {parts.config, std::move(parts.tokenizer),
          weights_of(file.checkpoint().graph(), *file.checkpoint().store()),
          class_names(file.checkpoint())};
}

}  // namespace weft
