#include "weft/models/program/held_out.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/core/error.h"
#include "weft/models/data/documents.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/options.h"
#include "weft/models/train/denoising_task.h"
#include "weft/models/train/evaluate.h"
#include "weft/models/train/masked_image_task.h"
#include "weft/models/train/pretraining_task.h"
#include "weft/models/train/translator_task.h"

namespace weft::program {
namespace {

/// One option is right for a kind of model, the others are not.
void check_option(const HeldOutData& data, std::string_view option, std::string_view kind,
                  const std::string& file) {
  for (const auto& [name, given] : {std::pair{"--text", !data.text.empty()},
                                    {"--data", !data.data.empty()},
                                    {"--pairs", !data.pairs.empty()}}) {
    if (given && name != option) {
      throw UsageError(fmt::format("{} holds a {}: it is measured with {}, not with {}", file, kind,
                                   option, name));
    }
  }
}

const std::string& only(const std::vector<std::string>& paths, std::string_view option) {
  if (paths.size() != 1)
    throw UsageError(fmt::format("{} takes one path here, not {}", option, paths.size()));
  return paths.front();
}

std::vector<TextDocument> held_out_documents(std::vector<TextDocument> documents,
                                             const TrainSettings& settings) {
  DocumentSplit parts = split_documents(std::move(documents), settings.validation_fraction);
  if (parts.validation.empty()) throw DataError("no part of the text was held out in training");
  return std::move(parts.validation);
}

SessionOptions with_threads(int threads) { return {.threads = threads}; }

}  // namespace

void add_held_out_options(CLI::App& command, HeldOutData& data) {
  OptionList options(command);
  options.inputs("--text", data.text,
                 "text of the training of a language model or of a pre-training: perplexity, or "
                 "what pre-training measures, of its validation part");
  options.inputs("--data", data.data,
                 "data of the training of a classifier or a masked-image model: accuracy, or the "
                 "loss of hidden pixels, on the test part");
  options.input("--pairs", data.pairs,
                "pairs of the training of a translator: perplexity of the validation part");
  options.choice("--label", {"auto", "first", "last"}, data.label, "as in weft train encoder");
  options.real("--test-fraction", data.test_fraction, {0.01, 0.9}, "as in weft train encoder");
  options.seed("--split-seed", data.split_seed, "as in weft train encoder");
  options.threads(data.threads);
}

void check_data(const LanguageModel&, const HeldOutData& data, const std::string& file) {
  check_option(data, "--text", "language model", file);
}
void check_data(const PretrainingModel&, const HeldOutData& data, const std::string& file) {
  check_option(data, "--text", "pre-trained encoder", file);
}
void check_data(const TextClassifier&, const HeldOutData& data, const std::string& file) {
  check_option(data, "--data", "classifier of texts", file);
}
void check_data(const ImageClassifier&, const HeldOutData& data, const std::string& file) {
  check_option(data, "--data", "classifier of images", file);
}
void check_data(const MaskedImageModel&, const HeldOutData& data, const std::string& file) {
  check_option(data, "--data", "masked-image model", file);
}
void check_data(const Translator& model, const HeldOutData& data, const std::string& file) {
  if (model.denoising) return check_option(data, "--text", "pre-trained encoder-decoder", file);
  check_option(data, "--pairs", "translator", file);
}

Evaluation held_out_evaluation(const LanguageModel& model, const HeldOutData& data) {
  return {validation_loss(model, only(data.text, "--text"), data.threads), {}};
}

Evaluation held_out_evaluation(const PretrainingModel& model, const HeldOutData& data) {
  const bool pairs = reads_pairs(model.options.objective);
  const std::vector<TextDocument> held_out = held_out_documents(
      pairs ? read_documents(data.text) : read_single_texts(data.text), model.settings);
  Session session(*model.graph, model.store, with_threads(data.threads));
  if (pairs) {
    const SentencePairs rows = sentence_pairs(model, held_out);
    return pretraining_task(session, model, rows, &rows).evaluate(true);
  }
  const PackedTexts rows(model.tokenizer, sentences(held_out), model.config.longest_row());
  return pretraining_task(session, model, rows, &rows).evaluate(true);
}

LabelledText held_out_texts(const TextClassifier& model, const HeldOutData& data) {
  const LabelledText all = read_labelled_text(data.data, parse_label_side(data.label));
  if (all.names != model.classes) {
    throw DataError(fmt::format("the model knows the classes {}, the data have {}",
                                fmt::join(model.classes, ", "), fmt::join(all.names, ", ")));
  }
  return all.subset(stratified_split(all.labels, data.test_fraction, data.split_seed).test);
}

ImageData held_out_images(const ImageSize& size, const TrainSettings& settings,
                          const HeldOutData& data) {
  return load_image_data(only(data.data, "--data"), size, settings.seed);
}

Evaluation held_out_evaluation(const TextClassifier& model, const HeldOutData& data) {
  const LabelledText test = held_out_texts(model, data);
  Session session(*model.graph, model.store, with_threads(data.threads));
  return text_classifier_task(session, model, test, &test).evaluate(true);
}

Evaluation held_out_evaluation(const ImageClassifier& model, const HeldOutData& data) {
  const ImageSet test = held_out_images(model.image_size(), model.settings, data).test;
  Session session(*model.graph, model.store, with_threads(data.threads));
  const ImageEvaluation found = evaluate_images(session, model, test);
  return {found.loss, {{"accuracy", found.report.accuracy()}}};
}

Evaluation held_out_evaluation(const MaskedImageModel& model, const HeldOutData& data) {
  const ImageSet test = held_out_images(model.image_size(), model.settings, data).test;
  Session session(*model.graph, model.store, with_threads(data.threads));
  return {masked_image_loss(session, model, test), {}};
}

Evaluation held_out_evaluation(const Translator& model, const HeldOutData& data) {
  Session session(*model.graph, model.store,
                  {.threads = data.threads, .plan_cache = kTranslatorPlans});
  if (model.denoising) {
    const Passages passages =
        make_passages(model, held_out_documents(read_documents(data.text), model.settings));
    return denoising_task(session, model, passages, &passages).evaluate(true);
  }
  const TextPairSplit parts = split_by_source(
      read_text_pairs(data.pairs), model.settings.validation_fraction, model.settings.seed);
  return {mean_loss(session, model.programs.evaluate,
                    make_pair_batches(parts.validation, model.tokenizer, model.settings)),
          {}};
}

}  // namespace weft::program
