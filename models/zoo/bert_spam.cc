// Pre-trains a small BERT encoder on unlabelled English texts, then fine-tunes it to recognise spam
// and the sentiment of reviews. Two cores are enough.
//
//   zoo_bert_spam DATA_FOLDER [OUT_FOLDER]
//
// DATA_FOLDER holds classification/SMSSpamCollection (5,574 messages; Almeida and Hidalgo 2011),
// classification/{amazon_cells,imdb,yelp}_labelled.txt (3,000 sentences; Kotzias et al. 2015) and
// translation/eng-swe.tsv (English sentences from Tatoeba). A fifth of each labelled set is used as
// the test set and not for training or tuning. The settings were chosen on a fifth of the remaining
// data.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "weft/models/tasks/masked_tokens/presets.h"
#include "weft/models/tasks/masked_tokens/pretraining_task.h"
#include "weft/models/tasks/text_classification/presets.h"
#include "weft/models/tasks/text_classification/text_baseline.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/data/print_progress.h"

using namespace weft;

namespace {

struct Parts {
  LabelledText train, test;
};

Parts split(const std::vector<std::string>& paths) {
  const LabelledText all = read_labelled_text(paths);
  const Split parts = stratified_split(all.labels, 0.2, /*seed=*/1);
  return {all.subset(parts.train), all.subset(parts.test)};
}

void train(Session& session, const TrainTask& task, const TrainSettings& settings) {
  zoo::PrintProgress progress(100);
  Trainer(session, task, {.settings = settings, .observer = &progress}).run();
}

/// Fine-tunes a classifier that is initialised with the weights of the pre-trained encoder.
TextClassifier fine_tuned(const PretrainingModel& encoder, const Parts& data) {
  TrainSettings settings = find_preset(text_classifier_presets(), "bert-mini").training;
  settings.eval_every = 0;
  TextClassifier model = trainable(
      build_text_classifier(encoder.config, encoder.tokenizer, data.train.names, settings));
  TensorMap weights;
  for (const std::string& name : encoder.store->names())
    weights[name] = encoder.store->tensor(name);
  load_weights(*model.store, *model.graph, weights, "the encoder");
  Session session(*model.graph, model.store, {.seed = settings.seed});
  train(session, text_classifier_task(session, model, data.train, nullptr), settings);
  return model;
}

/// Evaluates the model on the test set and prints its results next to the results of logistic
/// regression on TF-IDF features. Returns the model's confusion matrix.
ConfusionMatrix compare(const std::string& what, const TextClassifier& model, const Parts& data) {
  Session session(*model.graph, model.store);
  ConfusionMatrix bert = confusion(session, model, data.test);
  const TextBaseline base = tfidf_baseline(data.train, data.test);
  fmt::print("{}: {} held-out texts\n", what, data.test.size());
  fmt::print("BERT: accuracy {:.2f}%\n{}", 100 * bert.accuracy(), bert.table());
  fmt::print(
      "TF-IDF logistic regression: accuracy {:.2f}% (l2 {}, {} counts, {} punctuation: the best of "
      "{} settings in cross-validation, with accuracy {:.2f}%)\n{}",
      100 * base.test.accuracy(), base.l2, term_frequency_name(base.features.frequency),
      base.features.punctuation ? "with" : "without", base.tried, 100 * base.validation_accuracy,
      base.test.table());
  return bert;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void run(const std::string& data, const std::filesystem::path& out) {
  const Parts spam = split({data + "/classification/SMSSpamCollection"});
  std::vector<std::string> reviews;
  for (const char* name : {"amazon_cells", "imdb", "yelp"})
    reviews.push_back(fmt::format("{}/classification/{}_labelled.txt", data, name));
  const Parts sentiment = split(reviews);

  std::vector<std::string> texts = spam.train.texts;
  texts.insert(texts.end(), sentiment.train.texts.begin(), sentiment.train.texts.end());
  for (const std::string& line : read_lines(data + "/translation/eng-swe.tsv"))
    texts.push_back(line.substr(0, line.find('\t')));

  const auto tokenizer = SentencePieceTokenizer::train(texts, {.vocab = 4000});
  const auto& preset = find_preset(encoder_presets(), "bert-mini");
  EncoderConfig config = preset.model;
  config.vocab = tokenizer.vocab_size();
  config.padding_id = tokenizer.pad_id();
  PretrainingModel encoder = trainable(build_pretraining_model(config, tokenizer, preset.training));
  {
    const PackedTexts rows(tokenizer, texts, config.context);
    fmt::print("Pre-training on {} texts, {} tokens\n", rows.texts(), rows.tokens());
    Session session(*encoder.graph, encoder.store, {.seed = preset.training.seed});
    train(session, pretraining_task(session, encoder, rows, nullptr), preset.training);
  }
  fmt::print(
      "Settings: the bert-mini presets, chosen on a fifth of the training set without using the "
      "test set\n");
  fmt::print("Fine-tuning on {} messages\n", spam.train.size());
  const TextClassifier model = fine_tuned(encoder, spam);
  const ConfusionMatrix figures = compare("SMS spam", model, spam);
  fmt::print("Fine-tuning on {} review sentences\n", sentiment.train.size());
  compare("Sentiment", fine_tuned(encoder, sentiment), sentiment);

  const std::string file = out / "bert_spam.weft";
  save_model(file, model);
  const TextClassifier loaded = load_model<TextClassifier>(file);
  const std::vector<std::string> own = {
      "You have WON a free holiday! Call 0900 123456 now to claim.",
      "Shall we have lunch on Tuesday, same place?"};
  const std::vector<Classified> found = classify(loaded, own);
  for (std::size_t i = 0; i < own.size(); ++i)
    fmt::print("{:.1f}% {}: {}\n", 100 * found[i].probabilities.at(found[i].label),
               loaded.classes[found[i].label], own[i]);
  write(out / "bert_spam.confusion.svg", svg_heat_maps({figures.heat_map("held-out messages")}));
  write(out / "bert_spam.attention.svg", attention_svg(loaded, own.front()));
  fmt::print("wrote {}, bert_spam.confusion.svg, bert_spam.attention.svg\n", file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: zoo_bert_spam DATA_FOLDER [OUT_FOLDER]\n");
    return 2;
  }
  return zoo::exit_code("bert_spam", [&] { run(argv[1], argc == 3 ? argv[2] : "."); });
}
