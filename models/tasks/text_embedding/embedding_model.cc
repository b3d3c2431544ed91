#include "weft/models/tasks/text_embedding/embedding_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/functions/composed/info_nce.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"
#include "weft/models/training/gathered_rows.h"

namespace weft {
namespace {

constexpr const char* kModulesJson = "modules.json";

/// The names under which models store the prompts of queries and passages.
constexpr const char* kQueryPrompt = "query";
std::string passage_prompt_name(const SentenceSettings& settings) {
  // E5 and Nomic call passages "passage" and "document"; the latter is the library's name.
  const bool passage =
      settings.prompts.contains("passage") && !settings.prompts.contains("document");
  return passage ? "passage" : "document";
}

/// Returns the given prompt or, if it is empty, the prompt of the model with this name.
std::string applied_prompt(const SentenceSettings& settings, const std::string& given,
                           const std::string& name) {
  if (!given.empty()) return given;
  const auto found = settings.prompts.find(name);
  return found != settings.prompts.end() ? found->second
                                         : settings.prompt(std::nullopt, std::nullopt);
}

SentenceSettings settings_of_model(const TextEncoder& model) {
  return sentence_settings(*model.origin, model.config.width).value();
}

void limit_tokens(TextEncoder& model, std::int64_t max_tokens) {
  if (max_tokens == 0) {
    if (model.origin->text("sentence_bert_config.json").empty() &&
        tokenizer_limit(*model.origin) == 0)
      set_token_limit(*model.origin, model.reader().longest());
    return;
  }
  if (!model.reading) {
    throw ArgumentError(
        "max_tokens applies to encoders from Hugging Face folders: set the context of a new "
        "encoder instead");
  }
  if (max_tokens > model.config.max_tokens()) {
    throw ArgumentError(fmt::format("max_tokens is {}, but the context of the model is {} tokens",
                                    max_tokens, model.config.max_tokens()));
  }
  set_token_limit(*model.origin, max_tokens);
}

/// Computes the vectors of texts with dropout, in a new pass over the parameters.
Value training_vectors(const TextEncoder& model, const SentenceSettings& settings, Value ids,
                       Value mask, Value pooled) {
  const Scope root = Scope(*model.graph).training();
  const Value h =
      model.decoder
          ? Gpt(root, *model.decoder, GptHead::none)({.ids = ids, .attention_mask = mask})
                .last_hidden_state
          : Encoder(root, model.config)({.ids = ids, .attention_mask = mask}).last_hidden_state;
  return apply_modules(settings, root, [&](TextPooling pooling) {
    return pool_tokens(pooling, h, pooled, settings.include_prompt);
  });
}

}  // namespace

Value embedding_loss(Value queries, Value passages, Value query_ids, Value passage_ids,
                     const ContrastiveOptions& options, bool cosine) {
  const Dim n = passages.size(0), width = passages.size(2);
  const std::int64_t texts = passages.size(1).constant(), all = width.constant();
  const Value positives = select(passages, 1, Dim(0));
  const Value positive_ids = select(passage_ids, 1, Dim(0));
  const auto same = [](const Value& rows, const Value& columns) {
    return equal(unsqueeze(rows, 1), unsqueeze(columns, 0));
  };
  const Value square = logical_or(same(positive_ids, positive_ids), same(query_ids, query_ids));
  Value negatives, excluded = square;
  if (texts > 1) {
    negatives = reshape(slice(passages, 1, {.begin = Dim(1)}), Shape{n * (texts - 1), width});
    const Value ids = reshape(slice(passage_ids, 1, {.begin = Dim(1)}), Shape{n * (texts - 1)});
    // [n, n] x [n, n (texts - 1)]: how many equal queries have the negative as their positive.
    const auto number = [&](const Value& x) { return cast(x, queries.dtype()); };
    const Value relevant =
        greater(matmul(number(same(query_ids, query_ids)), number(same(positive_ids, ids))), 0);
    excluded = concat({square, logical_or(relevant, unsqueeze(less(ids, 0), 0))}, 1);
  }
  const auto loss_of_first = [&](std::int64_t size) {
    const auto first = [&](const Value& x) { return slice(x, 1, {.end = Dim(size)}); };
    InfoNceOptions of_queries{
        .excluded = excluded, .temperature = options.temperature, .normalize = cosine};
    if (negatives.defined()) of_queries.negatives = first(negatives);
    const Value loss = info_nce(first(queries), first(positives), of_queries);
    if (!options.symmetric) return loss;
    return 0.5 * (loss + info_nce(first(positives), first(queries),
                                  {.excluded = square,
                                   .temperature = options.temperature,
                                   .normalize = cosine}));
  };
  Value total;
  const auto add = [&](double size, double weight) {
    const Value loss = loss_of_first(static_cast<std::int64_t>(size)) * weight;
    total = total.defined() ? total + loss : loss;
  };
  for (std::size_t i = 0; i < options.dimensions.size(); ++i)
    add(options.dimensions[i],
        options.dimension_weights.empty() ? 1 : options.dimension_weights[i]);
  const auto whole = static_cast<double>(all);
  if (std::count(options.dimensions.begin(), options.dimensions.end(), whole) == 0) add(whole, 1);
  return total;
}

ContrastiveOptions with_prompts(ContrastiveOptions options, const SentenceSettings& settings) {
  options.query_prompt = applied_prompt(settings, options.query_prompt, kQueryPrompt);
  options.passage_prompt =
      applied_prompt(settings, options.passage_prompt, passage_prompt_name(settings));
  return options;
}

void set_contrastive_options(TextEncoder& model, ContrastiveOptions options) {
  options.check();
  if (!model.origin) model.origin.emplace();
  hf::FolderOrigin& files = *model.origin;
  if (files.text(kModulesJson).empty()) {
    // A Pooling without a list of modules is kept.
    for (const auto& [name, text] : sentence_files(options.pooling, true, model.config.width))
      files.files.try_emplace(name, text);
  }
  limit_tokens(model, options.max_tokens);
  const SentenceSettings before = settings_of_model(model);
  const std::string passages = passage_prompt_name(before);
  const bool given = !options.query_prompt.empty() || !options.passage_prompt.empty();
  options = with_prompts(std::move(options), before);
  if (given || files.text("config_sentence_transformers.json").empty())
    set_prompts(files, {{kQueryPrompt, options.query_prompt}, {passages, options.passage_prompt}});
  const SentenceSettings settings = settings_of_model(model);
  if (settings.similarity != VectorSimilarity::cosine &&
      settings.similarity != VectorSimilarity::dot) {
    throw ArgumentError(
        fmt::format("the contrastive loss compares vectors by cosine or dot product, but "
                    "similarity_fn_name of the model is \"{}\"",
                    choice_name(settings.similarity)));
  }
  const std::int64_t width = settings.width(model.config.width);
  for (const double size : options.dimensions) {
    if (size > static_cast<double>(width)) {
      throw ArgumentError(fmt::format(
          "dimensions contains {}, but the vectors of the model have {} values", size, width));
    }
  }
  options.pooling = settings.poolings.front();
  if (model.reading) limit_texts(settings, model, "the model");
  model.vectors.pooling = options.pooling;
  model.contrastive = std::move(options);
}

void build_embedding_programs(TextEncoder& model) {
  model.check();
  Graph& graph = *model.graph;
  const ContrastiveOptions options = model.contrastive.value();
  const SentenceSettings settings = settings_of_model(model);
  const EncoderInputs inputs = add_text_inputs(graph);
  const Scope root = Scope(graph).evaluation();
  const Value h = model.decoder ? Gpt(root, *model.decoder, GptHead::none)(
                                      {.ids = inputs.ids, .attention_mask = inputs.attention_mask})
                                      .last_hidden_state
                                : Encoder(root, model.config)(inputs).last_hidden_state;
  add_text_vectors(model, h, inputs.attention_mask, &settings);
  if (!model.decoder) add_unpadded_vectors(model, model.config, &settings);

  const std::int64_t texts = 1 + options.negatives;
  const auto queries = [&](const char* name) {
    return graph.input(name, DType::i32, {"batch", "query_seq"});
  };
  const auto passages = [&](const char* name) {
    const Value x = graph.input(name, DType::i32, {"batch", texts, "passage_seq"});
    return flatten(x, 0, 1);
  };
  const Value query_tokens = queries("query_tokens"), query_mask = queries("query_mask"),
              passage_tokens = passages("passage_tokens"), passage_mask = passages("passage_mask");
  const bool all = settings.include_prompt;
  const Value q = training_vectors(model, settings, query_tokens, query_mask,
                                   all ? query_mask : queries("query_pooled"));
  const Value p = training_vectors(model, settings, passage_tokens, passage_mask,
                                   all ? passage_mask : passages("passage_pooled"));
  const Dim& n = query_tokens.size(0);
  std::vector<Value> values = {q, reshape(p, Shape{n, texts, p.size(1)}),
                               graph.input("query_ids", DType::i64, {"batch"}),
                               graph.input("passage_ids", DType::i64, {"batch", texts})};
  if (model.settings.shards > 1) {
    const Value rows = graph.input("rows", DType::i64, {"batch"});
    for (Value& value : values) value = gathered_rows(value, rows, model.settings.batch);
  }
  const bool cosine = settings.similarity == VectorSimilarity::cosine;
  model.add_program("train").output(
      "loss", embedding_loss(values[0], values[1], values[2], values[3], options, cosine));
}

TextEncoder build_text_encoder(const EncoderConfig& config, const Tokenizer& tokenizer,
                               const ContrastiveOptions& options, const TrainSettings& settings) {
  TextEncoder model;
  model.task = "text-embedding";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  set_contrastive_options(model, options);
  build_embedding_programs(model);
  return model;
}

void limit_texts(const SentenceSettings& settings, TextEncoder& encoder, const std::string& path) {
  const auto least = encoder.reader().row("").ids.size();
  if (settings.max_tokens > 0 && settings.max_tokens <= static_cast<std::int64_t>(least)) {
    throw ArgumentError(
        fmt::format("{}: the maximum length of a text (max_seq_length of sentence_bert_config.json "
                    "or model_max_length of tokenizer_config.json) is {} tokens, but the tokenizer "
                    "adds {} special tokens to every text",
                    path, settings.max_tokens, least));
  }
  encoder.reading->max_tokens = settings.max_tokens;
  encoder.reading->lower_case = settings.lower_case;
}

void set_decoder(TextEncoder& encoder, const GptConfig& decoder) {
  encoder.decoder = decoder;
  encoder.config = {.vocab = decoder.vocab,
                    .context = trained_context(decoder),
                    .token_types = 0,
                    .padding_id = -1,
                    .layers = 1,
                    .heads = 1,
                    .width = decoder.width};
}

}  // namespace weft
