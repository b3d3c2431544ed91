#include "weft/models/tasks/next_token/language_model.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/loss.h"
#include "weft/models/families/gpt.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/tasks/next_token/language_writer.h"
#include "weft/models/training/folder_weights.h"

namespace weft {

const ModelLayout& LanguageModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "language model",
                  .uses = {Use::generate, Use::chat, Use::score},
                  .programs = {"evaluate", "decode", "score"},
                  .added_programs = {"score"}}
          .config(&LanguageModel::config)
          .tokenizer(&LanguageModel::tokenizer)
          .part(kGenerationPart, "weft.generation", &LanguageModel::generation)
          .part(kChatPart, "weft.chat", &LanguageModel::chat);
  return layout;
}

void LanguageModel::check() const {
  if (!no_tokenizer.empty()) throw ArgumentError(no_tokenizer);
  const std::int64_t known = tokenizer.vocab_size();
  if (tokenizer.reads_characters() ? config.vocab != known : config.vocab < known) {
    throw ArgumentError(fmt::format("the model's vocabulary size is {}, but the tokenizer's is {}",
                                    config.vocab, known));
  }
}

std::unique_ptr<TextGenerator> LanguageModel::text_generator(Session& session) const {
  return std::make_unique<LanguageWriter>(session, *this);
}

namespace {

/// Builds the programs that all language models have, trainable or not.
Programs gpt_programs(const Gpt& model, Value tokens, Value targets, Precision precision,
                      SourceLocation loc) {
  const GptOutputs outputs = model.evaluation()({.ids = tokens}, loc);
  name_outputs(outputs);
  Program evaluate("evaluate"), score("score");
  evaluate.precision(precision).output(
      "loss", cross_entropy(outputs.logits, targets, {.class_axis = -1}), loc);
  score.precision(precision).output(
      "losses",
      cross_entropy(outputs.logits, targets, {.class_axis = -1, .reduction = Reduction::none}),
      loc);
  return {{"evaluate", evaluate}, {"score", score}};
}

}  // namespace

Programs build_gpt_programs(Graph& graph, const GptConfig& config, const TrainSettings& settings,
                            SourceLocation loc) {
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"}, loc);
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"}, loc);
  const Gpt model(Scope(graph), config, GptHead::language_model, loc);
  const Precision precision = settings.precision;
  Programs programs = gpt_programs(model, tokens, targets, precision, loc);
  const GptOutputs trained = model.training()({.ids = tokens}, loc);
  const Reduction reduction = settings.loss_reduction();
  const Value loss =
      cross_entropy(trained.logits, targets, {.class_axis = -1, .reduction = reduction});
  Program train("train");
  train.precision(precision).output(
      "loss", with_router_losses(loss, config, trained, {}, reduction, loc), loc);
  programs.emplace("train", train);
  programs.emplace("decode", model.decode_program(tokens, loc).precision(precision));
  return programs;
}

LanguageModel build_language_model(const GptConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings) {
  settings.check();
  LanguageModel model;
  model.task = "next-token";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.check();
  model.programs = build_gpt_programs(*model.graph, config, settings);
  return model;
}

std::unique_ptr<LanguageModel> language_model_of(const hf::Folder& folder,
                                                 const FolderTokenizer& text) {
  if (!hf::is_gpt_language_model(folder.config)) return nullptr;
  auto model = std::make_unique<LanguageModel>();
  Graph& graph = *model->graph;
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"});
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"});
  const hf::GptModel built = hf::build_gpt_model(graph, folder.config);
  const Precision precision = model->settings.precision;
  model->task = "next-token";
  model->config = built.gpt.config();
  model->programs = gpt_programs(built.gpt, tokens, targets, precision, SourceLocation::current());
  model->programs.emplace("decode", built.gpt.decode_program(tokens).precision(precision));
  model->generation = folder_settings(folder, text);
  model->chat = read_chat_format({folder.path, folder.ignored_keys}).format;
  model->no_tokenizer = text.missing;
  if (text.tokenizer) {
    model->tokenizer = *text.tokenizer;
    require_ids_fit(folder.path, *text.tokenizer, model->config.vocab);
  }
  load_folder_weights(*model, built.model, folder);
  return model;
}

std::unique_ptr<LanguageModel> language_model_of(const gguf::ModelFile& file,
                                                 std::vector<std::string>* notes,
                                                 bool keep_formats) {
  auto model = std::make_unique<LanguageModel>();
  Graph& graph = *model->graph;
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"});
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"});
  const Gpt gpt(Scope(graph).evaluation(), file.config);
  const Precision precision = model->settings.precision;
  model->task = "next-token";
  model->config = file.config;
  model->programs = gpt_programs(gpt, tokens, targets, precision, SourceLocation::current());
  model->programs.emplace("decode", gpt.decode_program(tokens).precision(precision));
  model->generation = file.generation;
  model->chat = file.chat;
  model->no_tokenizer = file.text.missing;
  if (file.text.tokenizer) model->tokenizer = *file.text.tokenizer;
  gguf::LoadedWeights loaded = gguf::load_weights(file, model->all_programs(), keep_formats);
  if (loaded.graph != nullptr) model->replace_programs(loaded.graph, loaded.programs);
  model->store = std::move(loaded.store);
  if (notes != nullptr) {
    notes->insert(notes->end(), file.notes.begin(), file.notes.end());
    notes->insert(notes->end(), loaded.notes.begin(), loaded.notes.end());
  }
  return model;
}

gguf::WriteReport LanguageModel::save_gguf(const std::string& path, gguf::OutType type) const {
  if (lora)
    throw ArgumentError("the model has adapters: merge them into its weights first (weft merge)");
  gguf::ModelToWrite written{.config = config, .graph = graph.get(), .store = store.get()};
  if (no_tokenizer.empty()) written.tokenizer = tokenizer;
  written.chat = chat;
  written.generation = generation;
  return gguf::write_model(path, written, type);
}

FolderModel LanguageModel::to_folder() const {
  FolderModel folder;
  folder.library.family = config;
  folder.library.endings = {"LMHeadModel", "ForCausalLM", "Model"};
  folder.longest = config.context;
  if (no_tokenizer.empty()) folder.tokenizer = tokenizer;
  folder.writing = FolderModel::Writing{.settings = generation};
  folder.chat = chat;
  return folder;
}

TokenIds ids_without_text(const LanguageModel& model) {
  const Tokenizer& tokenizer = model.tokenizer;
  TokenIds ids;
  for (std::int32_t id = 0; !model.generation && id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id) && id != tokenizer.bos_id() && id != tokenizer.eos_id())
      ids.push_back(id);
  }
  for (std::int64_t id = tokenizer.vocab_size(); id < model.config.vocab; ++id) ids.push_back(id);
  return ids;
}

}  // namespace weft
