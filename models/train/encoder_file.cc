#include "weft/models/train/encoder_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/serialization/strict_json.h"

namespace weft {
namespace {

constexpr const char* kTokenizer = "model.tokenizer";
constexpr const char* kClasses = "model.classes";

}  // namespace

void check_vocabulary(const EncoderConfig& config, const SentencePieceTokenizer& tokenizer) {
  if (config.vocab != tokenizer.vocab_size() || config.padding_id != tokenizer.pad_id()) {
    throw ArgumentError(fmt::format(
        "the model has a vocabulary of {} with padding {}, the tokenizer one of {} with padding {}",
        config.vocab, config.padding_id, tokenizer.vocab_size(), tokenizer.pad_id()));
  }
}

std::vector<Attachment> encoder_attachments(const EncoderConfig& config,
                                            const SentencePieceTokenizer& tokenizer,
                                            const TrainSettings& settings,
                                            const TrainHistory& history) {
  return {{kConfigAttachment, kEncoderConfigType, config.to_json()},
          {kTokenizer, "weft.tokenizer.sentence_piece", tokenizer.to_bytes()},
          {kSettingsAttachment, "weft.train.settings", settings.to_json()},
          {kHistoryAttachment, "weft.train.history", history.to_json()}};
}

Attachment class_attachment(const std::vector<std::string>& names) {
  return {kClasses, "weft.classes", nlohmann::json(names).dump()};
}

std::vector<std::string> class_names(const Checkpoint& file) {
  const Attachment* found = file.find_attachment(kClasses);
  if (found == nullptr) return {};
  const auto parsed = parse_json(found->bytes, kClasses);
  std::vector<std::string> classes;
  if (parsed.is_array()) {
    for (const auto& name : parsed) {
      if (name.is_string()) classes.push_back(name.get<std::string>());
    }
  }
  if (classes.size() < 2 || classes.size() != parsed.size())
    throw FormatError(
        fmt::format("the attachment '{}' is not a list of names of classes", kClasses));
  return classes;
}

EncoderFile read_encoder_file(const ModelFile& file) {
  return {EncoderConfig::from_json(file.attachment(kConfigAttachment)),
          SentencePieceTokenizer::from_bytes(file.attachment(kTokenizer)),
          TrainSettings::from_json(file.attachment(kSettingsAttachment)),
          TrainHistory::from_json(file.attachment(kHistoryAttachment))};
}

}  // namespace weft
