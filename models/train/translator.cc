#include "weft/models/train/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention_maps.h"
#include "weft/models/train/model_file.h"
#include "weft/models/train/training_step.h"

namespace weft {
namespace {

constexpr const char* kTokenizer = "model.tokenizer";
constexpr const char* kDenoising = "train.denoising";

TranslatorPrograms build_programs(Graph& graph, const EncoderDecoderConfig& config,
                                  const TrainSettings& settings, const FineTuneOptions& options,
                                  SourceLocation loc) {
  const Value source = graph.input("source", DType::i32, {"batch", "source_length"}, loc);
  const Value labels = graph.input("labels", DType::i32, {"batch", "target_length"}, loc);
  const EncoderDecoder net(Scope(graph), config, Stacks::both, loc);
  const Value mask = not_equal(source, config.padding_id);
  const Value shifted = net.shift_right(labels);
  const auto loss = [&](bool training) {
    const Value memory = net.encode(source, mask, training).last_hidden_state;
    // Padding comes after all labels, so that being causal is mask enough for the decoder.
    const Value h = net.decode(shifted, {}, memory, mask, training).last_hidden_state;
    return net.loss(net.logits(h), labels, training);
  };
  TranslatorPrograms programs{.decode = make_seq2seq_programs(net, loc)};
  programs.evaluate.precision(settings.precision).output("loss", loss(false), loc);
  programs.decode.prompt.precision(settings.precision);
  programs.decode.step.precision(settings.precision);
  freeze(graph, options.freeze);
  add_training_step(programs.train, loss(true), layer_groups(graph, options.layer_lr_decay),
                    settings, loc);
  return programs;
}

/// Rows of ids filled up to one length, and which of them are tokens.
struct Prompts {
  Tensor ids, mask;
};
Prompts padded(const std::vector<std::vector<std::int32_t>>& rows, std::int64_t length,
               std::int32_t padding) {
  const auto count = static_cast<std::int64_t>(rows.size());
  Prompts prompts{Tensor::full(DType::i64, {count, length}, padding),
                  Tensor::full(DType::i64, {count, length}, 0)};
  for (std::int64_t r = 0; r < count; ++r) {
    const std::vector<std::int32_t>& row = rows[static_cast<std::size_t>(r)];
    std::copy(row.begin(), row.end(), prompts.ids.mutable_data<std::int64_t>() + r * length);
    std::fill_n(prompts.mask.mutable_data<std::int64_t>() + r * length, row.size(), 1);
  }
  return prompts;
}

}  // namespace

Translator make_translator(EncoderDecoderConfig config, const SequenceTokenizer& tokenizer,
                           const TrainSettings& settings, const FineTuneOptions& options,
                           SourceLocation loc) {
  config.vocab = tokenizer.vocab_size();
  config.decoder_vocab = 0;
  config.padding_id = config.start_id = tokenizer.padding_id();
  auto graph = std::make_shared<Graph>();
  TranslatorPrograms programs = build_programs(*graph, config, settings, options, loc);
  return {std::move(graph),
          std::move(programs),
          std::make_shared<VariableStore>(),
          config,
          tokenizer,
          settings,
          {},
          {}};
}

void save_translator(const std::string& path, const Translator& model) {
  const TranslatorPrograms& programs = model.programs;
  std::vector<Program> saved = {programs.evaluate, programs.decode.prompt, programs.decode.step,
                                programs.decode.reorder};
  if (model.can_train()) saved.insert(saved.begin(), programs.train);
  std::vector<Attachment> attachments = {
      {kConfigAttachment, kTranslatorConfigType, model.config.to_json()},
      {kTokenizer, model.tokenizer.type(), model.tokenizer.bytes()},
      {kSettingsAttachment, "weft.train.settings", model.settings.to_json()},
      {kHistoryAttachment, "weft.train.history", model.history.to_json()}};
  if (model.denoising)
    attachments.push_back({kDenoising, "weft.train.denoising", model.denoising->to_json()});
  save_checkpoint(path, *model.store, saved, {.attachments = std::move(attachments)});
}

Translator load_translator(const std::string& path) {
  const ModelFile file(path, kTranslatorConfigType, "translator");
  const std::string& tokenizer = file.attachment(kTokenizer);
  const Attachment* denoising = file.checkpoint().find_attachment(kDenoising);
  return {file.checkpoint().shared_graph(),
          {file.program_if_there("train"),
           file.program("evaluate"),
           {file.program("prompt"), file.program("step"), file.program("reorder_caches")}},
          file.checkpoint().store(),
          EncoderDecoderConfig::from_json(file.attachment(kConfigAttachment)),
          SequenceTokenizer::from_bytes(file.checkpoint().attachment(kTokenizer).type, tokenizer),
          TrainSettings::from_json(file.attachment(kSettingsAttachment)),
          TrainHistory::from_json(file.attachment(kHistoryAttachment)),
          denoising == nullptr ? std::nullopt
                               : std::optional(DenoisingOptions::from_json(denoising->bytes))};
}

std::vector<std::string> translate(Session& session, const Translator& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options) {
  std::vector<std::vector<std::int32_t>> sources;
  for (const std::string& text : texts) sources.push_back(model.tokenizer.encode(text));
  std::vector<std::string> outputs;
  for (const TokenIds& ids : translate_ids(session, model, sources, options))
    outputs.push_back(model.tokenizer.decode(ids));
  return outputs;
}

std::vector<TokenIds> translate_ids(Session& session, const Translator& model,
                                    const std::vector<std::vector<std::int32_t>>& sources,
                                    const TranslateOptions& options) {
  if (options.batch < 1)
    throw ArgumentError(fmt::format("batch must be at least 1, not {}", options.batch));
  const SequenceTokenizer& tokenizer = model.tokenizer;
  // Texts are padded to a multiple of this and decoded with those of the same size: few plans, and
  // what limits an output does not depend on the other texts.
  constexpr std::int64_t kStep = 8;
  const std::int64_t longest = model.config.positions == Seq2SeqPositions::learned
                                   ? model.config.context
                                   : std::numeric_limits<std::int64_t>::max();
  const auto size = [&](std::size_t i) {
    return (static_cast<std::int64_t>(sources[i].size()) + kStep - 1) / kStep * kStep;
  };
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) < size(b); });

  std::vector<TokenIds> outputs(sources.size());
  for (std::size_t first = 0; first < order.size();) {
    const std::int64_t length = size(order[first]);
    std::vector<std::vector<std::int32_t>> rows;
    std::size_t end = first;
    while (end < order.size() && size(order[end]) == length &&
           static_cast<std::int64_t>(rows.size()) < options.batch) {
      rows.push_back(sources[order[end++]]);
    }
    const Prompts prompts = padded(rows, length, tokenizer.padding_id());
    const SearchResult found =
        generate(session, model.programs.decode, prompts.ids, prompts.mask, model.config.start_id,
                 {.beams = options.beams,
                  .max_length = std::min(2 * length + kStep, longest),
                  .eos_id = tokenizer.end_id(),
                  .pad_id = tokenizer.padding_id(),
                  .length_penalty = options.length_penalty,
                  .never = {tokenizer.padding_id()}});
    for (std::size_t i = first; i < end; ++i) {
      const auto& ids = found.sequences[i - first];
      outputs[order[i]].assign(ids.begin() + 1, ids.end());  // without the start
    }
    first = end;
  }
  return outputs;
}

CrossAttention cross_attention(Session& session, const Translator& model, std::string_view source,
                               std::string_view target) {
  const auto row = [](const std::vector<std::int32_t>& ids) {
    return Tensor::of<std::int32_t>({1, static_cast<std::int64_t>(ids.size())}, ids);
  };
  CrossAttention result;
  const auto pieces = [&](const std::vector<std::int32_t>& ids) {
    std::vector<std::string> names;
    for (const std::int32_t id : ids) names.push_back(model.tokenizer.piece(id));
    return names;
  };
  const std::vector<std::int32_t> source_ids = model.tokenizer.encode(source),
                                  target_ids = model.tokenizer.encode(target);
  result.source = pieces(source_ids);
  result.target = pieces(target_ids);
  Program program("cross_attention");
  int layer = 0;
  for (const AttentionMap& map : attention_maps(model.programs.evaluate.outputs().front().second)) {
    if (map.scope.find("cross_attention") != std::string::npos)
      program.output(std::to_string(layer++), map.probabilities);
  }
  const Results found =
      session.run(program, {{"source", row(source_ids)}, {"labels", row(target_ids)}});
  for (int i = 0; i < layer; ++i) {
    const Tensor& probabilities = found[std::to_string(i)];
    const Sizes& s = probabilities.sizes();
    result.layers.push_back(probabilities.reshape({s[1], s[2], s[3]}));
  }
  return result;
}

}  // namespace weft
