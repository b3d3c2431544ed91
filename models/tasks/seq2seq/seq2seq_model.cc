#include "weft/models/tasks/seq2seq/seq2seq_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/generate/score.h"
#include "weft/models/layers/attention/attention_maps.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/tasks/common/serialised_texts.h"
#include "weft/models/tasks/seq2seq/pair_encoder.h"
#include "weft/models/tasks/seq2seq/seq2seq_writer.h"
#include "weft/models/text/unicode/blank_text.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

struct PairInputs {
  PairInputs(Graph& graph, SourceLocation loc)
      : source(graph.input("source", DType::i32, {"batch", "source_length"}, loc)),
        labels(graph.input("labels", DType::i32, {"batch", "target_length"}, loc)) {}
  Value source, labels;
};

/// The programs that all models have, trainable or not.
struct BuiltPrograms {
  BuiltPrograms(const EncoderDecoder& model, const PairInputs& inputs, Precision precision,
                SourceLocation loc)
      : net(model),
        source(inputs.source),
        labels(inputs.labels),
        mask(not_equal(source, net.config().padding_id)) {
    const EncoderDecoderConfig& c = net.config();
    // Some folders do not specify these ids. The caller of generate() must then pass the start ids.
    const bool knows_start =
        c.padding_id >= 0 && (c.start_id >= 0 || c.decoder_start == DecoderStart::last_label);
    if (knows_start) shifted = net.shift_right(labels);
    Seq2SeqPrograms decoding = make_seq2seq_programs(net, loc);
    if (knows_start) {
      programs.emplace(
          "evaluate",
          Program("evaluate").precision(precision).output("loss", loss(net.evaluation()), loc));
    }
    decoding.prompt.precision(precision);
    decoding.step.precision(precision);
    for (const Program& program : {decoding.prompt, decoding.step, decoding.reorder})
      programs.emplace(program.name(), program);
  }
  /// Returns the loss of `model`, which is `net` in one of the modes.
  Value loss(const EncoderDecoder& model, Reduction reduction = Reduction::mean) const {
    const StackOutputs encoded = model.encode(source, mask);
    // Padding follows all labels, so the causal mask is sufficient for the decoder.
    const StackOutputs decoded = model.decode(shifted, {}, encoded.last_hidden_state, mask);
    return model.with_router_losses(
        model.loss(model.logits(decoded.last_hidden_state), labels, reduction), encoded, decoded,
        reduction);
  }
  void add_score(Precision precision, SourceLocation loc) {
    programs.emplace("score", make_score_program(net, loc).precision(precision));
  }

  const EncoderDecoder& net;
  Value source, labels, mask, shifted;
  Programs programs;
};

Programs build_programs(Graph& graph, const EncoderDecoderConfig& config,
                        const TrainSettings& settings, SourceLocation loc) {
  const PairInputs inputs(graph, loc);
  const EncoderDecoder net(Scope(graph), config, Stacks::both, loc);
  BuiltPrograms built(net, inputs, settings.precision, loc);
  Program train("train");
  train.output("loss", built.loss(net.training(), settings.loss_reduction()), loc);
  built.programs.emplace("train", train);
  built.add_score(settings.precision, loc);
  return built.programs;
}

/// Rows of ids padded to one length, and a mask (1 = token).
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
    ModelLayout all =
        ModelLayout{.kind = "translator",
                    .uses = {Use::generate, Use::score, Use::translate},
                    .programs = {"evaluate", "prompt", "step", "reorder_caches", "score"},
                    .added_programs = {"evaluate", "score"}}
            .config(&Seq2SeqModel::config)
            .tokenizer(&Seq2SeqModel::tokenizer);
    all.plan_cache = 96;
    // Files written by the first versions do not record that character tokenizers begin with
    // padding and end ids. Other tokenizers are required to have these ids only in models trained
    // by Weft; see check().
    all.parts.back().read = [](TrainedModel& model, const Attachment& part) {
      const Tokenizer read = PartValue<Tokenizer>::read(part);
      static_cast<Seq2SeqModel&>(model).tokenizer =
          read.reads_characters() ? read.with_ends() : read;
    };
    return all.part("train.denoising", "weft.train.denoising", &Seq2SeqModel::denoising)
        .part(kGenerationPart, "weft.generation", &Seq2SeqModel::generation);
  }();
  return layout;
}

void Seq2SeqModel::check() const {
  if (!no_tokenizer.empty()) throw ArgumentError(no_tokenizer);
  if (!generation) static_cast<void>(tokenizer.with_ends());
}

std::unique_ptr<TextGenerator> Seq2SeqModel::text_generator(Session& session) const {
  return std::make_unique<Seq2SeqWriter>(session, *this);
}

Seq2SeqPrograms Seq2SeqModel::decoding() const {
  return {program("prompt"), program("step"), program("reorder_caches")};
}

TokenIds Seq2SeqModel::ids_without_text() const {
  TokenIds ids;
  if (!no_tokenizer.empty()) return ids;
  for (std::int64_t id = tokenizer.vocab_size(); id < config.target_vocab(); ++id)
    ids.push_back(id);
  return ids;
}

Seq2SeqModel build_translator(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                              const TrainSettings& settings, std::int64_t least_rows,
                              std::optional<GenerationSettings> generation, SourceLocation loc) {
  Seq2SeqModel model;
  model.tokenizer = tokenizer.with_ends();
  model.generation = std::move(generation);
  config.vocab = std::max(model.tokenizer.vocab_size(), least_rows);
  // One tokenizer reads sources and targets. The stacks of T5Gemma have separate tables of its ids.
  const bool separate = config.decoder_vocab > 0 && config.positions == Seq2SeqPositions::rotary;
  config.decoder_vocab = separate ? config.vocab : 0;
  if (!model.generation) config.padding_id = config.start_id = model.tokenizer.pad_id();
  model.task = "translation";
  model.settings = settings;
  model.config = config;
  model.programs = build_programs(*model.graph, config, settings, loc);
  return model;
}

std::unique_ptr<Seq2SeqModel> seq2seq_model_of(const hf::Folder& folder,
                                               const FolderTokenizer& text) {
  const std::string named = hf::architecture_of(folder.config);
  if (!named.ends_with("ForConditionalGeneration") && !named.ends_with("MTModel")) return nullptr;
  if (hf::minimal_inputs(folder.config).contains("input_features")) return nullptr;  // speech
  auto model = std::make_unique<Seq2SeqModel>();
  Graph& graph = *model->graph;
  const hf::Model built = hf::build_model(
      graph, folder.config,
      {{"input_ids", {DType::i64, {1, 1}}}, {"decoder_input_ids", {DType::i64, {1, 1}}}});
  if (!built.encoder_decoder) return nullptr;
  const SourceLocation loc = SourceLocation::current();
  const Precision precision = model->settings.precision;
  BuiltPrograms programs(*built.encoder_decoder, PairInputs(graph, loc), precision, loc);
  programs.add_score(precision, loc);
  model->task = "translation";
  model->config = built.encoder_decoder->config();
  model->programs = programs.programs;
  model->generation = folder_settings(folder, text);
  model->no_tokenizer = text.missing;
  if (text.tokenizer) {
    model->tokenizer = *text.tokenizer;
    require_ids_fit(folder.path, *text.tokenizer,
                    std::max(model->config.vocab, model->config.target_vocab()));
  }
  model->store = hf::load_weights(built, graph, folder);
  return model;
}

FolderModel Seq2SeqModel::to_folder() const {
  FolderModel folder;
  EncoderDecoderConfig config = this->config;
  folder.library.endings = {"ForConditionalGeneration", "MTModel"};
  folder.longest = config.context;
  if (no_tokenizer.empty()) folder.tokenizer = tokenizer;
  folder.writing = FolderModel::Writing{.start_id = config.start_id, .settings = generation};
  const bool biased = config.positions == Seq2SeqPositions::learned ||
                      (config.positions == Seq2SeqPositions::sinusoidal &&
                       !config.sinusoidal_endpoint && !config.positions_skip_padding);
  if (!config.head_bias && biased) {
    // The classes of BART's kind in transformers add a bias to the logits, which they never train.
    config.head_bias = true;
    folder.weights = [vocab = config.target_vocab()](TensorMap weights) {
      weights["head.bias"] = Tensor::zeros(DType::f32, {1, vocab});
      return weights;
    };
  }
  folder.library.family = config;
  return folder;
}

namespace {

/// Generates the outputs of a model trained by Weft, as ids without texts.
std::vector<WrittenText> written_ids(Session& session, const Seq2SeqModel& model,
                                     const std::vector<std::vector<std::int32_t>>& sources,
                                     const TranslateOptions& options) {
  if (options.batch < 1)
    throw ArgumentError(fmt::format("batch must be at least 1, not {}", options.batch));
  const Tokenizer& tokenizer = model.tokenizer;
  // Texts are padded to a multiple of this value and batched with texts of the same padded size.
  // This keeps the number of plans small, and ensures that the length limit of an output does not
  // depend on the other texts.
  constexpr std::int64_t kStep = 8;
  const std::int64_t longest = longest_text(model.config);
  std::vector<std::size_t> sizes;
  for (const auto& source : sources)
    sizes.push_back(
        static_cast<std::size_t>(std::min(round_up(std::ssize(source), kStep), longest)));
  const std::vector<std::size_t> order = by_length(sizes);
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t i : order) {
    if (batches.empty() || sizes[i] != sizes[batches.back().front()] ||
        std::ssize(batches.back()) == options.batch)
      batches.emplace_back();
    batches.back().push_back(i);
  }
  const auto outputs_of = [&](const std::vector<std::size_t>& batch) {
    const auto length = static_cast<std::int64_t>(sizes[batch.front()]);
    std::vector<std::vector<std::int32_t>> rows;
    for (const std::size_t i : batch) rows.push_back(sources[i]);
    const Prompts prompts = padded(rows, length, tokenizer.pad_id());
    const SearchResult found = Seq2SeqGenerator(session, model.decoding())
                                   .generate(prompts.ids, prompts.mask,
                                             {.beams = options.beams.value_or(1),
                                              .max_length = std::min(2 * length + kStep, longest),
                                              .eos_id = tokenizer.eos_id(),
                                              .pad_id = tokenizer.pad_id(),
                                              .bad_token_ids = model.ids_without_text(),
                                              .length_penalty = options.length_penalty.value_or(1),
                                              .suppressed = {tokenizer.pad_id()},
                                              .start = {model.config.start_id}})
                                   .run();
    std::vector<WrittenText> outputs(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto& ids = found.sequences[i];
      WrittenText& output = outputs[i];
      output.ids.assign(ids.begin() + 1, ids.end());  // without the start id
      if (!found.scores.empty()) output.score = found.scores[i];
      const bool ended = !output.ids.empty() && output.ids.back() == tokenizer.eos_id();
      output.finish = ended ? Finish::end : Finish::length;
    }
    return outputs;
  };
  std::vector<WrittenText> outputs(sources.size());
  const auto batch_at = [&](std::int64_t b) -> const std::vector<std::size_t>& {
    return batches[static_cast<std::size_t>(b)];
  };
  const auto put = [&](std::int64_t b, std::vector<WrittenText> found) {
    for (std::size_t i = 0; i < found.size(); ++i) outputs[batch_at(b)[i]] = std::move(found[i]);
  };
  const World& world = session.options().world;
  if (world.size() == 1) {
    for (std::int64_t b = 0; b < std::ssize(batches); ++b) put(b, outputs_of(batch_at(b)));
    return outputs;
  }
  distribute_over_ranks(
      world, std::ssize(batches),
      [&](std::int64_t b) { return serialise(outputs_of(batch_at(b))); },
      [&](std::int64_t b, const std::string& made) { put(b, parse_written_texts(made)); });
  return outputs;
}

/// Throws ArgumentError if a length penalty is given with one beam, because there are no other
/// sequences whose scores could be compared.
void check_penalty(const TranslateOptions& options, std::int64_t beams) {
  if (options.length_penalty && beams == 1)
    throw ArgumentError(
        "length_penalty applies only to beam search: it requires at least two beams");
}

}  // namespace

Translator::Translator(Session& session, const TrainedModel& model, const TranslateOptions& options)
    : session_(session),
      model_(model.as<Seq2SeqModel>(Use::translate)),
      options_(options),
      writer_(std::make_unique<Seq2SeqWriter>(session, model_, options.languages)),
      generation_(writer_->options()) {
  if (options.beams) {
    generation_.beams = *options.beams;
    generation_.sampling.reset();
    generation_.results = 1;
  }
  check_penalty(options, generation_.beams);
  if (options.length_penalty) generation_.length_penalty = *options.length_penalty;
  generation_.batch = options.batch;
  generation_.truncate = options.on_cut != nullptr;
}

Translator::~Translator() = default;

std::vector<TokenIds> Translator::read(const std::vector<std::string>& texts) const {
  std::vector<std::string> sources;
  std::vector<std::size_t> places;  // of the texts that are not blank
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (is_blank(texts[i])) continue;
    sources.push_back(options_.prefix + texts[i]);
    places.push_back(i);
  }
  std::vector<TokenIds> result(texts.size());
  try {
    std::vector<TokenIds> prompts = writer_->read_all(sources);
    for (CutText cut : writer_->fit_prompts(prompts, generation_)) {
      cut.text = places[cut.text];
      options_.on_cut(cut);
    }
    for (std::size_t i = 0; i < places.size(); ++i) result[places[i]] = std::move(prompts[i]);
  } catch (const TextError& e) {
    throw TextError(places[e.text()], e.reason());
  }
  return result;
}

std::vector<WrittenText> Translator::translate_prompts(std::vector<TokenIds> sources) const {
  if (options_.before) options_.before(*writer_, sources, generation_);
  if (model_.generation) {
    std::vector<WrittenText> outputs = writer_->generate_ids(std::move(sources), generation_).run();
    for (WrittenText& output : outputs) output.text = repaired(output.text);
    return outputs;
  }
  std::vector<std::vector<std::int32_t>> ids;
  for (const TokenIds& source : sources) ids.emplace_back(source.begin(), source.end());
  const Tokenizer targets = model_.tokenizer.targets();
  std::vector<WrittenText> outputs = written_ids(session_, model_, ids, options_);
  for (WrittenText& output : outputs) output.text = targets.decode_to_end(output.ids);
  return outputs;
}

std::vector<WrittenText> Translator::written(std::vector<TokenIds> prompts) const {
  std::vector<WrittenText> outputs(prompts.size(), WrittenText{{}, {}, Finish::end});
  std::vector<TokenIds> sources;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].empty()) continue;
    places.push_back(i);
    sources.push_back(std::move(prompts[i]));
  }
  try {
    std::vector<WrittenText> made = translate_prompts(std::move(sources));
    for (std::size_t i = 0; i < made.size(); ++i) outputs[places[i]] = std::move(made[i]);
  } catch (const TextError& e) {
    throw TextError(places[e.text()], e.reason());
  }
  return outputs;
}

std::vector<std::string> translate(Session& session, const Seq2SeqModel& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options) {
  std::vector<std::string> outputs;
  for (WrittenText& output : translate_texts(session, model, texts, options))
    outputs.push_back(std::move(output.text));
  return outputs;
}

std::vector<WrittenText> translate_texts(Session& session, const TrainedModel& model,
                                         const std::vector<std::string>& texts,
                                         const TranslateOptions& options) {
  const Translator translator(session, model, options);
  return translator.written(translator.read(texts));
}

std::vector<TokenIds> translate_ids(Session& session, const Seq2SeqModel& model,
                                    const std::vector<std::vector<std::int32_t>>& sources,
                                    const TranslateOptions& options) {
  std::vector<TokenIds> outputs;
  for (WrittenText& output : written_ids(session, model, sources, options))
    outputs.push_back(std::move(output.ids));
  return outputs;
}

std::int64_t longest_text(const EncoderDecoderConfig& config) {
  return config.positions == Seq2SeqPositions::learned ? config.context
                                                       : std::numeric_limits<std::int64_t>::max();
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
  const PairEncoder encoder(model);
  std::vector<std::int32_t> source_ids = encoder.source(source),
                            target_ids = encoder.target(target);
  // Re-encoding generated text may produce more ids, especially if the text contains incomplete
  // characters.
  for (std::vector<std::int32_t>* ids : {&source_ids, &target_ids})
    ids->resize(static_cast<std::size_t>(std::min(std::ssize(*ids), longest_text(model.config))));
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
