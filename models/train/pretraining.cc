#include "weft/models/train/pretraining.h"

#include "weft/core/error.h"
#include "weft/models/train/encoder_file.h"

namespace weft {
namespace {

constexpr const char* kOptions = "train.pretraining";

}  // namespace

PretrainingModel make_pretraining_model(const EncoderConfig& config,
                                        const SentencePieceTokenizer& tokenizer,
                                        const TrainSettings& settings,
                                        const PretrainingOptions& options) {
  check_vocabulary(config, tokenizer);
  auto graph = std::make_shared<Graph>();
  PretrainingPrograms programs = build_pretraining(*graph, config, options, settings);
  return {std::move(graph),
          std::move(programs),
          std::make_shared<VariableStore>(),
          config,
          tokenizer,
          options,
          settings,
          {}};
}

void save_pretraining_model(const std::string& path, const PretrainingModel& model) {
  std::vector<Attachment> attachments =
      encoder_attachments(model.config, model.tokenizer, model.settings, model.history);
  attachments.push_back({kOptions, "weft.train.pretraining", model.options.to_json()});
  std::vector<Program> programs = {model.programs.evaluate};
  if (model.can_train()) programs.insert(programs.begin(), model.programs.train);
  save_checkpoint(path, *model.store, programs, {.attachments = std::move(attachments)});
}

PretrainingModel load_pretraining_model(const std::string& path) {
  const ModelFile file(path, kEncoderConfigType, "pre-trained encoder");
  PretrainingPrograms programs{file.program_if_there("train"), file.program("masked_lm")};
  EncoderFile parts = read_encoder_file(file);
  // The first files hid single tokens only and say nothing.
  const Attachment* options = file.checkpoint().find_attachment(kOptions);
  return {file.checkpoint().shared_graph(),
          std::move(programs),
          file.checkpoint().store(),
          parts.config,
          std::move(parts.tokenizer),
          options == nullptr ? PretrainingOptions() : PretrainingOptions::from_json(options->bytes),
          parts.settings,
          std::move(parts.history)};
}

}  // namespace weft
