#include "weft/models/tasks/speech/speech_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/inputs/speech_preprocessor.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/training/weights.h"

namespace weft {
namespace {

/// The vocabulary of Whisper models that know English only.
constexpr std::int64_t kEnglishVocab = 51864;

/// Returns the programs of a model, with "train" if `training` is set.
Programs speech_programs(const EncoderDecoder& net, const TrainSettings& settings, bool training,
                         SourceLocation loc) {
  const EncoderDecoderConfig& c = net.config();
  Graph& graph = net.graph();
  const Value spectrograms =
      graph.input("spectrograms", DType::f32, {"batch", c.mel_bins, c.frames()}, loc);
  const Value labels = graph.input("labels", DType::i32, {"batch", "target_length"}, loc);
  const Value shifted = net.shift_right(labels, loc);
  const auto loss = [&](const EncoderDecoder& model, Reduction reduction) {
    const Value memory = model.encode(spectrograms, {}).last_hidden_state;
    // Padding follows all labels, so the causal mask is sufficient for the decoder.
    const Value h = model.decode(shifted, {}, memory, {}).last_hidden_state;
    return model.loss(model.logits(h), labels, reduction);
  };
  Programs programs;
  if (training) {
    Program train("train");
    train.output("loss", loss(net.training(), settings.loss_reduction()), loc);
    programs.emplace("train", train);
  }
  Seq2SeqPrograms decoding = make_seq2seq_programs(net, loc);
  programs.emplace("evaluate", Program("evaluate")
                                   .precision(settings.precision)
                                   .output("loss", loss(net.evaluation(), Reduction::mean), loc));
  decoding.prompt.precision(settings.precision);
  decoding.step.precision(settings.precision);
  for (const Program& program : {decoding.prompt, decoding.step, decoding.reorder})
    programs.emplace(program.name(), program);
  return programs;
}

/// Throws FormatError if an id is outside the vocabulary. `where` names the file for the message.
void check_speech_ids(std::string_view where, const SpeechSettings& s, std::int64_t vocab) {
  const auto check = [&](std::string_view name, std::int64_t id, std::int64_t least) {
    if (id < least || id >= vocab)
      throw FormatError(fmt::format("{}: the id {} of {} is outside the vocabulary (size {})",
                                    where, id, name, vocab));
  };
  for (const auto& [name, id] : s.languages) check(fmt::format("language '{}'", name), id, 0);
  for (const auto& [name, id] : s.tasks) check(fmt::format("task '{}'", name), id, 0);
  check("no_timestamps_token_id", s.no_timestamps_id, -1);
  check("prev_sot_token_id", s.previous_id, -1);
}

void set_from_token(const Tokenizer& tokenizer, const std::string& name, std::int64_t& id) {
  if (id < 0) id = tokenizer.find("<|" + name + "|>");
}

/// Returns true for the token of a language, "<|en|>" or "<|haw|>".
bool is_language_token(std::string_view piece) {
  if (!piece.starts_with("<|") || !piece.ends_with("|>")) return false;
  piece = piece.substr(2, piece.size() - 4);
  return (piece.size() == 2 || piece.size() == 3) &&
         std::all_of(piece.begin(), piece.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

void complete_speech_settings(SpeechSettings& s, const Tokenizer& tokenizer, std::int64_t vocab) {
  if (s.languages.empty() && vocab == kEnglishVocab) s.multilingual = false;
  set_from_token(tokenizer, "notimestamps", s.no_timestamps_id);
  set_from_token(tokenizer, "startofprev", s.previous_id);
  for (const char* task : {"transcribe", "translate"}) {
    std::int64_t id = s.tasks.contains(task) ? s.tasks[task] : -1;
    set_from_token(tokenizer, task, id);
    if (id >= 0) s.tasks[task] = id;
  }
  if (!s.languages.empty()) return;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) continue;
    const std::string piece = tokenizer.piece(id);
    if (is_language_token(piece)) s.languages[piece.substr(2, piece.size() - 4)] = id;
  }
}

const ModelLayout& SpeechModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "speech recogniser",
                  .uses = {Use::transcribe},
                  .programs = {"evaluate", "prompt", "step", "reorder_caches"}}
          .config(&SpeechModel::config)
          .tokenizer(&SpeechModel::tokenizer)
          .part(kGenerationPart, "weft.generation", &SpeechModel::generation)
          .part("model.speech", "weft.speech", &SpeechModel::features)
          .part("train.masking", "weft.train.spectrogram_masking", &SpeechModel::masking);
  return layout;
}

void SpeechModel::check() const {
  config.check();
  features.check();
  masking.check();
  if (!no_tokenizer.empty()) throw ArgumentError(no_tokenizer);
  if (!config.reads_speech())
    throw ArgumentError("a speech recogniser needs mel_bins: its encoder reads spectrograms");
  if (features.mel_bins != config.mel_bins)
    throw ArgumentError(fmt::format("the spectrograms have {} mel bins, but the model requires {}",
                                    features.mel_bins, config.mel_bins));
  if (!generation.speech) throw FormatError("the file holds no settings for speech recognition");
  check_speech_ids("the generation settings", *generation.speech, config.vocab);
}

Seq2SeqPrograms SpeechModel::decoding() const {
  return {program("prompt"), program("step"), program("reorder_caches")};
}

std::int64_t SpeechModel::start_id() const {
  return generation.start.empty() ? config.start_id : generation.start.front();
}

std::string SpeechModel::text_of(const TokenIds& ids) const {
  if (!has_tokenizer()) return fmt::format("{}", fmt::join(ids, " "));
  TokenIds words;
  const std::int64_t times = speech().no_timestamps_id;
  for (const std::int64_t id : ids) {
    const bool time = times >= 0 && id >= times;
    if (time || id >= tokenizer.vocab_size() || tokenizer.is_special(static_cast<std::int32_t>(id)))
      continue;
    words.push_back(id);
  }
  return repaired(tokenizer.decode(words));
}

FolderModel SpeechModel::to_folder() const {
  FolderModel folder;
  folder.library.family = config;
  folder.library.endings = {"ForConditionalGeneration"};
  folder.longest = config.context;
  if (has_tokenizer()) folder.tokenizer = tokenizer;
  folder.writing = FolderModel::Writing{.start_id = config.start_id, .settings = generation};
  // The file of the original folder is kept if it still describes the spectrograms.
  std::string text = origin ? origin->text(kPreprocessorFile) : std::string();
  if (text.empty() ||
      read_speech_preprocessor(text, kPreprocessorFile, config.mel_bins) != features)
    text = speech_preprocessor_json(features);
  folder.more[kPreprocessorFile] = std::move(text);
  return folder;
}

SpeechModel build_speech_model(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                               const GenerationSettings& generation, const LogMelOptions& features,
                               const TrainSettings& settings, std::int64_t least_rows,
                               SourceLocation loc) {
  SpeechModel model;
  config.vocab = std::max(tokenizer.vocab_size(), least_rows);
  model.task = "transcription";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.generation = generation;
  model.features = features;
  model.check();
  const EncoderDecoder net(Scope(*model.graph), config, Stacks::both, loc);
  model.programs = speech_programs(net, settings, true, loc);
  return model;
}

std::unique_ptr<SpeechModel> speech_model_of(const hf::Folder& folder,
                                             const FolderTokenizer& text) {
  if (hf::architecture_of(folder.config) != "WhisperForConditionalGeneration") return nullptr;
  auto model = std::make_unique<SpeechModel>();
  Graph& graph = *model->graph;
  const hf::Model built = hf::build_model(graph, folder.config, hf::minimal_inputs(folder.config));
  model->task = "transcription";
  model->config = built.encoder_decoder->config();
  if (model->config.padding_id < 0)
    throw ArgumentError(fmt::format("{}: config.json has no pad_token_id", folder.path));
  model->programs =
      speech_programs(*built.encoder_decoder, model->settings, false, SourceLocation::current());
  model->features = read_speech_preprocessor(
      folder.text(kPreprocessorFile),
      (std::filesystem::path(folder.path) / kPreprocessorFile).string(), model->config.mel_bins);
  model->generation = folder_settings(folder, text);
  model->no_tokenizer = text.missing;
  SpeechSettings& speech = *model->generation.speech;
  if (text.tokenizer) {
    model->tokenizer = *text.tokenizer;
    require_ids_fit(folder.path, *text.tokenizer, model->config.vocab);
    complete_speech_settings(speech, *text.tokenizer, model->config.vocab);
  }
  check_speech_ids(folder.path, speech, model->config.vocab);
  model->store = hf::load_weights(built, graph, folder);
  return model;
}

}  // namespace weft
