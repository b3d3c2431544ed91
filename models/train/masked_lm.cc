#include "weft/models/train/masked_lm.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/draws.h"
#include "weft/models/data/token_rows.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/train/encoder_file.h"
#include "weft/models/train/training_step.h"

namespace weft {

MaskedLanguageModel make_masked_lm(const EncoderConfig& config,
                                   const SentencePieceTokenizer& tokenizer,
                                   const TrainSettings& settings) {
  check_vocabulary(config, tokenizer);
  auto graph = std::make_shared<Graph>();
  const EncoderInputs inputs{.ids = graph->input("tokens", DType::i32, {"batch", "seq"}),
                             .attention_mask = graph->input("mask", DType::i32, {"batch", "seq"})};
  const Value picks = graph->input("picks", DType::i32, {"picks"});
  const Value labels = graph->input("labels", DType::i32, {"picks"});
  const Encoder encoder(Scope(*graph), config);
  const MaskedLmHead head = make_masked_lm_head(
      Scope(*graph, "masked_lm"), encoder,
      {.activation = config.activation, .layer_norm_eps = config.layer_norm_eps});
  const auto logits = [&](bool training) {
    const Value h = encoder(inputs, training).last_hidden_state;
    return head(take(flatten(h, 0, 1), picks));
  };
  MaskedLmPrograms programs;
  const Value evaluated = logits(false);
  programs.evaluate.precision(settings.precision);
  programs.evaluate.output("loss", label_loss(evaluated, labels))
      .output("predicted", argmax(evaluated, -1));
  add_training_step(programs.train, label_loss(logits(true), labels), settings);
  return {std::move(graph),
          std::move(programs),
          std::make_shared<VariableStore>(),
          config,
          tokenizer,
          settings,
          {}};
}

void save_masked_lm(const std::string& path, const MaskedLanguageModel& model) {
  save_checkpoint(path, *model.store, {model.programs.train, model.programs.evaluate},
                  {.attachments = encoder_attachments(model.config, model.tokenizer, model.settings,
                                                      model.history)});
}

MaskedLanguageModel load_masked_lm(const std::string& path) {
  const ModelFile file(path, kEncoderConfigType, "masked language model");
  EncoderFile parts = read_encoder_file(file);
  return {file.checkpoint().shared_graph(), {file.program("train"), file.program("masked_lm")},
          file.checkpoint().store(),        parts.config,
          std::move(parts.tokenizer),       parts.settings,
          std::move(parts.history)};
}

PackedTexts::PackedTexts(const SentencePieceTokenizer& tokenizer,
                         std::span<const std::string> texts, std::int64_t context)
    : cls_(tokenizer.cls_id()), sep_(tokenizer.sep_id()), context_(context) {
  if (context < 3) throw ArgumentError(fmt::format("a row needs 3 tokens, not {}", context));
  for (const std::string& text : texts) {
    std::vector<std::int32_t> ids = tokenizer.encode(text);
    if (ids.empty()) continue;
    tokens_ += static_cast<std::int64_t>(ids.size());
    texts_.push_back(std::move(ids));
  }
  if (texts_.empty()) throw ArgumentError("there is no text to learn from");
}

std::vector<std::int32_t> PackedTexts::row(std::int64_t first) const {
  std::vector<std::int32_t> row = {cls_};
  const auto size = static_cast<std::size_t>(context_);
  for (std::int64_t i = first; row.size() < size; ++i) {
    const auto& text = texts_[static_cast<std::size_t>(i % texts())];
    row.insert(row.end(), text.begin(), text.end());
    row.push_back(sep_);
  }
  row.resize(size);
  return row;
}

std::vector<std::int64_t> PackedTexts::cover() const {
  std::vector<std::int64_t> firsts;
  std::int64_t left = 0;
  for (std::int64_t i = 0; i < texts(); ++i) {
    if (left <= 0) {
      firsts.push_back(i);
      left = context_ - 1;
    }
    left -= static_cast<std::int64_t>(texts_[static_cast<std::size_t>(i)].size()) + 1;
  }
  return firsts;
}

NamedTensors masked_lm_inputs(std::span<const std::vector<std::int32_t>> rows,
                              const MaskingOptions& options, std::uint64_t seed,
                              std::int64_t step) {
  std::vector<std::vector<std::int32_t>> hidden;
  std::vector<std::int32_t> picks, labels;
  std::size_t flat = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    MaskedTokens masked = masked_tokens(rows[r], options, seed, step, static_cast<std::int64_t>(r));
    for (std::size_t i = 0; i < masked.labels.size(); ++i, ++flat) {
      if (masked.labels[i] < 0) continue;
      picks.push_back(static_cast<std::int32_t>(flat));
      labels.push_back(masked.labels[i]);
    }
    hidden.push_back(std::move(masked.ids));
  }
  // Few different numbers of picks, so that few plans are made.
  constexpr std::size_t kMultiple = 32;
  const std::size_t size = (picks.size() + kMultiple - 1) / kMultiple * kMultiple;
  picks.resize(size, 0);
  labels.resize(size, -100);
  const TokenRows batch = pad_rows(hidden, 0, 1);
  const auto count = static_cast<std::int64_t>(size);
  return {{"tokens", batch.ids},
          {"mask", batch.mask},
          {"picks", Tensor::of({count}, picks)},
          {"labels", Tensor::of({count}, labels)}};
}

TrainTask masked_lm_task(Session& session, const MaskedLanguageModel& model,
                         const PackedTexts& train, const PackedTexts* held_out, bool whole_words) {
  const MaskingOptions options = masking_options(model.tokenizer, whole_words);
  const TrainSettings settings = model.settings;
  TrainTask task{.train = &model.programs.train, .batch = [=, &train](std::int64_t step) {
                   Draws draws(stable_hash("masked_lm", settings.seed), 0,
                               static_cast<std::uint32_t>(step));
                   std::vector<std::vector<std::int32_t>> rows;
                   for (std::int64_t r = 0; r < settings.batch; ++r)
                     rows.push_back(train.row(draws.below(train.texts())));
                   const auto tokens = static_cast<std::int64_t>(rows.front().size());
                   return TrainBatch{masked_lm_inputs(rows, options, settings.seed, step),
                                     tokens * settings.batch};
                 }};
  if (held_out == nullptr) return task;
  task.evaluate = [=, &session, &model](bool whole) {
    const std::vector<std::int64_t> firsts = held_out->cover();
    const auto count = static_cast<std::int64_t>(firsts.size());
    const std::int64_t batches = (count + settings.batch - 1) / settings.batch;
    const std::int64_t used =
        whole || settings.eval_batches == 0 ? batches : std::min(batches, settings.eval_batches);
    double loss = 0;
    std::int64_t asked = 0, right = 0;
    for (std::int64_t b = 0; b < used; ++b) {
      const std::int64_t begin = b * batches / used * settings.batch;
      std::vector<std::vector<std::int32_t>> rows;
      for (std::int64_t i = begin; i < std::min(begin + settings.batch, count); ++i)
        rows.push_back(held_out->row(firsts[static_cast<std::size_t>(i)]));
      // Steps of training count from 0: no training batch is masked like this.
      const NamedTensors inputs = masked_lm_inputs(rows, options, settings.seed, -1 - begin);
      const Results results = session.run(model.programs.evaluate, inputs);
      const auto labels = inputs.back().second.span<std::int32_t>();
      const auto predicted = results["predicted"].span<std::int64_t>();
      std::int64_t here = 0;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        here += labels[i] >= 0 ? 1 : 0;
        right += labels[i] == predicted[i] ? 1 : 0;
      }
      asked += here;
      loss += static_cast<double>(results["loss"].item<float>()) * static_cast<double>(here);
    }
    const auto total = static_cast<double>(asked);
    return Evaluation{loss / total, {{"accuracy", static_cast<double>(right) / total}}};
  };
  return task;
}

}  // namespace weft
