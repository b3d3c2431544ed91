#include "weft/models/program/writer.h"

#include <fmt/format.h>

#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/data/text.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/generate_arguments.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace weft::program {
namespace {

/// Said before a large file is read.
void check_folder(const std::string& path) {
  const std::filesystem::path config = std::filesystem::path(path) / "config.json";
  if (!std::filesystem::exists(config)) return;
  const std::string text = read_text_file(config.string());
  if (hf::is_gpt(text) || hf::least_inputs(text).contains("decoder_input_ids")) return;
  throw UsageError(fmt::format(
      "{} is neither a decoder nor an encoder-decoder: it predicts no ids that follow", path));
}

LoadedModel open_folder_or_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) check_folder(path);
  return load_any_model(path);
}

}  // namespace

Writer::Writer(const std::string& path, int threads, bool trained)
    : path_(path), opened_(open_folder_or_file(path)) {
  const TrainedModel& model = *opened_.model;
  const auto* decoder = dynamic_cast<const LanguageModel*>(&model);
  const auto* both = dynamic_cast<const Seq2SeqModel*>(&model);
  if (decoder != nullptr) {
    if (decoder->generation) settings_ = &*decoder->generation;
    no_tokenizer_ = &decoder->no_tokenizer;
  } else if (both != nullptr && (trained || both->generation)) {
    if (both->generation) settings_ = &*both->generation;
    no_tokenizer_ = &both->no_tokenizer;
  } else {
    throw FormatError(fmt::format("{} holds no language model: it holds a {}{}", path,
                                  model.layout().kind,
                                  both != nullptr ? ", which weft translate uses" : ""));
  }
  session_ = std::make_unique<Session>(*model.graph, model.store,
                                       session_options(model, {.threads = threads}));
  generator_ = opened_.task.text_generator(*session_, model);
}

TokenIds Writer::start_ids(const std::string& given) const {
  if (!given.empty()) return parse_ids("--start-ids", given);
  const TokenIds start = generator_->start();
  if (start.empty())
    throw ArgumentError(
        fmt::format("{} states no decoder_start_token_id: nothing to begin with", path_));
  return start;
}

}  // namespace weft::program
