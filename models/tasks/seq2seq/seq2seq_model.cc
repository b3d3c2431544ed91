#include "weft/models/tasks/seq2seq/seq2seq_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/graph/functions.h"
#include "weft/models/data/by_length.h"
#include "weft/models/layers/attention_maps.h"

namespace weft {
namespace {

Programs build_programs(Graph& graph, const EncoderDecoderConfig& config,
                        const TrainSettings& settings, SourceLocation loc) {
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
  Seq2SeqPrograms decoding = make_seq2seq_programs(net, loc);
  Program evaluate("evaluate"), train("train");
  evaluate.precision(settings.precision).output("loss", loss(false), loc);
  decoding.prompt.precision(settings.precision);
  decoding.step.precision(settings.precision);
  train.output("loss", loss(true), loc);
  Programs programs = {{"train", train}, {"evaluate", evaluate}};
  for (const Program& program : {decoding.prompt, decoding.step, decoding.reorder})
    programs.emplace(program.name(), program);
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

const ModelLayout& Seq2SeqModel::file_layout() {
  static const ModelLayout layout = [] {
    ModelLayout all = ModelLayout{.kind = "translator",
                                  .programs = {"evaluate", "prompt", "step", "reorder_caches"}}
                          .config(&Seq2SeqModel::config)
                          .tokenizer(&Seq2SeqModel::tokenizer);
    all.plan_cache = 96;
    // Files of the first versions do not say that characters have padding and end in front.
    all.parts.back().read = [](TrainedModel& model, const Attachment& part) {
      static_cast<Seq2SeqModel&>(model).tokenizer = PartValue<Tokenizer>::read(part).with_ends();
    };
    return all.part("train.denoising", "weft.train.denoising", &Seq2SeqModel::denoising);
  }();
  return layout;
}

Seq2SeqPrograms Seq2SeqModel::decoding() const {
  return {program("prompt"), program("step"), program("reorder_caches")};
}

Seq2SeqModel build_translator(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                              const TrainSettings& settings, SourceLocation loc) {
  Seq2SeqModel model;
  model.tokenizer = tokenizer.with_ends();
  config.vocab = model.tokenizer.vocab_size();
  config.decoder_vocab = 0;
  config.padding_id = config.start_id = model.tokenizer.pad_id();
  model.task = "translation";
  model.settings = settings;
  model.config = config;
  model.programs = build_programs(*model.graph, config, settings, loc);
  return model;
}

std::vector<std::string> translate(Session& session, const Seq2SeqModel& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options) {
  std::vector<std::vector<std::int32_t>> sources;
  for (const std::string& text : texts) sources.push_back(model.tokenizer.encode_to_end(text));
  const Tokenizer targets = model.tokenizer.targets();
  std::vector<std::string> outputs;
  for (const TokenIds& ids : translate_ids(session, model, sources, options))
    outputs.push_back(targets.decode_to_end(ids));
  return outputs;
}

std::vector<TokenIds> translate_ids(Session& session, const Seq2SeqModel& model,
                                    const std::vector<std::vector<std::int32_t>>& sources,
                                    const TranslateOptions& options) {
  if (options.batch < 1)
    throw ArgumentError(fmt::format("batch must be at least 1, not {}", options.batch));
  const Tokenizer& tokenizer = model.tokenizer;
  // Texts are padded to a multiple of this and decoded with those of the same size: few plans, and
  // what limits an output does not depend on the other texts.
  constexpr std::int64_t kStep = 8;
  const std::int64_t longest = model.config.positions == Seq2SeqPositions::learned
                                   ? model.config.context
                                   : std::numeric_limits<std::int64_t>::max();
  std::vector<std::size_t> sizes;
  for (const auto& source : sources)
    sizes.push_back(round_up(source.size(), static_cast<std::size_t>(kStep)));
  const std::vector<std::size_t> order = by_length(sizes);
  std::vector<TokenIds> outputs(sources.size());
  for (std::size_t first = 0; first < order.size();) {
    const auto length = static_cast<std::int64_t>(sizes[order[first]]);
    std::vector<std::vector<std::int32_t>> rows;
    std::size_t end = first;
    while (end < order.size() && sizes[order[end]] == sizes[order[first]] &&
           static_cast<std::int64_t>(rows.size()) < options.batch) {
      rows.push_back(sources[order[end++]]);
    }
    const Prompts prompts = padded(rows, length, tokenizer.pad_id());
    const SearchResult found =
        generate(session, model.decoding(), prompts.ids, prompts.mask, model.config.start_id,
                 {.beams = options.beams,
                  .max_length = std::min(2 * length + kStep, longest),
                  .eos_id = tokenizer.eos_id(),
                  .pad_id = tokenizer.pad_id(),
                  .length_penalty = options.length_penalty,
                  .never = {tokenizer.pad_id()}});
    for (std::size_t i = first; i < end; ++i) {
      const auto& ids = found.sequences[i - first];
      outputs[order[i]].assign(ids.begin() + 1, ids.end());  // without the start
    }
    first = end;
  }
  return outputs;
}

CrossAttention cross_attention(Session& session, const Seq2SeqModel& model, std::string_view source,
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
  const std::vector<std::int32_t> source_ids = model.tokenizer.encode_to_end(source),
                                  target_ids = model.tokenizer.targets().encode_to_end(target);
  result.source = pieces(source_ids);
  result.target = pieces(target_ids);
  Program program("cross_attention");
  int layer = 0;
  for (const AttentionMap& map :
       attention_maps(model.program("evaluate").outputs().front().second)) {
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
