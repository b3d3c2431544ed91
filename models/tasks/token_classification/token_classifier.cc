#include "weft/models/tasks/token_classification/token_classifier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/by_length.h"
#include "weft/models/data/epochs.h"
#include "weft/models/data/token_rows.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/train/weighted_mean.h"
#include "weft/models/trained/encoder_vocabulary.h"
#include "weft/models/trained/trainable.h"

namespace weft {
namespace {

constexpr std::int32_t kNoLabel = -100;

WordRow word_row(const TokenClassifier& model, const std::vector<std::string>& words) {
  WordRow row;
  std::vector<std::int32_t> pieces;
  for (const std::string& word : words) {
    const std::vector<std::int32_t> ids = model.tokenizer.encode(word);
    // [CLS] comes first. What is a blank to the tokenizer only has no piece.
    row.firsts.push_back(ids.empty() ? -1 : static_cast<std::int64_t>(pieces.size()) + 1);
    pieces.insert(pieces.end(), ids.begin(), ids.end());
  }
  row.ids = with_ends(pieces, model.tokenizer.cls_id(), model.tokenizer.sep_id(),
                      model.config.longest_row());
  const auto end = static_cast<std::int64_t>(row.ids.size()) - 1;  // [SEP]
  for (std::int64_t& first : row.firsts) {
    if (first >= end) first = -1;
  }
  return row;
}

TokenRows batch_of(const TokenClassifier& model, std::span<const WordRow* const> rows) {
  std::vector<std::vector<std::int32_t>> ids;
  for (const WordRow* row : rows) ids.push_back(row->ids);
  return pad_rows(ids, model.tokenizer.pad_id(), 16, model.config.longest_row());
}

/// Labels of rows of a batch, as long as its rows.
Tensor labels_of(std::span<const WordRow* const> rows, std::int64_t length) {
  Tensor labels = Tensor::empty(DType::i32, {static_cast<std::int64_t>(rows.size()), length});
  auto* out = labels.mutable_data<std::int32_t>();
  for (const WordRow* row : rows) {
    std::fill(std::copy(row->labels.begin(), row->labels.end(), out), out + length, kNoLabel);
    out += length;
  }
  return labels;
}

/// Runs `use` over batches of rows. It gets the rows' numbers and what they are.
void over_batches(
    const std::vector<const WordRow*>& rows,
    const std::function<void(std::span<const std::size_t>, std::span<const WordRow* const>)>& use) {
  std::vector<std::size_t> lengths;
  for (const WordRow* row : rows) lengths.push_back(row->ids.size());
  for_batches_by_length(lengths, [&](std::span<const std::size_t> numbers) {
    std::vector<const WordRow*> batch;
    for (const std::size_t i : numbers) batch.push_back(rows[i]);
    use(numbers, batch);
  });
}

/// The tags of a row's words, of what was predicted for its tokens.
std::vector<std::string> tags_of_words(const TokenClassifier& model, const WordRow& row,
                                       std::span<const std::int64_t> predictions) {
  std::vector<std::string> tags;
  for (const std::int64_t first : row.firsts) {
    const std::int64_t tag = first < 0 ? 0 : predictions[static_cast<std::size_t>(first)];
    tags.push_back(model.tags[static_cast<std::size_t>(tag)]);
  }
  return tags;
}

/// Predictions of row r of a batch.
std::span<const std::int64_t> row_of(const Tensor& predictions, std::size_t r) {
  const auto length = static_cast<std::size_t>(predictions.size(1));
  return predictions.span<std::int64_t>().subspan(r * length, length);
}

}  // namespace

const ModelLayout& TokenClassifier::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "tagger of words", .programs = {"evaluate", "tag"}}
          .config(&TokenClassifier::config)
          .tokenizer(&TokenClassifier::tokenizer)
          .part(kClassesPart, "weft.classes", &TokenClassifier::tags);
  return layout;
}

void TokenClassifier::check() const {
  check_vocabulary(config, tokenizer);
  if (config.longest_row() < 3) {
    throw ArgumentError(fmt::format("[CLS], a word and [SEP] need a row of 3 tokens, not {}",
                                    config.longest_row()));
  }
  const bool known = std::all_of(tags.begin(), tags.end(), [](const std::string& tag) {
    return parse_bio_tag(tag).has_value();
  });
  if (tags.size() < 2 || tags.front() != "O" || !known) {
    throw ArgumentError(
        fmt::format("a tagger's tags are O, B-TYPE and I-TYPE for at least one "
                    "type, not {}",
                    fmt::join(tags, ", ")));
  }
}

TokenClassifier build_token_classifier(const EncoderConfig& config, const Tokenizer& tokenizer,
                                       const std::vector<std::string>& tags,
                                       const TrainSettings& settings) {
  TokenClassifier model;
  model.task = "token-classification";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.tags = tags;
  model.check();
  Graph& graph = *model.graph;
  const EncoderInputs inputs{.ids = graph.input("tokens", DType::i32, {"batch", "seq"}),
                             .attention_mask = graph.input("mask", DType::i32, {"batch", "seq"})};
  const Value labels = graph.input("labels", DType::i32, {"batch", "seq"});
  const Encoder encoder(Scope(graph), config);
  const Linear classifier = make_linear(
      Scope(graph, "classifier"), DType::f32, config.width, static_cast<std::int64_t>(tags.size()),
      {.initializer = Initializer::normal(config.initializer_range)});
  const Value logits = classifier(encoder(inputs, false).last_hidden_state);
  const Value predictions = argmax(logits, -1);
  model.add_program("evaluate")
      .precision(settings.precision)
      .output("loss", label_loss(logits, labels))
      .output("predictions", predictions);
  model.add_program("tag")
      .precision(settings.precision)
      .output("logits", logits)
      .output("predictions", predictions);
  Value h = encoder(inputs, true).last_hidden_state;
  if (config.hidden_dropout > 0) h = dropout(h, config.hidden_dropout, graph.key("dropout"));
  model.add_program("train").output("loss", label_loss(classifier(h), labels));
  return model;
}

std::int64_t WordRow::words_seen() const {
  return std::count_if(firsts.begin(), firsts.end(), [](std::int64_t at) { return at >= 0; });
}

TaggedRows tagged_rows(const TokenClassifier& model, std::vector<TaggedSentence> sentences) {
  TaggedRows result;
  for (const TaggedSentence& sentence : sentences) {
    WordRow row = word_row(model, sentence.words);
    row.labels.assign(row.ids.size(), kNoLabel);
    for (std::size_t w = 0; w < sentence.words.size(); ++w) {
      const auto found = std::find(model.tags.begin(), model.tags.end(), sentence.tags[w]);
      if (found == model.tags.end()) {
        throw DataError(fmt::format("the tag {} of '{}' is none of those that the model knows: {}",
                                    sentence.tags[w], sentence.words[w],
                                    fmt::join(model.tags, ", ")));
      }
      if (row.firsts[w] >= 0) {
        row.labels[static_cast<std::size_t>(row.firsts[w])] =
            static_cast<std::int32_t>(found - model.tags.begin());
      }
    }
    const auto words = static_cast<std::int64_t>(sentence.words.size());
    result.words += words;
    result.cut_words += words - row.words_seen();
    result.cut_sentences += words > row.words_seen() ? 1 : 0;
    result.rows.push_back(std::move(row));
  }
  result.sentences = std::move(sentences);
  return result;
}

std::vector<std::vector<std::string>> tag_words(
    Session& session, const TokenClassifier& model,
    std::span<const std::vector<std::string>> sentences) {
  std::vector<WordRow> rows;
  for (const std::vector<std::string>& words : sentences) rows.push_back(word_row(model, words));
  std::vector<const WordRow*> places;
  for (const WordRow& row : rows) places.push_back(&row);
  std::vector<std::vector<std::string>> tags(rows.size());
  over_batches(places, [&](auto numbers, auto batch) {
    const TokenRows tokens = batch_of(model, batch);
    const Results results =
        session.run(model.program("tag"), {{"tokens", tokens.ids}, {"mask", tokens.mask}});
    for (std::size_t r = 0; r < batch.size(); ++r)
      tags[numbers[r]] = tags_of_words(model, *batch[r], row_of(results["predictions"], r));
  });
  return tags;
}

TaggingScores score_tags(Session& session, const TokenClassifier& model, const TaggedRows& data,
                         std::int64_t most) {
  if (data.size() == 0) throw DataError("there are no sentences to measure on");
  const std::vector<std::int64_t> places = evenly_spread(data.size(), most);
  std::vector<const WordRow*> rows;
  for (const std::int64_t place : places)
    rows.push_back(&data.rows[static_cast<std::size_t>(place)]);
  TaggingScores scores;
  WeightedMean mean;
  over_batches(rows, [&](auto numbers, auto batch) {
    std::int64_t here = 0;
    for (const WordRow* row : batch) here += row->words_seen();
    const TokenRows tokens = batch_of(model, batch);
    const Results results =
        session.run(model.program("evaluate"), {{"tokens", tokens.ids},
                                                {"mask", tokens.mask},
                                                {"labels", labels_of(batch, tokens.ids.size(1))}});
    // Of a batch without any label there is no mean.
    if (here > 0) mean.add(results["loss"].item<float>(), static_cast<double>(here));
    for (std::size_t r = 0; r < batch.size(); ++r) {
      const auto place = static_cast<std::size_t>(places[numbers[r]]);
      scores.spans.add(data.sentences[place].tags,
                       tags_of_words(model, *batch[r], row_of(results["predictions"], r)));
    }
  });
  scores.loss = mean.value();
  return scores;
}

Evaluation evaluation_of(const TaggingScores& scores) {
  return {scores.loss, {{"f1", scores.spans.all().f1()}}};
}

TrainTask token_classifier_task(Session& session, const TokenClassifier& model,
                                const TaggedRows& train, const TaggedRows& held_out) {
  if (train.size() == 0) throw DataError("there are no sentences to train on");
  TrainTask task = train_task(
      model, "words",
      [&model, &train, epochs = Epochs(train.size(), model.settings.seed)](const BatchPart& part) {
        std::vector<const WordRow*> rows;
        std::int64_t words = 0;
        for (const std::int64_t place : epochs.examples(part, model.settings.batch)) {
          rows.push_back(&train.rows[static_cast<std::size_t>(place)]);
          words += rows.back()->words_seen();
        }
        const TokenRows tokens = batch_of(model, rows);
        return TrainBatch{{{"tokens", tokens.ids},
                           {"mask", tokens.mask},
                           {"labels", labels_of(rows, tokens.ids.size(1))}},
                          words};
      });
  if (held_out.size() > 0) {
    task.evaluate = [&session, &model, &held_out](bool whole) {
      const std::int64_t most = whole ? 0 : model.settings.eval_batches * model.settings.batch;
      return evaluation_of(score_tags(session, model, held_out, most));
    };
  }
  return task;
}

}  // namespace weft
