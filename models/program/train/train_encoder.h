// weft train encoder: what its two halves, pre-training and classifiers of texts, share.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/program/train/train_command.h"
#include "weft/models/tokenizers/sentence_piece.h"

namespace weft::program {

struct EncoderArguments : TrainArguments, StartArguments {
  std::string task;  // an objective of pre-training, or "classify"
  std::vector<std::string> text, data;
  std::string label = "auto", held_out = "test";
  std::uint64_t split_seed = 1;
  double test_fraction = 0.2;
  std::int64_t vocab = 4000;
  FieldValues pretraining = FieldValues::object();  // fields of PretrainingOptions that were given
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
/// A tokenizer of the --vocab pieces of these texts; UsageError where they have not as many.
SentencePieceTokenizer new_tokenizer(const std::vector<std::string>& texts,
                                     const EncoderArguments& args);
/// How the command goes on after a stop.
std::string command_line(const EncoderArguments& args);

int pretrain(EncoderArguments args);
int train_text_classifier(const EncoderArguments& args);

}  // namespace weft::program
