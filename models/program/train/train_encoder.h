// weft train encoder: what its two halves, pre-training and classifiers of texts, share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/models/data/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/program/train/train_command.h"
#include "weft/models/tokenizers/sentence_piece.h"

namespace weft::program {

struct EncoderArguments : TrainArguments {
  std::string task;  // an objective of pre-training, or "classify"
  std::vector<std::string> text, data;
  std::string label = "auto", held_out = "test", from;
  std::vector<std::string> freeze, anew;
  std::uint64_t split_seed = 1;
  double test_fraction = 0.2, layer_lr_decay = 1;
  std::int64_t vocab = 4000;
  FieldValues pretraining = FieldValues::object();  // fields of PretrainingOptions that were given
  std::set<std::string> given;                      // names of all options that were given

  bool has(const std::string& option) const { return given.contains(option); }
  /// UsageError that names the first of these that was given: "<option> <why>".
  void refuse(const std::vector<std::string>& options, const std::string& why) const;
};

/// The labelled data in the parts that this run uses. What was chosen on the validation part can be
/// measured on the test part later: it is not in either of the former's parts.
struct LabelledParts {
  LabelledText train, held_out;
};
LabelledParts labelled_parts(const EncoderArguments& args);

/// The line "model".
void print_encoder(const EncoderConfig& config, const Graph& graph);
/// `base` with the fields that were given, for this tokenizer.
EncoderConfig config_for(const EncoderConfig& base, const SentencePieceTokenizer& tokenizer,
                         const EncoderArguments& args);
/// How the command goes on after a stop.
std::string command_line(const EncoderArguments& args);

/// A run that saves `model` with `save`.
template <class Model>
TrainRun run_of(Model& model, TrainTask task, void (*save)(const std::string&, const Model&),
                const std::string& command) {
  return {.task = std::move(task),
          .settings = model.settings,
          .history = model.history,
          .save =
              [&model, save](const std::string& path, const TrainHistory& history) {
                model.history = history;
                save(path, model);
              },
          .command = command};
}

int pretrain(EncoderArguments args);
int train_text_classifier(const EncoderArguments& args);

}  // namespace weft::program
