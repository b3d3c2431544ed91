#include "weft/models/tasks/text_classification/text_classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/data/batching/epochs.h"
#include "weft/models/data/batching/lazy_cache.h"
#include "weft/models/data/batching/memoized_last.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/data/rng.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/inputs/sentences/cross_encoder.h"
#include "weft/models/layers/attention/attention_maps.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"

namespace weft {
namespace {

constexpr const char* kLogitsProgram = "logits";

TextRow row_of(const TextClassifier& model, const std::string& text) {
  return model.reader().row(model.head.read(text));
}

/// Applies word dropout: replaces tokens between [CLS] and [SEP] by the unknown token. The random
/// numbers depend on the seed, the step and the index of the row in its batch.
void drop_words(std::vector<std::int32_t>& row, const TextClassifier& model, std::int64_t step,
                std::int64_t place) {
  if (model.head.word_dropout == 0) return;
  Rng rng(stable_hash("word dropout", model.settings.seed), static_cast<std::uint32_t>(place),
          static_cast<std::uint32_t>(step));
  for (std::size_t i = 1; i + 1 < row.size(); ++i) {
    if (rng.uniform() < model.head.word_dropout) row[i] = model.tokenizer.unk_id();
  }
}

NamedTensors inputs_of_rows(const TextClassifier& model, const Program& program,
                            std::span<const TextRow> rows) {
  std::vector<const TextRow*> places;
  for (const TextRow& row : rows) places.push_back(&row);
  return inputs_of(program, model.reader(), places);
}

LazyCache<TextRow> rows_of(const TextClassifier& model, const LabelledText& data) {
  return {data.size(), [&model, &data](std::int64_t i) {
            return row_of(model, data.texts[static_cast<std::size_t>(i)]);
          }};
}

/// Returns the order of the examples in an epoch. It differs from the default order in Epochs,
/// because training runs started by earlier versions must be resumed with the same order.
Epochs::Order epoch_order(std::int64_t count, std::uint64_t seed, std::uint32_t epoch) {
  Epochs::Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Rng(stable_hash("epoch", seed), epoch).shuffle(order);
  return order;
}

/// Selects the texts for every training step: either the next texts in an epoch, or texts of
/// similar length. In the latter case, the texts for kSteps steps are sorted by length and split
/// into batches, which are used in random order.
class StepTexts {
 public:
  StepTexts(const LabelledText& train, const TextClassifier& model)
      : train_(train), model_(model), epochs_(train.size(), model.settings.seed, epoch_order) {}

  /// Throws ArgumentError under the same conditions as Epochs::examples.
  Epochs::Order texts(const BatchPart& part) const {
    const std::int64_t batch = model_.settings.batch;
    if (!model_.head.by_length) return epochs_.examples(part, batch);
    const std::int64_t window = part.step() / kSteps;
    const auto sorted = windows_(window, [&] { return sorted_window(window); });
    const std::uint64_t seed = stable_hash("batches of like length", model_.settings.seed);
    const std::int64_t place = shuffled(
        kSteps, seed,
        static_cast<std::uint32_t>(window))[static_cast<std::size_t>(part.step() % kSteps)];
    const RowRange rows = part.rows(batch);
    const auto begin = sorted->begin() + static_cast<std::ptrdiff_t>(place * batch + rows.begin);
    return {begin, begin + static_cast<std::ptrdiff_t>(rows.size())};
  }

 private:
  static constexpr std::int64_t kSteps = 16;

  Epochs::Order sorted_window(std::int64_t window) const {
    Epochs::Order texts = epochs_.examples(window, kSteps * model_.settings.batch);
    std::stable_sort(texts.begin(), texts.end(), [&](std::int64_t a, std::int64_t b) {
      return train_.texts[static_cast<std::size_t>(a)].size() <
             train_.texts[static_cast<std::size_t>(b)].size();
    });
    return texts;
  }

  const LabelledText& train_;
  const TextClassifier& model_;
  Epochs epochs_;
  MemoizedLast<std::int64_t, Epochs::Order> windows_;
};

std::vector<std::size_t> sizes_of(std::span<const std::string> texts) {
  std::vector<std::size_t> sizes;
  for (const std::string& text : texts) sizes.push_back(text.size());
  return sizes;
}

/// Returns the predictions for texts of these lengths. row(i) returns the input row for text i.
std::vector<Classified> classify_rows(Session& session, const TextClassifier& model,
                                      std::span<const std::size_t> lengths,
                                      const std::function<TextRow(std::size_t i)>& row) {
  const std::vector<std::vector<std::size_t>> batches = batches_by_length(lengths);
  std::vector<Classified> result(lengths.size());
  const Program& program = without_padding(model, "classify");
  run_distributed(
      session, program, std::ssize(batches),
      [&](std::int64_t b) {
        std::vector<TextRow> batch;
        for (const std::size_t i : batches[static_cast<std::size_t>(b)]) batch.push_back(row(i));
        return inputs_of_rows(model, program, batch);
      },
      [&](std::int64_t b, const Results& results) {
        check_results(results);
        auto logs = results["log_probabilities"].span<float>();
        const std::size_t classes = model.classes.size();
        for (const std::size_t i : batches[static_cast<std::size_t>(b)]) {
          const auto logs_of_text = logs.first(classes);
          logs = logs.subspan(classes);
          Classified& found = result[i];
          found.label = static_cast<std::int32_t>(
              std::max_element(logs_of_text.begin(), logs_of_text.end()) - logs_of_text.begin());
          for (const float log : logs_of_text) {
            found.log_probabilities.push_back(log);
            found.probabilities.push_back(std::exp(static_cast<double>(log)));
          }
        }
      });
  return result;
}

Evaluation evaluation_of(const TextClassifier& model, const std::vector<Classified>& found,
                         std::span<const std::int32_t> labels) {
  ConfusionMatrix matrix(model.classes);
  double loss = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int32_t label = labels[i];
    matrix.add({&label, 1}, {&found[i].label, 1});
    loss -= found[i].log_probabilities[static_cast<std::size_t>(label)];
  }
  return {loss / static_cast<double>(found.size()),
          {{"accuracy", matrix.accuracy()},
           {"f1", matrix.classes() == 2 ? matrix.f1(1) : matrix.macro_f1()}}};
}

/// Scales the features of all members so that a linear layer computes the mean of the members'
/// logits. Without scaling, it would compute their sum.
Value mean_of_members(Value features, std::int64_t members) {
  return members == 1 ? features : features * (1.0 / static_cast<double>(members));
}

/// Returns a mask [members, 1, width] that is 1 if the feature belongs to the member, and 0
/// otherwise.
Tensor features_of_members(std::int64_t width, std::int64_t members) {
  std::vector<float> own(static_cast<std::size_t>(members * width));
  const std::int64_t size = width / members;
  for (std::int64_t i = 0; i < width; ++i) own[static_cast<std::size_t>(i / size * width + i)] = 1;
  return Tensor::of({members, 1, width}, own);
}

/// Returns the mean loss over the members for features [batch, width]. Each member uses only its
/// part of the features; all members share the bias.
Value members_loss(const Linear& classifier, Value features, Value labels,
                   const ClassifierHead& head, Reduction reduction) {
  if (head.members == 1) return label_loss(classifier(features), labels, reduction);
  const Value own =
      features.graph().constant(features_of_members(features.size(1).constant(), head.members));
  const Value logits = classifier(unsqueeze(features, 0) * own);  // [members, batch, classes]
  return label_loss(logits, broadcast_to(unsqueeze(labels, 0), {head.members, labels.size(0)}),
                    reduction);
}

}  // namespace

const ModelLayout& TextClassifier::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "text classifier",
                  .uses = {Use::classify, Use::embed, Use::rerank},
                  .programs = {"classify", kLogitsProgram, "classify_unpadded", "logits_unpadded"},
                  .added_programs = {kLogitsProgram, "classify_unpadded", "logits_unpadded"}}
          .config(&TextClassifier::config)
          .tokenizer(&TextClassifier::tokenizer)
          .part(kClassesPart, "weft.classes", &TextClassifier::classes)
          .added_part(kHeadPart, "weft.text_head", &TextClassifier::head)
          .part(kReadingPart, "weft.reading", &TextClassifier::reading);
  return layout;
}

void TextClassifier::check() const {
  EncoderModel::check();
  // Models from folders may have a single label, which is either present or absent.
  if (classes.size() < 2 && !(reading && classes.size() == 1))
    throw ArgumentError(
        fmt::format("a classifier needs at least two classes, not {}", classes.size()));
  head.check();
  if (head.word_dropout > 0 && tokenizer.unk_id() < 0)
    throw ArgumentError("word_dropout requires an unknown token, but the tokenizer has none");
  if (config.width % head.members != 0) {
    throw ArgumentError(
        fmt::format("members must be a divisor of width ({}), not {}", config.width, head.members));
  }
}

TextClassifier build_text_classifier(const EncoderConfig& config, const Tokenizer& tokenizer,
                                     const std::vector<std::string>& classes,
                                     const TrainSettings& settings, const ClassifierHead& head) {
  TextClassifier model;
  model.task = "text-classification";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.classes = classes;
  model.head = head;
  model.check();
  Graph& graph = *model.graph;
  EncoderInputs inputs = add_text_inputs(graph);
  inputs.global_attention_mask = first_token_attention(config, inputs.ids);
  const Value labels = graph.input("labels", DType::i32, {"batch"});
  const Encoder encoder(Scope(graph), config);
  std::optional<Pooler> pooler;
  if (head.summary == Summary::cls)
    pooler = make_pooler(Scope(graph, "pooler"), config, head.pooler);
  const Linear classifier = make_head(Scope(graph, "classifier"), config, std::ssize(classes));
  const auto pooled = [&](Mode mode, const EncoderInputs& inputs) {
    const Value h = encoder.in(mode)(inputs).last_hidden_state;
    const Value text = pooler                          ? (*pooler)(h, inputs.attention_mask)
                       : head.summary == Summary::mean ? mean_of_tokens(h, inputs.attention_mask)
                                                       : max_of_tokens(h, inputs.attention_mask);
    return dropout(Scope(graph).in(mode), text, config.hidden_dropout);
  };
  const auto add_classify = [&](const std::string& name, const EncoderInputs& texts) {
    const Value features = mean_of_members(pooled(Mode::evaluation, texts), head.members);
    model.add_program(name)
        .precision(settings.precision)
        .output("log_probabilities", log_softmax(classifier(features), -1));
  };
  add_classify("classify", inputs);
  model.add_program("train").output("loss", members_loss(classifier, pooled(Mode::training, inputs),
                                                         labels, head, settings.loss_reduction()));
  if (supports_offsets(config)) {
    EncoderInputs unpadded = inputs;
    unpadded.token_places = add_token_places(graph);
    add_classify("classify_unpadded", unpadded);
  }
  return model;
}

std::unique_ptr<TextClassifier> text_classifier_of(const hf::Folder& folder,
                                                   const FolderTokenizer& text) {
  auto model = std::make_unique<TextClassifier>();
  const std::string problem = hf::problem_type(folder.config);
  if (problem == "regression") return nullptr;
  auto found = read_folder_encoder(
      *model->graph, folder, text,
      {.endings = {"ForSequenceClassification"}, .pairs = true, .unpadded = true});
  if (!found) return nullptr;
  const Value logits = found->output("logits");
  const std::int64_t classes = logits.size(1).constant();
  const bool exclusive = problem != "multi_label_classification" && classes > 1;
  const auto add_programs = [&](const std::string& ending, const Value& logits) {
    model->add_program("classify" + ending)
        .precision(model->settings.precision)
        .output("log_probabilities", exclusive ? log_softmax(logits, -1) : -softplus(-logits));
    model->add_program(kLogitsProgram + ending)
        .precision(model->settings.precision)
        .output("logits", logits);
  };
  add_programs("", logits);
  if (!found->unpadded.empty()) add_programs(kUnpaddedEnding, found->unpadded.at("logits"));
  model->task = "text-classification";
  model->classes = label_names(folder.config, classes);
  found->into(*model);
  return model;
}

FolderModel TextClassifier::to_folder() const {
  FolderModel folder = encoder_folder(*this, {"ForSequenceClassification"});
  folder.library.labels = classes;
  if (reading) {
    require_origin(*this);
    folder.more = cross_encoder_files(*origin);
    return folder;
  }
  const auto reject = [](const std::string& what) {
    throw ArgumentError(
        fmt::format("transformers classifiers do not support {}: their input is the unchanged "
                    "text, and their head uses only the first token",
                    what));
  };
  if (head.summary != Summary::cls) reject(fmt::format("summary = {}", choice_name(head.summary)));
  if (head.members != 1) reject(fmt::format("members = {}", head.members));
  if (head.lower_case) reject("lower_case = true");
  folder.library.pooler = head.pooler;
  folder.library.problem_type = "";  // single-label classification, the default of transformers
  return folder;
}

std::vector<TextRow> TextClassifier::read_texts(const std::vector<std::string>& texts,
                                                const OnCut& on_cut) const {
  std::vector<std::string> read;
  for (const std::string& text : texts) read.push_back(head.read(text));
  return reader().rows(read, on_cut);
}

std::vector<std::vector<double>> TextClassifier::class_probabilities(
    Session& session, std::span<const TextRow* const> rows) const {
  std::vector<std::size_t> lengths;
  for (const TextRow* row : rows) lengths.push_back(row->ids.size());
  std::vector<std::vector<double>> result;
  for (Classified& found :
       classify_rows(session, *this, lengths, [&](std::size_t i) { return *rows[i]; }))
    result.push_back(std::move(found.probabilities));
  return result;
}

std::vector<Classified> classify(Session& session, const TextClassifier& model,
                                 std::span<const std::string> texts, const OnCut& on_cut) {
  const std::vector<TextRow> rows = model.read_texts({texts.begin(), texts.end()}, on_cut);
  return classify_rows(session, model, sizes_of(texts), [&](std::size_t i) { return rows[i]; });
}

std::vector<PairRows> TextClassifier::read_pairs(std::span<const PairTexts> pairs,
                                                 const OnCut& on_cut) const {
  if (!reading) {
    throw ArgumentError(
        "the classifier was trained on single texts and does not score text pairs: train a "
        "similarity model (weft train encoder --task similarity)");
  }
  if (!has_program(kLogitsProgram)) {
    throw ArgumentError(
        "the file was written by an earlier version and does not score text pairs: convert the "
        "model's folder again (weft convert)");
  }
  return rows_of_pairs(*this, pairs, on_cut, classes.size());
}

std::vector<std::vector<double>> TextClassifier::pair_outputs(
    Session& session, std::span<const PairRows* const> pairs) const {
  return outputs_for_pairs(session, *this, without_padding(*this, kLogitsProgram), "logits", pairs,
                           classes.size());
}

std::vector<Classified> classify(const TextClassifier& model, std::span<const std::string> texts,
                                 int threads) {
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  return classify(session, model, texts);
}

ConfusionMatrix confusion(Session& session, const TextClassifier& model, const LabelledText& data) {
  ConfusionMatrix matrix(model.classes);
  std::vector<std::int32_t> predicted;
  for (const Classified& found : classify(session, model, data.texts, ignore_truncation()))
    predicted.push_back(found.label);
  matrix.add(data.labels, predicted);
  return matrix;
}

Evaluation evaluate(Session& session, const TextClassifier& model, const LabelledText& data) {
  return evaluation_of(model, classify(session, model, data.texts, ignore_truncation()),
                       data.labels);
}

TrainTask text_classifier_task(Session& session, const TextClassifier& model,
                               const LabelledText& train, const LabelledText* held_out) {
  TrainTask task = train_task(model, "texts",
                              [&model, &train, texts = rows_of(model, train),
                               steps = StepTexts(train, model)](const BatchPart& part) {
                                std::vector<TextRow> batch;
                                std::vector<std::int32_t> labels;
                                std::int64_t place = part.rows(model.settings.batch).begin;
                                for (const std::int64_t i : steps.texts(part)) {
                                  batch.push_back(texts[i]);
                                  drop_words(batch.back().ids, model, part.step(), place++);
                                  labels.push_back(train.labels[static_cast<std::size_t>(i)]);
                                }
                                const auto count = static_cast<std::int64_t>(labels.size());
                                NamedTensors inputs =
                                    inputs_of_rows(model, model.program("train"), batch);
                                inputs.emplace_back("labels", Tensor::of({count}, labels));
                                return TrainBatch{std::move(inputs), count};
                              });
  if (held_out == nullptr) return task;
  task.evaluate = [&session, &model, held_out, texts = rows_of(model, *held_out)](bool whole) {
    const std::int64_t most = whole ? 0 : model.settings.eval_batches * model.settings.batch;
    const std::vector<std::int64_t> places = evenly_spread(held_out->size(), most);
    const LabelledText part = held_out->subset(places);
    const auto found = classify_rows(session, model, sizes_of(part.texts),
                                     [&](std::size_t i) { return texts[places[i]]; });
    return evaluation_of(model, found, part.labels);
  };
  return task;
}

std::string attention_svg(const TextClassifier& model, const std::string& text) {
  std::vector<AttentionMap> maps =
      attention_maps(model.program("classify").outputs().front().second);
  // The maps of Longformer's global tokens do not have the order of the text.
  std::erase_if(maps, [](const AttentionMap& map) { return map.scope.ends_with(".global"); });
  std::vector<std::string> names = {"[CLS]"};
  const std::string shown = model.head.read(text);
  for (const std::string& piece : model.tokenizer.pieces(shown)) names.push_back(piece);
  names.resize(std::min(names.size(), static_cast<std::size_t>(model.config.max_tokens()) - 1));
  names.emplace_back("[SEP]");
  std::vector<std::vector<std::int32_t>> rows = {
      with_ends(model.tokenizer.encode(shown), model.tokenizer.cls_id(), model.tokenizer.sep_id(),
                model.config.max_tokens())};
  const TokenRows batch = pad_rows(rows, model.tokenizer.pad_id(), 1);
  Program look("attention");
  for (std::size_t i = 0; i < maps.size(); ++i)
    look.output(fmt::format("map.{}", i), maps[i].probabilities);
  Session session(*model.graph, model.store);
  const Results results = session.run(look, {{"tokens", batch.ids}, {"mask", batch.mask}});
  std::vector<HeatMap> panels;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Tensor& tensor = results[fmt::format("map.{}", i)];
    const auto values = tensor.span<float>();
    const auto size = static_cast<std::size_t>(tensor.size(2));
    for (std::size_t head = 0; head < static_cast<std::size_t>(tensor.size(1)); ++head) {
      const auto part = values.subspan(head * size * size, size * size);
      panels.push_back({.title = fmt::format("{}, head {}", maps[i].scope, head),
                        .rows = static_cast<std::int64_t>(size),
                        .columns = static_cast<std::int64_t>(size),
                        .values = {part.begin(), part.end()},
                        .row_labels = names,
                        .column_labels = names,
                        .row_axis = "query",
                        .column_axis = "key",
                        .low = 0,
                        .high = 1,
                        .show_values = false,
                        .show_scale = false,
                        .cell = 16});
    }
  }
  return svg_heat_maps(panels,
                       {.title = text, .panels_per_row = static_cast<int>(model.config.heads)});
}

}  // namespace weft
