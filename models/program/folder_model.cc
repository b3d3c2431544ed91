#include "weft/models/program/folder_model.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/generate/score.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/generate_arguments.h"

namespace weft::program {

bool is_decoder(const hf::Folder& folder) {
  if (hf::is_gpt(folder.config)) return true;
  if (hf::ConfigReader(folder.config).object().value("is_encoder_decoder", false)) return false;
  throw UsageError(
      fmt::format("{} is neither a decoder nor an encoder-decoder: it predicts no ids that follow",
                  folder.path));
}

TokenIds start_ids(const hf::Folder& folder, std::int64_t start_id, const std::string& given) {
  if (!given.empty()) return parse_ids("--start-ids", given);
  if (start_id < 0)
    throw ArgumentError(
        fmt::format("{} states no decoder_start_token_id: nothing to begin with", folder.path));
  return {start_id};
}

DecoderModel::DecoderModel(const hf::Folder& folder, int threads)
    : graph(std::make_unique<Graph>()) {
  const hf::GptModel model = hf::build_gpt_model(*graph, folder.config);
  config = model.gpt.config();
  const Value tokens = graph->input("tokens", DType::i64, {"rows", "new"});
  decode = model.gpt.decode_program(tokens);
  score =
      make_score_program(model.gpt, tokens, graph->input("targets", DType::i64, {"rows", "new"}));
  session = std::make_unique<Session>(*graph, hf::load_weights(model.model, *graph, folder),
                                      SessionOptions{.threads = threads});
}

EncoderDecoderModel::EncoderDecoderModel(const hf::Folder& folder, int threads)
    : graph(std::make_unique<Graph>()),
      programs{Program("prompt"), Program("step"), Program("reorder")} {
  const hf::Model model = hf::build_model(
      *graph, folder.config,
      {{"input_ids", {DType::i64, {1, 1}}}, {"decoder_input_ids", {DType::i64, {1, 1}}}});
  if (!model.encoder_decoder)
    throw UsageError(fmt::format("{} has no head that predicts ids", model.architecture));
  programs = make_seq2seq_programs(*model.encoder_decoder);
  score = make_score_program(*model.encoder_decoder);
  session = std::make_unique<Session>(*graph, hf::load_weights(model, *graph, folder),
                                      SessionOptions{.threads = threads});
}

}  // namespace weft::program
