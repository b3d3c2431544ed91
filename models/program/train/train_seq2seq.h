// weft train seq2seq: what its two halves, pre-training on passages and learning from pairs, share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/models/program/train/train_command.h"
#include "weft/models/train/translator.h"

namespace weft::program {

struct Seq2SeqArguments : TrainArguments, StartArguments {
  std::string task;  // an objective of pre-training, or "translation"
  std::vector<std::string> text;
  std::string pairs;
  std::optional<std::int64_t> vocab;
  FieldValues denoising = FieldValues::object();  // fields of DenoisingOptions that were given
};

/// The line "model".
void print_seq2seq(const Translator& model);

/// `resumed` is the model of --resume with the settings that were given.
int pretrain_seq2seq(const Seq2SeqArguments& args, std::optional<Translator> resumed);
int train_translator(const Seq2SeqArguments& args, std::optional<Translator> resumed);

}  // namespace weft::program
