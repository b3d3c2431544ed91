#include "weft/models/tasks/text_embedding/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/plots/svg_plot.h"
#include "weft/models/tasks/common/baseline_line.h"
#include "weft/models/tasks/common/data_parts.h"
#include "weft/models/tasks/common/encoder_presets.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/text_embedding/embedding_task.h"
#include "weft/models/tasks/text_embedding/folder_text_encoder.h"
#include "weft/models/tasks/text_embedding/presets.h"

namespace weft {
namespace {

constexpr const char* kPairFilesRequired =
    "--data is required: files to train on, with lines 'query <tab> passage [<tab> negative ...]'";
constexpr const char* kEmbeddingGroup = "Embedding";
constexpr const char* kRecallPlot = ".recall.svg";

using RetrievalParts = DataParts<RetrievalPairs>;

RetrievalParts read_retrieval_parts(const OptionValues& options, const TrainSettings& settings) {
  return read_data_parts(options, kDataOption, kPairFilesRequired, settings, read_retrieval_pairs,
                         [](const RetrievalPairs& all, double fraction, std::uint64_t seed) {
                           return hold_out(all, fraction, seed);
                         });
}

std::string retrieval_text(const std::vector<Metric>& metrics) {
  std::vector<std::string> texts;
  for (const Metric& metric : metrics)
    texts.push_back(
        fmt::format("{} {:.4f}", metric.name, require_finite(metric.value, "the " + metric.name)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

class EmbeddingRun final : public RunOf<TextEncoder> {
 public:
  EmbeddingRun(std::unique_ptr<TextEncoder> model, RetrievalParts parts)
      : RunOf(std::move(model)), parts_(std::move(parts)) {}

  std::string describe() override {
    std::string text = model_->decoder
                           ? fmt::format("model     decoder: {} layers, width {}: {} parameters\n",
                                         model_->decoder->layers, model_->decoder->width,
                                         grouped(hf::count_parameters(*model_->graph)))
                           : describe_encoder(model_->config, *model_->graph);
    text += fmt::format("data      {} pairs for training, {} for validation, {} for testing\n",
                        grouped(parts_.train.size()), grouped(parts_.validation.size()),
                        grouped(parts_.test.size()));
    if (!model_->contrastive) return text;
    const ContrastiveOptions& options = *model_->contrastive;
    text += fmt::format("loss      InfoNCE: temperature {}, {} given negatives per pair{}\n",
                        options.temperature, options.negatives,
                        options.dimensions.empty()
                            ? ""
                            : fmt::format(", sizes {}", fmt::join(options.dimensions, ", ")));
    for (const auto& [what, prompt] :
         {std::pair{"queries ", options.query_prompt}, {"passages", options.passage_prompt}}) {
      if (!prompt.empty()) text += fmt::format("{}  begin with \"{}\"\n", what, prompt);
    }
    return text;
  }
  std::string batch_unit() const override { return "pairs"; }
  std::int64_t row_size() const override { return model_->reader().longest(); }

  TrainTask task(Session& session) override {
    if (parts_.train.size() == 0) throw ArgumentError(kPairFilesRequired);
    if (model_->history.train.empty() && !untrained_ && parts_.has_held_out())
      untrained_ = evaluate(session, *model_, held_out()).metrics;
    return embedding_task(session, *model_, parts_.train,
                          parts_.validation.size() > 0 ? &parts_.validation : nullptr);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string& title) override {
    if (!parts_.has_held_out()) return {};
    const RetrievalSet set(held_out());
    const SetVectors vectors = embed_set(session, *model_, set);
    std::string text = set_report(*model_, set, vectors);
    if (untrained_) text += baseline_line(retrieval_text(*untrained_), "the model before training");
    const Bm25Baseline bm25 = bm25_baseline(set);
    text += baseline_line(retrieval_text(ranking_metrics(bm25.rankings, set)), bm25.name);
    const auto line = [&](const std::string& name, const Rankings& rankings) {
      PlotSeries series{.name = name};
      for (const double y : recall_curve(rankings, set))
        series.points.emplace_back(series.points.size() + 1, y);
      return series;
    };
    const std::string svg = svg_line_plot(
        {line("model", rank_passages(*model_, vectors)), line(bm25.name, bm25.rankings)},
        {.title = title + ": recall of the held-out passages",
         .x_label = "k",
         .y_label = "recall@k",
         .x_scale = PlotScale::logarithmic,
         .legend = PlotLegend::bottom_right});
    return {text, {{kRecallPlot, svg}}};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return evaluate(session, model_as<TextEncoder>(model), held_out());
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const auto& encoder = model_as<TextEncoder>(model);
    const RetrievalSet set(held_out());
    return set_report(encoder, set, embed_set(session, encoder, set));
  }

 private:
  const RetrievalPairs& held_out() const { return parts_.held_out("pair"); }

  std::string set_report(const TextEncoder& model, const RetrievalSet& set,
                         const SetVectors& vectors) const {
    const Evaluation found = evaluate(model, set, vectors);
    const char* part = parts_.has_test() ? "test" : "validation";
    std::string text =
        fmt::format("{:9} loss {:.5f}, {} on {} queries and {} passages\n", part,
                    require_finite(found.loss, "the loss"), retrieval_text(found.metrics),
                    grouped(std::ssize(set.queries)), grouped(std::ssize(set.passages)));
    if (!model.contrastive) return text;
    for (const double size : model.contrastive->dimensions) {
      const Rankings rankings = rank_passages(model, vectors, static_cast<std::int64_t>(size));
      text += fmt::format("{:9} with {} dimensions: {}\n", part, size,
                          retrieval_text(ranking_metrics(rankings, set)));
    }
    return text;
  }

  RetrievalParts parts_;
  std::optional<std::vector<Metric>> untrained_;  // not set for resumed runs
};

/// Sets the parts of a model that starts from other weights. Returns its weights, including those
/// of the modules of a Sentence Transformers folder.
TensorMap adopt_base(TextEncoder& model, const EncoderConfig& preset, const TaskArguments& args,
                     std::string& notes) {
  const Pretrained& from = *args.from;
  model.origin = from.origin;
  model.reading = from.reading;
  if (model.reading) model.reading->token_types = false;  // single texts need no token types
  TensorMap weights = from.weights;
  const bool decoder = std::holds_alternative<GptConfig>(from.config);
  // The modules of a cross-encoder do not compute vectors of single texts.
  if (from.origin && sentence_model_class(*from.origin) == kCrossEncoder) {
    for (const char* name :
         {"modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"})
      model.origin->files.erase(name);
  }
  if (hf::is_folder(from.source)) {
    const hf::Folder folder = hf::read_folder(from.source);
    model.reading = TextReading{.truncation_side = truncation_side(folder, from.tokenizer())};
    const std::int64_t width =
        decoder ? from.config_of<GptConfig>().width : from.config_of<EncoderConfig>().width;
    if (const auto settings = sentence_settings(*model.origin, width, folder.root()))
      weights.merge(module_weights(*settings, folder.root()));
  }
  if (decoder) {
    if (!args.model.empty()) {
      throw ArgumentError(
          fmt::format("{} holds a decoder, to which --{} does not apply: leave it out", from.source,
                      args.model.begin()->first));
    }
    const auto& config = from.config_of<GptConfig>();
    if (args.check_size) args.check_size(config);
    set_decoder(model, config);
    if (!model.reading) model.reading.emplace();
    model.tokenizer = from.tokenizer();
  } else if (model.reading) {
    model.config = chosen_config(base_config(preset, args), args);
    model.tokenizer = from.tokenizer();
  } else {
    auto made = new_encoder(base_config(preset, args), args, {});
    model.config = std::move(made.config);
    model.tokenizer = std::move(made.tokenizer);
    notes = std::move(made.notes);
  }
  return weights;
}

/// Returns the options of the preset with the given ones.
ContrastiveOptions chosen_options(const ContrastiveOptions& preset, const TaskArguments& args,
                                  const RetrievalPairs& train) {
  const FieldTexts& given = args.options.fields(kEmbeddingGroup);
  ContrastiveOptions options = ContrastiveOptions::fields().with(preset, given);
  options.negatives = std::min(options.negatives, train.most_negatives());
  const bool pooled = given.contains("pool");
  const std::string found =
      args.from && args.from->origin ? sentence_model_class(*args.from->origin) : std::string();
  if (pooled && !found.empty() && found != kCrossEncoder)
    throw ArgumentError(fmt::format(
        "{} has modules of Sentence Transformers, which determine the pooling: leave out --pool",
        args.from->source));
  // The last token of a decoder attends to the whole text.
  if (!pooled && args.from && std::holds_alternative<GptConfig>(args.from->config))
    options.pooling = TextPooling::lasttoken;
  return options;
}

class TextEmbeddingTask final : public TaskOf<TextEncoder> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "text-embedding",
        .family = "encoder",
        .name = "embedding",
        .about = "compute vectors of texts, so that queries are similar to relevant passages",
        .help = {{"batch", "pairs per step; each query is compared with all passages of the batch"},
                 {"validation_fraction",
                  "fraction of the passages in --data held out for validation, with their queries, "
                  "if there is no --validation"}},
        .plots = {kRecallPlot},
        .folders = "encoders of any other class"};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_data_parts(options,
                   "files to train on, with lines 'query <tab> passage [<tab> negative ...]'");
    add_tokenizer(options, "bpe", true);
    return options.field_group(kEmbeddingGroup, ContrastiveOptions::fields());
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(text_embedding_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    check_data_parts(args, kDataOption, kPairFilesRequired);
    EmbeddingPreset preset = find_preset(
        text_embedding_presets(),
        args.preset.empty() ? default_encoder_preset(args.from.has_value()) : args.preset);
    preset.training = chosen_settings(preset.training, args.training);
    // The fraction is stored in the model file, so that later evaluations hold out the same
    // passages. With --validation, no --data lines are held out.
    if (args.options.has(kValidationOption)) preset.training.validation_fraction = 0;
    RetrievalParts parts = read_retrieval_parts(args.options, preset.training);
    const ContrastiveOptions options = chosen_options(preset.options, args, parts.train);
    auto model = std::make_unique<TextEncoder>();
    model->task = info().id;
    model->settings = preset.training;
    std::string notes;
    TensorMap weights;
    if (args.from) {
      weights = adopt_base(*model, preset.model, args, notes);
    } else {
      auto made = new_encoder(preset.model, args, [&] { return parts.train.texts(); });
      model->config = std::move(made.config);
      model->tokenizer = std::move(made.tokenizer);
      notes = std::move(made.notes);
    }
    set_contrastive_options(*model, options);
    build_embedding_programs(*model);
    const auto origin = model->origin;  // includes the files that training adds
    auto loaded = args.from ? start_weights(*model, args, weights, {}) : std::nullopt;
    model->origin = origin;
    return new_run<EmbeddingRun>(preset.name, std::move(loaded), notes, std::move(model),
                                 std::move(parts));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return folder_text_encoder(folder, text);
  }

 protected:
  std::unique_ptr<TaskRun> open_model(std::unique_ptr<TextEncoder> model,
                                      const OptionValues& options) const override {
    RetrievalParts parts = read_retrieval_parts(options, model->settings);
    return std::make_unique<EmbeddingRun>(std::move(model), std::move(parts));
  }
};

}  // namespace

const Task& text_embedding_task() {
  static const TextEmbeddingTask task;
  return task;
}

}  // namespace weft
