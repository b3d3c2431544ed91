#include "weft/models/tasks/token_classification/token_classifier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/data/batching/epochs.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

constexpr const char* kUnpaddedTag = "tag_unpadded";

constexpr std::int32_t kNoLabel = -100;
constexpr std::string_view kOutside = "O";
constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// The index of a text, and the truncation callback.
struct TextNumber {
  std::size_t text;
  const OnCut& on_cut;
};

/// Returns the row for words that are tokenized separately.
WordRow row_of_words(const TokenClassifier& model, std::span<const std::string> words,
                     const TextNumber& number) {
  WordRow row;
  std::vector<std::int32_t> pieces;
  for (const std::string& word : words) {
    const std::vector<std::int32_t> ids = model.tokenizer.encode(word);
    // Add 1 for [CLS]. A word has no tokens if the tokenizer treats the entire word as whitespace.
    row.firsts.push_back(ids.empty() ? -1 : static_cast<std::int64_t>(pieces.size()) + 1);
    pieces.insert(pieces.end(), ids.begin(), ids.end());
  }
  const std::int64_t tokens = std::ssize(pieces) + 2, longest = model.config.max_tokens();
  if (tokens > longest) report_truncation({number.text, tokens, longest}, number.on_cut);
  row.ids = with_ends(pieces, model.tokenizer.cls_id(), model.tokenizer.sep_id(), longest);
  const auto end = static_cast<std::int64_t>(row.ids.size()) - 1;  // [SEP]
  for (std::int64_t& first : row.firsts) {
    if (first >= end) first = -1;
  }
  return row;
}

/// Returns the row for a text that was encoded as a whole; WordRow::firsts is not set.
WordRow row_of_text(Encoding encoding) {
  WordRow row;
  row.ids = std::move(encoding.ids);
  row.token_types = std::move(encoding.type_ids);
  return row;
}

/// Returns, for every word, the index of the first id that covers any of its bytes, or -1 if there
/// is none.
std::vector<std::int64_t> first_ids(const Encoding& encoding, std::span<const WordPlace> words) {
  std::vector<std::int64_t> firsts;
  std::size_t i = 0;
  for (const WordPlace& word : words) {
    while (i < encoding.size() && (encoding.special[i] != 0 || encoding.spans[i].end <= word.begin))
      ++i;
    const bool found = i < encoding.size() && encoding.spans[i].begin < word.end;
    firsts.push_back(found ? static_cast<std::int64_t>(i) : -1);
  }
  return firsts;
}

WordRow word_row(const TokenClassifier& model, std::span<const std::string> words,
                 const TextNumber& number) {
  if (!model.reading)
    return with_number(number.text, [&] { return row_of_words(model, words, number); });
  std::string text;
  std::vector<WordPlace> places;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    places.push_back({text.size(), text.size() + word.size()});
    text += word;
  }
  Encoding encoding = model.reader().encode(text, number.text, number.on_cut);
  std::vector<std::int64_t> firsts = first_ids(encoding, places);
  WordRow row = row_of_text(std::move(encoding));
  row.firsts = std::move(firsts);
  return row;
}

/// Adds the words that the tokenizer found and, for each word, the index of its first id. Words
/// that consist of whitespace are skipped.
void add_words(TextOfWords& result, std::string_view text, const Encoding& encoding) {
  std::int32_t last = -1;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const std::int32_t word = encoding.words[i];
    if (encoding.special[i] != 0 || word < 0) continue;
    const WordPlace place{encoding.spans[i].begin, encoding.spans[i].end};
    if (word == last) {
      result.words.back().end = std::max(result.words.back().end, place.end);
      continue;
    }
    last = word;
    result.words.push_back(place);
    result.row.firsts.push_back(static_cast<std::int64_t>(i));
  }
  std::size_t kept = 0;
  for (std::size_t w = 0; w < result.words.size(); ++w) {
    const std::string_view word =
        text.substr(result.words[w].begin, result.words[w].end - result.words[w].begin);
    const std::size_t front = word.find_first_not_of(kBlanks);
    if (front == std::string_view::npos) continue;
    const std::size_t begin = result.words[w].begin + front;
    result.words[kept] = {begin, result.words[w].begin + word.find_last_not_of(kBlanks) + 1};
    result.row.firsts[kept++] = result.row.firsts[w];
  }
  result.words.resize(kept);
  result.row.firsts.resize(kept);
}

/// Adds the words that were removed by truncation at `side`.
void add_cut_words(TextOfWords& result, std::string_view text, const Tokenizer& tokenizer,
                   TextEnd side) {
  TextOfWords whole;
  add_words(whole, text, tokenizer.encode_text(text, {.add_special = false}));
  if (whole.words.size() <= result.words.size()) return;
  const auto missing = static_cast<std::ptrdiff_t>(whole.words.size() - result.words.size());
  const bool front = side == TextEnd::left;
  auto& [words, row] = result;
  words.insert(front ? words.begin() : words.end(),
               front ? whole.words.begin() : whole.words.end() - missing,
               front ? whole.words.begin() + missing : whole.words.end());
  row.firsts.insert(front ? row.firsts.begin() : row.firsts.end(), missing, -1);
}

TextOfWords text_of_words(const TokenClassifier& model, const std::string& text,
                          const TextNumber& number) {
  TextOfWords result;
  if (!model.reading) {
    result.words = words_between_blanks(text);
    std::vector<std::string> words;
    for (const WordPlace& word : result.words)
      words.push_back(text.substr(word.begin, word.end - word.begin));
    result.row = word_row(model, words, number);
    return result;
  }
  Encoding encoding = model.reader().encode(text, number.text, number.on_cut);
  const bool finds_words = std::any_of(encoding.words.begin(), encoding.words.end(),
                                       [](std::int32_t word) { return word >= 0; });
  if (!finds_words) {  // SentencePiece models do not separate words
    result.words = words_between_blanks(text);
    result.row.firsts = first_ids(encoding, result.words);
  } else {
    add_words(result, text, encoding);
    if (static_cast<std::int64_t>(encoding.size()) == model.config.max_tokens())
      add_cut_words(result, text, model.tokenizer, model.reading->truncation_side);
  }
  std::vector<std::int64_t> firsts = std::move(result.row.firsts);
  result.row = row_of_text(std::move(encoding));
  result.row.firsts = std::move(firsts);
  return result;
}

/// Returns the program inputs for a batch, without labels.
NamedTensors inputs_of_words(const TokenClassifier& model, const Program& program,
                             std::span<const WordRow* const> rows) {
  std::vector<TextRow> texts;
  for (const WordRow* row : rows) texts.push_back({row->ids, row->token_types});
  std::vector<const TextRow*> places;
  for (const TextRow& text : texts) places.push_back(&text);
  return inputs_of(program, model.reader(), places);
}

/// Returns `inputs` with the labels of the rows added.
NamedTensors with_labels(NamedTensors inputs, std::span<const WordRow* const> rows) {
  const std::int64_t length = inputs.front().second.size(1);
  Tensor labels = Tensor::empty(DType::i32, {static_cast<std::int64_t>(rows.size()), length});
  auto* out = labels.mutable_data<std::int32_t>();
  for (const WordRow* row : rows) {
    std::fill(std::copy(row->labels.begin(), row->labels.end(), out), out + length, kNoLabel);
    out += length;
  }
  inputs.emplace_back("labels", std::move(labels));
  return inputs;
}

using Rows = std::span<const WordRow* const>;

/// Runs a program on batches of rows. For every batch, calls `use` with the results, the indices of
/// the rows, and the rows.
void over_batches(
    Session& session, const Program& program, const std::vector<const WordRow*>& rows,
    const std::function<NamedTensors(Rows)>& inputs,
    const std::function<void(const Results&, std::span<const std::size_t>, Rows)>& use) {
  std::vector<std::size_t> lengths;
  for (const WordRow* row : rows) lengths.push_back(row->ids.size());
  const std::vector<std::vector<std::size_t>> batches = batches_by_length(lengths);
  const auto batch_at = [&](std::int64_t b) {
    std::vector<const WordRow*> batch;
    for (const std::size_t i : batches[static_cast<std::size_t>(b)]) batch.push_back(rows[i]);
    return batch;
  };
  run_distributed(
      session, program, std::ssize(batches), [&](std::int64_t b) { return inputs(batch_at(b)); },
      [&](std::int64_t b, const Results& results) {
        use(results, batches[static_cast<std::size_t>(b)], batch_at(b));
      });
}

/// Returns the tags of the words in a row. `predictions` are the predictions for its tokens.
std::vector<std::string> tags_of_words(const TokenClassifier& model, const WordRow& row,
                                       std::span<const std::int64_t> predictions) {
  std::vector<std::string> tags;
  for (const std::int64_t first : row.firsts) {
    if (first < 0) {
      tags.emplace_back(kOutside);
      continue;
    }
    const std::int64_t tag = predictions[static_cast<std::size_t>(first)];
    tags.push_back(model.tags[static_cast<std::size_t>(tag)]);
  }
  return tags;
}

/// Returns the index of the largest logit, and its probability.
std::pair<std::size_t, double> most_likely(std::span<const float> logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - *best);
  return {static_cast<std::size_t>(best - logits.begin()), 1 / sum};
}

/// Returns the predictions for row r of a batch.
std::span<const std::int64_t> row_of(const Tensor& predictions, std::size_t r) {
  const auto length = static_cast<std::size_t>(predictions.size(1));
  return predictions.span<std::int64_t>().subspan(r * length, length);
}

void add_tag(TokenClassifier& model, const std::string& name, const Value& logits) {
  model.add_program(name)
      .precision(model.settings.precision)
      .output("logits", logits)
      .output("predictions", argmax(logits, -1));
}

/// Adds the programs "evaluate" and "tag".
void add_inference(TokenClassifier& model, const Value& logits, const Value& labels) {
  model.add_program("evaluate")
      .precision(model.settings.precision)
      .output("loss", label_loss(logits, labels))
      .output("predictions", argmax(logits, -1));
  add_tag(model, "tag", logits);
}

}  // namespace

const ModelLayout& TokenClassifier::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "word tagger",
                  .uses = {Use::tag, Use::embed},
                  .programs = {"evaluate", "tag", kUnpaddedTag},
                  .added_programs = {kUnpaddedTag}}
          .config(&TokenClassifier::config)
          .tokenizer(&TokenClassifier::tokenizer)
          .part(kClassesPart, "weft.classes", &TokenClassifier::tags)
          .part(kReadingPart, "weft.reading", &TokenClassifier::reading);
  return layout;
}

void TokenClassifier::check() const {
  EncoderModel::check();
  if (config.max_tokens() < 3) {
    throw ArgumentError(
        fmt::format("[CLS], a word and [SEP] require a context of at least 3 tokens, not {}",
                    config.max_tokens()));
  }
  if (reading && tags.empty()) throw ArgumentError("a tagger needs tags");
  if (reading) return;  // models from folders may have any tags
  const bool known = std::all_of(tags.begin(), tags.end(), [](const std::string& tag) {
    return parse_bio_tag(tag).has_value();
  });
  if (tags.size() < 2 || tags.front() != "O" || !known) {
    throw ArgumentError(
        fmt::format("the tags of a tagger must be O, B-TYPE and I-TYPE for at least one type, "
                    "not {}",
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
  const EncoderInputs inputs = add_text_inputs(graph);
  const Value labels = graph.input("labels", DType::i32, {"batch", "seq"});
  const Encoder encoder(Scope(graph), config);
  const TokenScores classifier =
      make_token_scores(Scope(graph), "classifier", config, std::ssize(tags));
  const Value logits = classifier(encoder.evaluation()(inputs).last_hidden_state);
  add_inference(model, logits, labels);
  if (supports_offsets(config)) {
    EncoderInputs unpadded = inputs;
    unpadded.token_places = add_token_places(graph);
    add_tag(model, kUnpaddedTag, classifier(encoder.evaluation()(unpadded).last_hidden_state));
  }
  const Value h = dropout(Scope(graph).training(), encoder.training()(inputs).last_hidden_state,
                          config.hidden_dropout);
  model.add_program("train").output("loss",
                                    label_loss(classifier(h), labels, settings.loss_reduction()));
  return model;
}

std::unique_ptr<TokenClassifier> token_classifier_of(const hf::Folder& folder,
                                                     const FolderTokenizer& text) {
  auto model = std::make_unique<TokenClassifier>();
  Graph& graph = *model->graph;
  auto found = read_folder_encoder(graph, folder, text,
                                   {.endings = {"ForTokenClassification"}, .unpadded = true});
  if (!found) return nullptr;
  const Value logits = found->output("logits");
  add_inference(*model, logits, graph.input("labels", DType::i32, {"batch", "seq"}));
  if (!found->unpadded.empty()) add_tag(*model, kUnpaddedTag, found->unpadded.at("logits"));
  model->task = "token-classification";
  model->tags = label_names(folder.config, logits.size(2).constant());
  found->into(*model);
  return model;
}

FolderModel TokenClassifier::to_folder() const {
  FolderModel folder = encoder_folder(*this, {"ForTokenClassification"});
  folder.library.labels = tags;
  return folder;
}

std::int64_t WordRow::words_seen() const {
  return std::count_if(firsts.begin(), firsts.end(), [](std::int64_t at) { return at >= 0; });
}

TaggedRows tagged_rows(const TokenClassifier& model, std::vector<TaggedSentence> sentences) {
  TaggedRows result;
  for (const TaggedSentence& sentence : sentences) {
    const OnCut counted = ignore_truncation();  // truncation is counted below
    WordRow row = word_row(model, sentence.words, {result.rows.size(), counted});
    row.labels.assign(row.ids.size(), kNoLabel);
    for (std::size_t w = 0; w < sentence.words.size(); ++w) {
      const auto found = std::find(model.tags.begin(), model.tags.end(), sentence.tags[w]);
      if (found == model.tags.end()) {
        throw DataError(fmt::format("unknown tag {} for '{}': the model has the tags {}",
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

std::vector<std::vector<std::string>> tag_words(Session& session, const TokenClassifier& model,
                                                std::span<const std::vector<std::string>> sentences,
                                                const OnCut& on_cut) {
  std::vector<WordRow> rows;
  for (const std::vector<std::string>& words : sentences)
    rows.push_back(word_row(model, words, {rows.size(), on_cut}));
  std::vector<const WordRow*> places;
  for (const WordRow& row : rows) places.push_back(&row);
  std::vector<std::vector<std::string>> tags(rows.size());
  const Program& program = without_padding(model, "tag");
  const auto inputs = [&](Rows batch) { return inputs_of_words(model, program, batch); };
  over_batches(
      session, program, places, inputs, [&](const Results& results, auto numbers, auto batch) {
        for (std::size_t r = 0; r < batch.size(); ++r)
          tags[numbers[r]] = tags_of_words(model, *batch[r], row_of(results["predictions"], r));
      });
  return tags;
}

std::vector<TextOfWords> read_words(const TokenClassifier& model,
                                    const std::vector<std::string>& texts, const OnCut& on_cut) {
  std::vector<TextOfWords> read;
  for (const std::string& text : texts)
    read.push_back(text_of_words(model, text, {read.size(), on_cut}));
  return read;
}

std::vector<TaggedText> tag_read_texts(Session& session, const TokenClassifier& model,
                                       std::span<const TextOfWords* const> texts) {
  std::vector<const WordRow*> places;
  for (const TextOfWords* text : texts) places.push_back(&text->row);
  std::vector<TaggedText> tagged(texts.size());
  const Program& program = without_padding(model, "tag");
  const auto inputs = [&](Rows batch) { return inputs_of_words(model, program, batch); };
  over_batches(session, program, places, inputs,
               [&](const Results& results, auto numbers, auto batch) {
                 check_results(results);
                 const Tensor& logits = results["logits"];
                 const auto length = static_cast<std::size_t>(logits.size(1));
                 for (std::size_t r = 0; r < batch.size(); ++r) {
                   TaggedText& text = tagged[numbers[r]];
                   const std::vector<WordPlace>& words = texts[numbers[r]]->words;
                   for (std::size_t w = 0; w < words.size(); ++w) {
                     const std::int64_t first = batch[r]->firsts[w];
                     TaggedWord& word = text.words.emplace_back(
                         TaggedWord{words[w].begin, words[w].end, std::string(kOutside), 0});
                     if (first < 0) continue;
                     const std::size_t row = r * length + static_cast<std::size_t>(first);
                     const auto [tag, score] = most_likely(
                         logits.span<float>().subspan(row * model.tags.size(), model.tags.size()));
                     word.tag = model.tags[tag];
                     word.score = score;
                   }
                   text.spans = spans_of(text.words);
                 }
               });
  return tagged;
}

std::vector<TaggedText> tag_texts(Session& session, const TrainedModel& any,
                                  const std::vector<std::string>& texts, const OnCut& on_cut) {
  const auto& model = any.as<TokenClassifier>(Use::tag);
  const std::vector<TextOfWords> read = read_words(model, texts, on_cut);
  std::vector<const TextOfWords*> places;
  for (const TextOfWords& text : read) places.push_back(&text);
  return tag_read_texts(session, model, places);
}

TaggingScores score_tags(Session& session, const TokenClassifier& model, const TaggedRows& data,
                         std::int64_t most) {
  if (data.size() == 0) throw DataError("there are no sentences to evaluate on");
  const std::vector<std::int64_t> places = evenly_spread(data.size(), most);
  std::vector<const WordRow*> rows;
  for (const std::int64_t place : places)
    rows.push_back(&data.rows[static_cast<std::size_t>(place)]);
  TaggingScores scores;
  WeightedMean mean;
  const Program& program = model.program("evaluate");
  const auto inputs = [&](Rows batch) {
    return with_labels(inputs_of_words(model, program, batch), batch);
  };
  over_batches(
      session, program, rows, inputs, [&](const Results& results, auto numbers, auto batch) {
        std::int64_t here = 0;
        for (const WordRow* row : batch) here += row->words_seen();
        // The mean loss is undefined for a batch without labels.
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
        return TrainBatch{with_labels(inputs_of_words(model, model.program("train"), rows), rows),
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
